"""Distances and matchers: vocabulary, nearest, subspace."""

from __future__ import annotations

from sfumato.core.extras import need

need("server", "sfumato.matching", "llvmlite", "numba", "threadpoolctl")
