"""A uniform sample of all descriptors of all pictures, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput, Mismatch

#: Per descriptor, beside two copies of its row: order, image, word, distance, sorting.
_ROW_OVERHEAD = 48
#: Copies of the words that k-means holds at once, as float32.
_WORD_COPIES = 5


@dataclass(frozen=True)
class Sample:
    """Descriptors that were kept, and how many there were.

    descriptors  (N, D), in the extractor's own dtype
    image_ids    (N,) int32, which picture each came from; None where that is not known
    """

    descriptors: NDArray[Any]
    image_ids: NDArray[np.int32] | None
    seen: int
    num_images: int | None
    unreadable: int = 0


def sample_capacity(memory_gb: float, num_words: int, row_bytes: int, dimension: int) -> int:
    """How many descriptors fit when words, sample and its sorted copy share memory_gb."""
    memory = as_number("memory_gb", memory_gb) * 1e9
    per_row = 2 * row_bytes + _ROW_OVERHEAD
    for_words = _WORD_COPIES * 4 * num_words * dimension
    capacity = int((memory - for_words) // per_row) if np.isfinite(memory) else 1 << 31
    if capacity < num_words:
        needed = (for_words + num_words * per_row) / 1e9
        raise InvalidInput(
            f"memory_gb must be at least {needed:.3g} for {num_words} words of this extractor, "
            f"got {memory_gb!r}; allow more memory or ask for fewer words."
        )
    return capacity


class Reservoir:
    """Keeps `capacity` rows drawn uniformly from all that were added (Vitter's algorithm R).

    The row added as number t replaces a kept one with probability capacity/t. Rows keep the
    order in which they came until the reservoir is full.
    """

    def __init__(self, capacity: int, rng: np.random.Generator) -> None:
        self._capacity, self._rng = capacity, rng
        self._rows: NDArray[Any] | None = None
        self._ids = np.empty(0, dtype=np.int32)
        self.seen = 0

    def add(self, rows: NDArray[Any], image_id: int) -> None:
        """Offer the descriptors of one picture."""
        if self._rows is None:
            self._rows = np.empty((min(1024, self._capacity), rows.shape[1]), dtype=rows.dtype)
            self._ids = np.empty(len(self._rows), dtype=np.int32)
        if rows.dtype != self._rows.dtype or rows.shape[1] != self._rows.shape[1]:
            raise Mismatch(
                f"all descriptors must be {self._rows.dtype} with {self._rows.shape[1]} columns "
                f"as the first ones are, got {rows.dtype} with {rows.shape[1]}."
            )
        fresh = min(len(rows), max(self._capacity - self.seen, 0))
        self._grow(self.seen + fresh)
        kept = slice(self.seen, self.seen + fresh)
        self._rows[kept], self._ids[kept] = rows[:fresh], image_id
        late = rows[fresh:]
        numbers = np.arange(self.seen + fresh + 1, self.seen + len(rows) + 1)
        places = (self._rng.random(len(late)) * numbers).astype(np.int64)
        taken = places < self._capacity
        # Two rows may draw one place; NumPy keeps the later, as one by one would.
        self._rows[places[taken]] = late[taken]
        self._ids[places[taken]] = image_id
        self.seen += len(rows)

    def _grow(self, size: int) -> None:
        if self._rows is None or size <= len(self._rows):
            return
        # In place, so that growing never holds two copies where the system can avoid it.
        length = min(self._capacity, max(size, len(self._rows) * 3 // 2))
        self._rows.resize((length, self._rows.shape[1]), refcheck=False)
        self._ids.resize(length, refcheck=False)

    def result(self) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """The kept rows and the picture each came from."""
        count = min(self.seen, self._capacity)
        if self._rows is None:
            return np.empty((0, 0), dtype=np.uint8), self._ids
        return self._rows[:count], self._ids[:count]


def sample_pictures(
    pictures: Iterable[NDArray[Any]], capacity: int, rng: np.random.Generator
) -> Sample:
    """Sample uniformly over the descriptors of all pictures."""
    reservoir = Reservoir(capacity, rng)
    count = 0
    for image_id, descriptors in enumerate(pictures):
        reservoir.add(descriptors, image_id)
        count += 1
    rows, ids = reservoir.result()
    return Sample(rows, ids, seen=reservoir.seen, num_images=count)


def sample_array(
    descriptors: NDArray[Any],
    image_ids: NDArray[np.int32] | None,
    capacity: int,
    rng: np.random.Generator,
) -> Sample:
    """Sample uniformly over the rows of an array; all of them if they fit."""
    total = len(descriptors)
    num_images = None if image_ids is None else len(np.unique(image_ids))
    if total > capacity:
        chosen = np.sort(rng.choice(total, size=capacity, replace=False, shuffle=False))
        descriptors = descriptors[chosen]
        image_ids = None if image_ids is None else image_ids[chosen]
    return Sample(descriptors, image_ids, seen=total, num_images=num_images)
