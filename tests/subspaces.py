"""Random subspaces, and their distances by plain least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors
from sfumato.matching.subspace_tiles import PARALLEL

Array = NDArray[Any]
Lifted = tuple[Array, Array]

ALLOWED = 1e-4
SEEDS = st.integers(0, 2**32 - 1)


def bases_of(generator: np.random.Generator, count: int, m: int, n: int) -> Array:
    return np.linalg.qr(generator.normal(size=(count, n, m)))[0].transpose(0, 2, 1)


def lift(
    seed: int, count: int, m: int, n: int, dtype: Any = np.float32, descriptors: Array | None = None
) -> Lifted:
    """Subspaces through descriptors of unit length, given by some other point of theirs."""
    generator = np.random.default_rng(seed)
    if descriptors is None:
        descriptors = unit_vectors(generator.normal(size=(count, n)))
    bases = bases_of(generator, count, m, n)
    return moved(generator, descriptors, bases, dtype), bases.astype(dtype)


def moved(generator: np.random.Generator, offsets: Array, bases: Array, dtype: Any) -> Array:
    along = generator.normal(size=bases.shape[:2])
    return np.asarray(offsets + np.einsum("nm,nmd->nd", along, bases), dtype=dtype)


def by_lstsq(a: Lifted, b: Lifted) -> Array:
    """min ‖d0 + Dᵀx − e0 − Eᵀy‖ for each pair, one after the other."""
    (d0, d), (e0, e) = ([side.astype(np.float64) for side in sides] for sides in (a, b))
    truth = np.empty((len(d0), len(e0)))
    for i, j in np.ndindex(truth.shape):
        directions, r = np.concatenate([d[i], e[j]]).T, e0[j] - d0[i]
        # The singular values of a pair of directions θ apart are θ/√2 and √2.
        along = np.linalg.lstsq(directions, r, rcond=PARALLEL / 2)[0] if directions.size else 0
        truth[i, j] = np.linalg.norm(r - directions @ along if directions.size else r)
    return truth
