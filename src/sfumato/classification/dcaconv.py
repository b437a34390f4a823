"""DCAConv: a picture becomes a map of small integers [dcaconv, eq. 45–53].

Two stages of filters learned by discriminant component analysis, a sign for each response, L2
signs to an integer, max-pooling. What comes out has d = 2^L2 values however large the picture's
range was, which is what randomized response needs.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.conv_scatter import Moments, fit_filters
from sfumato.classification.dca import check_ridges, class_members
from sfumato.classification.pictures import check_pictures, picture_tags
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput

SCATTERS = ("paper", "position")
LEADING = ("high", "low")
#: A response smaller than this share of the brightest pixel is rounding, not a sign.
_ZERO = 1e-5


class FewerClassesThanFilters(UserWarning):
    """More filters are asked for than directions in which classes can differ."""


class DCAConv(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pictures (N, h, w) → codes (N, m) of d = 2^L2 values; m = L1·(h − pool + 1)·(w − pool + 1).

    No guarantee of its own: codes must pass randomized response before they are shared. The
    filters are fitted on raw pictures, so those who fit them must be trusted with these.

    num_filters   (L1, L2); the paper's tables have (5, 4), d = 16, and (5, 1), d = 2
    scatter       "paper": classes differ by their mean patch over all positions, which leaves
                  almost no difference (`gaps_`); "position": by their mean patch at each one
    shared        second-stage filters are fitted on all maps together, as in the paper; False
                  fits them on each map alone
    leading       the bit of the leading second-stage filter: "high", or "low" as in eq. 53, where
                  pooling and L2 distance listen most to the filter that says least
    image_shape   (h, w) of pictures that come as rows; one of them may be −1

    Fitted: filters_ (first L1×k×k; second L1×L2×k×k, lowest bit first), eigenvalues_ and gaps_ of
    both stages, map_shape_, num_values_. An eigenvector's sign is arbitrary: the largest entry
    is positive.
    """

    name: ClassVar[str] = "dcaconv"

    def __init__(
        self,
        num_filters: tuple[int, int] = (5, 4),
        *,
        scatter: str = "paper",
        filter_size: int = 7,
        pool_size: int = 2,
        shared: bool = True,
        leading: str = "high",
        ridge: float = 1e-3,
        signal_ridge: float = 0.0,
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.num_filters = num_filters
        self.scatter = scatter
        self.filter_size = filter_size
        self.pool_size = pool_size
        self.shared = shared
        self.leading = leading
        self.ridge = ridge
        self.signal_ridge = signal_ridge
        self.image_shape = image_shape

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn both stages exactly from second moments and class means of the pictures."""
        first_count, second_count = self._check_parameters()
        pictures = check_pictures(self, X, reset=True)
        if self.pool_size > min(pictures.shape[1:]):
            raise InvalidInput(
                f"pool_size must fit into the picture, got {self.pool_size} for "
                f"{pictures.shape[1]}×{pictures.shape[2]} pixels."
            )
        classes, index, counts = class_members(y, len(pictures))
        ridge, signal_ridge = check_ridges(self.ridge, self.signal_ridge)
        self._warn_of_rank(len(classes), max(first_count, second_count))
        if (pictures.reshape(len(pictures), -1).std(axis=1) == 0).all():
            raise InvalidInput(
                f"pictures must not be constant, but all {len(pictures)} are; "
                "there is no scatter to learn filters from."
            )
        moments = Moments.of(pictures, index, counts)
        size = self.filter_size
        options: dict[str, Any] = {
            "scatter": self.scatter,
            "ridge": ridge,
            "signal_ridge": signal_ridge,
        }
        first = fit_filters([moments], size, first_count, **options)
        maps = [moments.filtered(row.reshape(size, size)) for row in first.vectors]
        groups = [maps] if self.shared else [[part] for part in maps]
        seconds = [fit_filters(group, size, second_count, **options) for group in groups]
        kernels = np.stack([found.vectors.reshape(-1, size, size) for found in seconds])
        if self.leading == "high":
            kernels = kernels[:, ::-1]
        self.classes_ = classes
        self.filters_ = (
            first.vectors.reshape(-1, size, size),
            np.ascontiguousarray(np.broadcast_to(kernels, (first_count, *kernels.shape[1:]))),
        )
        self.eigenvalues_ = (first.eigenvalues, np.stack([f.eigenvalues for f in seconds]))
        self.gaps_ = (first.gap, min(found.gap for found in seconds))
        self.num_values_ = 1 << second_count
        height, width = (side - self.pool_size + 1 for side in pictures.shape[1:])
        self.map_shape_ = (first_count, height, width)
        return self

    def transform(self, X: Any) -> NDArray[np.uint8]:  # noqa: N803
        """Codes in {0, …, d − 1}, flattened from (L1, h′, w′)."""
        from sfumato.classification.conv_kernel import LANES, encode

        check_is_fitted(self)
        pictures = check_pictures(self, X, reset=False)
        first, second = (np.asarray(part, dtype=np.float32) for part in self.filters_)
        codes = np.empty((len(pictures), *self.map_shape_), dtype=np.uint8)
        block = np.zeros((*self.picture_shape_, LANES), dtype=np.float32)
        found = np.empty((*self.map_shape_, LANES), dtype=np.uint8)
        for start in range(0, len(pictures), LANES):
            part = pictures[start : start + LANES]
            block[:, :, : len(part)] = part.transpose(1, 2, 0)
            encode(block, first, second, _ZERO, self.pool_size, found)
            codes[start : start + LANES] = found[..., : len(part)].transpose(3, 0, 1, 2)
        return codes.reshape(len(pictures), -1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything `transform` needs, as plain arrays."""
        check_is_fitted(self)
        return {
            "first": self.filters_[0],
            "second": self.filters_[1],
            "pool_size": np.array(self.pool_size),
            "picture_shape": np.array(self.picture_shape_),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The encoder that `to_arrays` described; anything else is refused."""
        try:
            first, second = (np.asarray(arrays[key], np.float64) for key in ("first", "second"))
            pool, (height, width) = int(arrays["pool_size"]), map(int, arrays["picture_shape"])
            count, size = first.shape[:2]
            fits = first.shape == (count, size, size) and second.shape[2:] == (size, size)
            fits &= len(second) == count and 1 <= second.shape[1] <= 8 and size % 2 == 1
            fits &= 1 <= pool <= min(height, width) and bool(np.isfinite(first).all())
            fits &= bool(np.isfinite(second).all())
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            raise InvalidInput("these arrays do not describe a DCAConv encoder; fit a new one.")
        made = cls((count, second.shape[1]), filter_size=size, pool_size=pool)
        made.filters_ = (first, second)
        made.num_values_ = 1 << second.shape[1]
        made.picture_shape_, made.n_features_in_ = (height, width), height * width
        made.map_shape_ = (count, height - pool + 1, width - pool + 1)
        return made

    def _check_parameters(self) -> tuple[int, int]:
        if self.scatter not in SCATTERS:
            raise InvalidInput(
                f"scatter must be one of {', '.join(SCATTERS)}, got {self.scatter!r}."
            )
        if self.leading not in LEADING:
            raise InvalidInput(
                f"leading must be one of {', '.join(LEADING)}, got {self.leading!r}."
            )
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
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        return picture_tags(super().__sklearn_tags__())
