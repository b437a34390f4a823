"""Where no user's picture ever comes: maps, retrieval, pose, and `localize` on one page."""

from __future__ import annotations

from sfumato.core.extras import need

need("server", "sfumato.server", "numba", "poselib", "pycolmap", "scipy", "threadpoolctl")
