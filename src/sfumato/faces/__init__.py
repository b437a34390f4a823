"""Faces: embeddings that say who someone is, and verification on what may be sent of them."""

from __future__ import annotations

from sfumato.core.extras import need

need("faces", "sfumato.faces", "llvmlite", "numba", "threadpoolctl")
