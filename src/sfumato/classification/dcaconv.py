"""DCAConv: a picture becomes a map of small integers [dcaconv, eq. 45–53].

Two stages of filters learned by discriminant component analysis, a sign for each response, L2
signs to an integer, max-pooling. What comes out has d = 2^L2 values however large the picture's
range was, which is what randomized response needs.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.conv_scatter import Moments, correlate, fit_filters
from sfumato.classification.dca import check_ridges
from sfumato.classification.encoder import (
    MAX_CHANNELS,
    Arrays,
    Encoder,
    Shape,
    finite_array,
)
from sfumato.classification.labels import class_members
from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import InvalidInput

#: A response smaller than this share of the brightest pixel is rounding, not a sign.
_ZERO = 1e-5


class FewerClassesThanFilters(UserWarning):
    """More filters are asked for than directions in which classes can differ."""


@dataclass(eq=False, repr=False)
class DCAConv(Encoder):
    """Pictures (N, h, w) → codes (N, m) of d = 2^L2 values; m = L1·(h − pool + 1)·(w − pool + 1).

    The filters are learned from raw pictures, so those who fit them must be trusted with these.

    num_filters   (L1, L2); the paper's tables have (5, 4), d = 16, and (5, 1), d = 2
    scatter       "paper": classes differ by their mean patch over all positions, which leaves
                  almost no difference (`gaps_`); "position": by their mean patch at each one
    shared        second-stage filters are fitted on all maps together, as in the paper; False
                  fits them on each map alone
    leading       the bit of the leading second-stage filter: "high", or "low" as in eq. 53, where
                  pooling and L2 distance listen most to the filter that says least

    Fitted: filters_ (first L1×k×k; second L1×L2×k×k, lowest bit first), eigenvalues_ and gaps_ of
    both stages, map_shape_, num_values_. An eigenvector's sign is arbitrary: the largest entry
    is positive.

    >>> rng = np.random.default_rng(0)
    >>> classes = np.arange(40) % 2
    >>> pictures = rng.integers(0, 9, (40, 8, 8)) + 9 * classes[:, None, None] * np.eye(8)
    >>> encoder = DCAConv((2, 1), filter_size=3, scatter="position").fit(pictures, classes)
    >>> encoder.transform(pictures).shape, encoder.map_shape_, encoder.num_values_
    ((40, 98), (2, 7, 7), 2)
    """

    name: ClassVar[str] = "dcaconv"
    needs_labels: ClassVar[bool] = True
    _block: ClassVar[int] = MAX_CHANNELS

    num_filters: tuple[int, int] = (5, 4)
    _: KW_ONLY
    scatter: str = "paper"
    filter_size: int = 7
    pool_size: int = 2
    shared: bool = True
    leading: str = "high"
    ridge: float = 1e-3
    signal_ridge: float = 0.0

    def _prepare(self, shape: Shape) -> None:
        first, second = self._check_parameters()
        if self.pool_size > min(shape):
            raise InvalidInput(
                f"pool_size must fit into the picture, got {self.pool_size} for "
                f"{shape[0]}×{shape[1]} pixels."
            )
        self.num_values_ = 1 << second
        height, width = (side - self.pool_size + 1 for side in shape)
        self.map_shape_ = (first, height, width)

    def _learn(self, pictures: NDArray[Any], y: Any) -> None:
        """Learn both stages exactly from second moments and class means of the pictures."""
        first_count, second_count = self.num_filters
        self.classes_, index, counts = class_members(y, len(pictures))
        ridge, signal_ridge = check_ridges(self.ridge, self.signal_ridge)
        self._warn_of_rank(len(self.classes_), max(first_count, second_count))
        if (pictures.reshape(len(pictures), -1).std(axis=1) == 0).all():
            raise InvalidInput(
                f"pictures must not be constant, but all {len(pictures)} are; "
                "there is no scatter to learn filters from."
            )
        moments = Moments.of(pictures, index, counts)
        size = self.filter_size
        fit = partial(
            fit_filters, size=size, scatter=self.scatter, ridge=ridge, signal_ridge=signal_ridge
        )
        first = fit([moments], count=first_count)
        maps = [moments.filtered(row.reshape(size, size)) for row in first.vectors]
        groups = [maps] if self.shared else [[part] for part in maps]
        seconds = [fit(group, count=second_count) for group in groups]
        kernels = np.stack([second.vectors.reshape(-1, size, size) for second in seconds])
        if self.leading == "high":
            kernels = kernels[:, ::-1]
        self.filters_ = (
            first.vectors.reshape(-1, size, size),
            np.ascontiguousarray(np.broadcast_to(kernels, (first_count, *kernels.shape[1:]))),
        )
        self.eigenvalues_ = (first.eigenvalues, np.stack([s.eigenvalues for s in seconds]))
        self.gaps_ = (first.gap, min(second.gap for second in seconds))

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        import cv2

        # Pictures lie innermost, as channels: a filter then runs over long rows of memory.
        block = pictures.transpose(1, 2, 0).astype(np.float32)
        # Rounding must never decide a bit on a flat part of the picture.
        limits = np.float32(_ZERO) * np.abs(block).max(axis=(0, 1))
        window = np.ones((self.pool_size, self.pool_size), dtype=np.uint8)
        _, height, width = self.map_shape_
        maps = []
        first, second = (np.asarray(part, dtype=np.float32) for part in self.filters_)
        for kernel, kernels in zip(first, second, strict=True):
            response = correlate(block, kernel)
            codes = np.zeros(block.shape, dtype=np.uint8)
            for bit, inner in enumerate(kernels):
                codes |= (correlate(response, inner) > limits).astype(np.uint8) << np.uint8(bit)
            pooled = np.atleast_3d(cv2.dilate(codes, window, anchor=(0, 0)))
            maps.append(pooled[:height, :width].transpose(2, 0, 1))
        return np.stack(maps, axis=1)

    def _arrays(self) -> Arrays:
        return {
            "first": self.filters_[0],
            "second": self.filters_[1],
            "pool_size": np.array(self.pool_size),
            "picture_shape": np.array(self.picture_shape_),
        }

    @classmethod
    def _from_arrays(cls, arrays: Arrays) -> tuple[Self, Shape]:
        first, second = finite_array(arrays, "first", 3), finite_array(arrays, "second", 4)
        count, size = first.shape[:2]
        if first.shape[2] != size or second.shape != (count, second.shape[1], size, size):
            raise ValueError
        pool_size = int(arrays["pool_size"])
        made = cls((count, second.shape[1]), filter_size=size, pool_size=pool_size)
        made.filters_ = (first, second)
        height, width = map(int, arrays["picture_shape"])
        return made, (height, width)

    def _check_parameters(self) -> tuple[int, int]:
        check_choice("scatter", self.scatter, ("paper", "position"))
        check_choice("leading", self.leading, ("high", "low"))
        check_count("filter_size", self.filter_size, low=3, high=31)
        if self.filter_size % 2 == 0:
            raise InvalidInput(f"filter_size must be odd, got {self.filter_size}.")
        check_count("pool_size", self.pool_size, low=1)
        try:
            first, second = self.num_filters
        except (TypeError, ValueError):
            raise InvalidInput(
                f"num_filters must be two whole numbers (L1, L2), got {self.num_filters!r}."
            ) from None
        high = self.filter_size**2 - 1
        why = "patches without their mean have filter_size² − 1 dimensions"
        check_count("L1 of num_filters", first, low=1, high=high, why=why)
        check_count("L2 of num_filters", second, low=1, high=min(high, 8), why="d is 2^L2")
        return int(first), int(second)

    def _warn_of_rank(self, num_classes: int, most: int) -> None:
        """With class means pooled over positions the signal has rank classes − 1."""
        if self.scatter == "paper" and most > num_classes - 1:
            warnings.warn(
                f"{most} filters are asked for, but {num_classes} classes differ in at most "
                f"{num_classes - 1} directions; the others are fitted to noise. Use fewer "
                'filters, or scatter="position", which has no such limit.',
                FewerClassesThanFilters,
                stacklevel=4,
            )
