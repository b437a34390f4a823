"""Histograms of oriented gradients as a bag of visual words, for comparison."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.encoder import Arrays, Encoder, Shape, finite_array
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput

_BINS = 9
#: Descriptors that words are clustered from, at most.
_SAMPLE = 100_000


@dataclass(eq=False, repr=False)
class HogWords(Encoder):
    """How often each visual word occurs in a picture: m = words, d = largest count + 1.

    Blocks of 2×2 cells slide over the picture by one cell; each block's gradient histogram goes
    to its nearest of `num_words` k-means centres [dcaconv, experiments]. d is large, one more
    than the most frequent word's count, and randomized response suffers from it. Counts beyond
    the largest of the fit are cut to it.

    num_words     m
    cell_size     pixels
    random_state  of the k-means

    >>> pictures = np.arange(4 * 16 * 16).reshape(4, 16, 16) ** 2 % 256
    >>> HogWords(3).fit_transform(pictures).sum(axis=1).tolist()  # 3×3 blocks, each counted once
    [9, 9, 9, 9]
    """

    name: ClassVar[str] = "hog-words"
    _block: ClassVar[int] = 2048

    num_words: int = 64
    _: KW_ONLY
    cell_size: int = 4
    random_state: int = 0

    def _prepare(self, shape: Shape) -> None:
        check_count("num_words", self.num_words, low=2, high=4096)
        check_count("cell_size", self.cell_size, low=2)
        self.num_blocks_ = _blocks(shape, self.cell_size)
        self.map_shape_ = (self.num_words, 1, 1)

    def _learn(self, pictures: NDArray[Any], y: Any) -> None:
        """Cluster the blocks of these pictures into words."""
        from sklearn.cluster import MiniBatchKMeans

        rng = np.random.default_rng(self.random_state)
        few = rng.permutation(len(pictures))[: -(-_SAMPLE // self.num_blocks_)]
        descriptors = self._descriptors(pictures[np.sort(few)]).reshape(-1, 4 * _BINS)
        if len(descriptors) < self.num_words:
            raise InvalidInput(
                f"num_words must not exceed the {len(descriptors)} blocks of all pictures, "
                f"got {self.num_words}."
            )
        means = MiniBatchKMeans(
            self.num_words, random_state=self.random_state, n_init=3, batch_size=4096
        )
        self.words_ = means.fit(descriptors).cluster_centers_.astype(np.float32)
        self.num_values_ = 256  # no count is cut yet
        self.num_values_ = max(int(self.transform(pictures).max()) + 1, 2)

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        lengths = np.square(self.words_).sum(axis=1)
        nearest = (2 * self._descriptors(pictures) @ self.words_.T - lengths).argmax(axis=2)
        keys = np.arange(len(pictures))[:, None] * len(self.words_) + nearest
        counts = np.bincount(keys.ravel(), minlength=len(pictures) * len(self.words_))
        return np.minimum(counts, self.num_values_ - 1).reshape(-1, *self.map_shape_)

    def _descriptors(self, pictures: NDArray[Any]) -> NDArray[np.float32]:
        """(N, blocks, 36) contrast-normalised gradient histograms of each block of 2×2 cells."""
        import cv2

        cell = self.cell_size
        height, width = (side // cell * cell for side in pictures.shape[1:])
        hog = cv2.HOGDescriptor(
            (width, height), (2 * cell, 2 * cell), (cell, cell), (cell, cell), _BINS
        )
        descriptors = np.empty((len(pictures), self.num_blocks_, 4 * _BINS), dtype=np.float32)
        for row, picture in enumerate(pictures):
            gray = np.ascontiguousarray(picture[:height, :width])
            if gray.dtype != np.uint8:
                gray = _as_bytes(gray)
            descriptors[row] = np.asarray(hog.compute(gray)).reshape(self.num_blocks_, -1)
        return descriptors

    def _arrays(self) -> Arrays:
        return {
            "words": self.words_,
            "cell_size": np.array(self.cell_size),
            "num_values": np.array(self.num_values_),
            "picture_shape": np.array(self.picture_shape_),
        }

    @classmethod
    def _from_arrays(cls, arrays: Arrays) -> tuple[Self, Shape]:
        words = finite_array(arrays, "words", 2, np.float32)
        made = cls(len(words), cell_size=int(arrays["cell_size"]))
        made.words_, made.num_values_ = words, int(arrays["num_values"])
        if words.shape[1] != 4 * _BINS or not 2 <= made.num_values_ <= 256:
            raise ValueError
        height, width = map(int, arrays["picture_shape"])
        return made, (height, width)


def _blocks(shape: tuple[int, ...], cell: int) -> int:
    rows, columns = (side // cell - 1 for side in shape)
    if rows < 1 or columns < 1:
        raise InvalidInput(
            f"pictures must hold a block of 2×2 cells of {cell} pixels, got "
            f"{shape[0]}×{shape[1]} pixels; use a smaller cell_size."
        )
    return rows * columns


def _as_bytes(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Gradients do not feel an offset, and their histograms are normalised: scale is free."""
    low, high = float(picture.min()), float(picture.max())
    scale = 255 / (high - low) if high > low else 0.0
    return np.rint((picture - low) * scale).astype(np.uint8)
