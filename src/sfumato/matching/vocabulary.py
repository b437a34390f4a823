"""Matching by words: what the map filed under a word answers for every keypoint that sent it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class InvertedIndex:
    """For every word, the rows filed under it.

    starts  (|K| + 1,) int64; rows of word w are rows[starts[w] : starts[w + 1]], rising
    rows    (O,) int32 or int64
    """

    starts: NDArray[np.int64]
    rows: NDArray[Any]

    @staticmethod
    def build(words: NDArray[Any], rows: NDArray[Any], num_words: int) -> InvertedIndex:
        """File each row under its word; several words per row are given by repeating it."""
        rising = len(rows) < 2 or bool(np.all(rows[1:] > rows[:-1]))
        # Words of up to 16 bits are sorted in linear time.
        small_words = words.astype(np.uint16) if num_words <= 1 << 16 else words
        order = np.argsort(small_words, kind="stable") if rising else np.lexsort((rows, words))
        counts = np.bincount(words, minlength=num_words)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        small_rows = len(rows) == 0 or int(np.max(rows)) < 2**31
        return InvertedIndex(
            starts, np.asarray(rows)[order].astype(np.int32 if small_rows else np.int64)
        )

    @property
    def num_words(self) -> int:
        return len(self.starts) - 1

    def counts(self, words: NDArray[Any]) -> NDArray[np.int64]:
        """How many rows are filed under each of these words."""
        return np.asarray(self.starts[words.astype(np.int64) + 1] - self.starts[words])

    def lookup(self, words: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All pairs (keypoint, row) with the row filed under a word the keypoint sent.

        words is (N, ω); pairs come ordered by keypoint.
        """
        flat = words.reshape(-1).astype(np.int64)
        first, count = self.starts[flat], self.counts(flat)
        keypoints = np.repeat(np.arange(len(flat)) // words.shape[1], count)
        within = np.arange(len(keypoints)) - np.repeat(np.cumsum(count) - count, count)
        return keypoints, np.asarray(self.rows[np.repeat(first, count) + within], dtype=np.int64)
