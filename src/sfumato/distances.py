"""`sf.distances`: between points and affine subspaces; `matching/subspace.py` says how."""

from __future__ import annotations

from sfumato.matching.subspace import (
    Subspaces,
    closer_than,
    k_nearest,
    mutual_nearest,
    nearest,
    point_to_subspace,
    subspace_to_subspace,
)

__all__ = [
    "Subspaces",
    "closer_than",
    "k_nearest",
    "mutual_nearest",
    "nearest",
    "point_to_subspace",
    "subspace_to_subspace",
]
