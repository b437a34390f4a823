"""HTTP: a device asks, a server that never sees the picture answers."""

from __future__ import annotations

from sfumato.core.extras import need

need(
    "service",
    "sfumato.service",
    *("fastapi", "jinja2", "prometheus_client", "starlette", "uvicorn"),
    *("numba", "poselib", "pycolmap", "scipy", "threadpoolctl"),
)
