"""Histograms of oriented gradients as a bag of visual words, for comparison."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.classification.pictures import check_pictures, picture_tags
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput

_BINS = 9
_BLOCK = 2048
#: Descriptors that words are clustered from, at most.
_SAMPLE = 100_000


class HogWords(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """How often each visual word occurs in a picture: m = words, d = largest count + 1.

    Blocks of 2×2 cells slide over the picture by one cell; each block's gradient histogram goes
    to its nearest of `num_words` k-means centres [dcaconv, experiments]. d is large, one more
    than the most frequent word's count, and randomized response suffers from it.
    No guarantee of its own: codes must pass randomized response before they are shared.

    num_words     m
    cell_size     pixels
    random_state  of the k-means
    image_shape   (h, w) of pictures that come as rows
    """

    name: ClassVar[str] = "hog-words"

    def __init__(
        self,
        num_words: int = 64,
        *,
        cell_size: int = 4,
        random_state: int = 0,
        image_shape: tuple[int, int] | None = None,
    ) -> None:
        self.num_words = num_words
        self.cell_size = cell_size
        self.random_state = random_state
        self.image_shape = image_shape

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """Cluster the blocks of these pictures into words; y is not used."""
        from sklearn.cluster import MiniBatchKMeans

        check_count("num_words", self.num_words, low=2, high=4096)
        check_count("cell_size", self.cell_size, low=2)
        pictures = check_pictures(self, X, reset=True)
        blocks = _blocks(pictures.shape[1:], self.cell_size)
        rng = np.random.default_rng(self.random_state)
        few = rng.permutation(len(pictures))[: -(-_SAMPLE // blocks)]
        found = _descriptors(pictures[np.sort(few)], self.cell_size).reshape(-1, 4 * _BINS)
        if len(found) < self.num_words:
            raise InvalidInput(
                f"num_words must not exceed the {len(found)} blocks of all pictures, "
                f"got {self.num_words}."
            )
        means = MiniBatchKMeans(
            self.num_words, random_state=self.random_state, n_init=3, batch_size=4096
        )
        self.words_ = means.fit(found).cluster_centers_.astype(np.float32)
        self.map_shape_ = (self.num_words, 1, 1)
        self.num_values_ = max(int(self._count(pictures).max()) + 1, 2)
        return self

    def transform(self, X: Any) -> NDArray[np.uint8]:  # noqa: N803
        """Counts (N, words); counts beyond the largest of the fit are cut to it."""
        check_is_fitted(self)
        pictures = check_pictures(self, X, reset=False)
        return np.minimum(self._count(pictures), np.uint8(self.num_values_ - 1))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything `transform` needs, as plain arrays."""
        check_is_fitted(self)
        return {
            "words": self.words_,
            "cell_size": np.array(self.cell_size),
            "num_values": np.array(self.num_values_),
            "picture_shape": np.array(self.picture_shape_),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """The encoder that `to_arrays` described; anything else is refused."""
        try:
            words = np.asarray(arrays["words"], dtype=np.float32)
            cell, num_values = int(arrays["cell_size"]), int(arrays["num_values"])
            height, width = map(int, arrays["picture_shape"])
            fits = words.ndim == 2 and words.shape[1] == 4 * _BINS and len(words) >= 2
            fits = fits and 2 <= num_values <= 256 and bool(np.isfinite(words).all())
            fits = fits and cell >= 2 and 2 * cell <= min(height, width)
        except (KeyError, TypeError, ValueError):
            fits = False
        if not fits:
            raise InvalidInput("these arrays do not describe a HogWords encoder; fit a new one.")
        made = cls(len(words), cell_size=cell)
        made.words_, made.num_values_ = words, num_values
        made.picture_shape_, made.n_features_in_ = (height, width), height * width
        made.map_shape_ = (len(words), 1, 1)
        return made

    def _count(self, pictures: NDArray[Any]) -> NDArray[np.uint8]:
        counts = np.empty((len(pictures), len(self.words_)), dtype=np.uint8)
        lengths = np.square(self.words_).sum(axis=1)
        for start in range(0, len(pictures), _BLOCK):
            found = _descriptors(pictures[start : start + _BLOCK], self.cell_size)
            nearest = (2 * found @ self.words_.T - lengths).argmax(axis=2)
            rows = np.arange(len(found))[:, None] * len(self.words_) + nearest
            part = np.bincount(rows.ravel(), minlength=len(found) * len(self.words_))
            counts[start : start + len(found)] = np.minimum(part, 255).reshape(len(found), -1)
        return counts

    def __sklearn_tags__(self) -> Any:
        tags = picture_tags(super().__sklearn_tags__())
        tags.target_tags.required = False
        return tags


def _blocks(shape: tuple[int, ...], cell: int) -> int:
    rows, columns = (side // cell - 1 for side in shape)
    if rows < 1 or columns < 1:
        raise InvalidInput(
            f"pictures must hold a block of 2×2 cells of {cell} pixels, got "
            f"{shape[0]}×{shape[1]} pixels; use a smaller cell_size."
        )
    return rows * columns


def _descriptors(pictures: NDArray[Any], cell: int) -> NDArray[np.float32]:
    """(N, blocks, 36) contrast-normalised gradient histograms of each block of 2×2 cells."""
    import cv2

    height, width = (side // cell * cell for side in pictures.shape[1:])
    hog = cv2.HOGDescriptor(
        (width, height), (2 * cell, 2 * cell), (cell, cell), (cell, cell), _BINS
    )
    blocks = _blocks(pictures.shape[1:], cell)
    found = np.empty((len(pictures), blocks, 4 * _BINS), dtype=np.float32)
    for row, picture in enumerate(pictures):
        gray = np.ascontiguousarray(picture[:height, :width])
        if gray.dtype != np.uint8:
            gray = _as_bytes(gray)
        found[row] = np.asarray(hog.compute(gray)).reshape(blocks, 4 * _BINS)
    return found


def _as_bytes(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Gradients do not feel an offset, and their histograms are normalised: scale is free."""
    low, high = float(picture.min()), float(picture.max())
    scale = 255 / (high - low) if high > low else 0.0
    return np.rint((picture - low) * scale).astype(np.uint8)
