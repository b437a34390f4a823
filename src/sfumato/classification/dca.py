"""Discriminant component analysis: the directions in which classes differ most.

Between-class scatter is the signal and within-class scatter the noise, each with a ridge:

    (S_B + S_W + (ρ + ρ′)·I)·w = λ·(S_W + ρ·I)·w                       [dcaconv, eq. 8–11]

The paper decomposes the product S_W′⁻¹·S̄′ as if it were symmetric, which it is not. The same
eigenvectors belong to the generalised symmetric problem above, which is what we solve; they are
orthogonal with respect to S_W′, not to the identity, and are scaled to length one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Directions:
    """Unit vectors as rows, strongest first.

    eigenvalues  of all directions, strongest first; 1 means no difference between classes
    gap          the smallest relative difference between a kept eigenvalue and the next one;
                 where it is near zero, noise decides which direction is which
    """

    vectors: Matrix
    eigenvalues: NDArray[np.float64]
    gap: float


def discriminant_directions(
    between: Matrix, within: Matrix, count: int, *, ridge: float, signal_ridge: float
) -> Directions:
    """The `count` leading directions; ridges are shares of the mean diagonal of S_W."""
    from scipy.linalg import eigh

    size = len(within)
    check_count("the number of directions", count, low=1, high=size)
    mean_noise = float(np.trace(within)) / size
    if not mean_noise > 0:
        raise InvalidInput(
            "pictures or rows must differ within their classes, but there is no scatter at all; "
            "constant or identical ones have no discriminant directions."
        )
    noise = within + ridge * mean_noise * np.eye(size)
    total = between + noise + signal_ridge * mean_noise * np.eye(size)
    try:
        values, vectors = eigh(total, noise)
    except np.linalg.LinAlgError:
        raise InvalidInput(
            f"the within-class scatter of {size} dimensions is singular with ridge={ridge:g}; "
            "use a larger ridge."
        ) from None
    values, rows = values[::-1], vectors[:, ::-1].T
    following = values[1 : count + 1]
    kept = values[: len(following)]
    return Directions(
        vectors=fixed_signs(unit_vectors(rows[:count])),
        eigenvalues=values,
        gap=float(((kept - following) / kept).min(initial=np.inf)),
    )


def fixed_signs(rows: Matrix) -> Matrix:
    """An eigenvector's sign is arbitrary: make the entry of largest size positive.

    Entries equal to that size but for rounding count as equal, and the first of them decides.
    """
    size = np.abs(rows)
    first = (size >= size.max(axis=1, keepdims=True) * (1 - 1e-6)).argmax(axis=1)
    signs = np.sign(rows[np.arange(len(rows)), first])
    return np.asarray(rows * signs[:, None])


def check_ridges(ridge: Any, signal_ridge: Any) -> tuple[float, float]:
    """Both ridges as finite numbers: ρ above zero keeps S_W′ invertible, ρ′ may be zero."""
    noise, signal = as_number("ridge", ridge), as_number("signal_ridge", signal_ridge)
    if not (0 < noise < np.inf and 0 <= signal < np.inf):
        raise InvalidInput(
            "ridge must be above 0 and signal_ridge at least 0, both finite; "
            f"got ridge={ridge!r}, signal_ridge={signal_ridge!r}."
        )
    return noise, signal
