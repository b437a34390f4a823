"""All corners of a cube in order: rank 0 is the nearest to a vector, rank 2^L − 1 the farthest.

For whole-number weights u the corner z has the product s = Σ uᵢ·zᵢ. How many corners of the first
k coordinates have each product is counted in whole numbers of any size,

    c_k(s) = c_{k−1}(s − |u_k|) + c_{k−1}(s + |u_k|),

and from these counts a rank is turned into its corner and back, exactly. Corners of one product
are ordered in a fixed way. So whatever the vector is, every corner has exactly one rank: that is
all the guarantee of PrivUnit rests on. How near the corners of low rank are is only its use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput

Counts = NDArray[Any]  # of Python's whole numbers


class CornerRanking:
    """The corners {0, 1}^L, read as {−1, +1}^L, by their product with L whole numbers.

    >>> ranking = CornerRanking([3, -1])
    >>> [ranking.corner(rank) for rank in range(4)]
    [[1, 0], [1, 1], [0, 0], [0, 1]]
    """

    def __init__(self, weights: Sequence[int] | NDArray[Any]) -> None:
        self._flipped = [int(weight) < 0 for weight in weights]
        self._sizes = [abs(int(weight)) for weight in weights]
        # Row k: entry i counts the corners of k coordinates whose +1 sides add up to weight i.
        self._counts: list[Counts] = [np.array([1], dtype=object)]
        for size in self._sizes:
            before = self._counts[-1]
            after = np.zeros(len(before) + size, dtype=object)
            after[: len(before)] += before
            after[size:] += before
            self._counts.append(after)

    @property
    def length(self) -> int:
        return len(self._sizes)

    def corner(self, rank: int) -> list[int]:
        """The corner of a rank, as L bits."""
        if not 0 <= rank < 1 << self.length:
            raise InvalidInput(f"a rank must be below 2^{self.length}.")
        rest, total = rank, len(self._counts[-1]) - 1
        while rest >= (here := self._counts[-1][total]):
            rest -= here
            total -= 1
        bits = [0] * self.length
        for k in range(self.length - 1, -1, -1):
            with_it = self._count(k, total - self._sizes[k])
            if rest < with_it:
                bits[k] = 1
                total -= self._sizes[k]
            else:
                rest -= with_it
        return [bit ^ flip for bit, flip in zip(bits, self._flipped, strict=True)]

    def rank(self, corner: Sequence[int] | NDArray[Any]) -> int:
        """The rank of a corner: undoes `corner`."""
        bits = [int(bit) ^ flip for bit, flip in zip(corner, self._flipped, strict=True)]
        total = sum(size for size, bit in zip(self._sizes, bits, strict=True) if bit)
        found = sum(self._counts[-1][total + 1 :].tolist())
        for k in range(self.length - 1, -1, -1):
            if bits[k]:
                total -= self._sizes[k]
            else:
                found += self._count(k, total - self._sizes[k])
        return int(found)

    def _count(self, k: int, total: int) -> int:
        counts = self._counts[k]
        return counts[total] if 0 <= total < len(counts) else 0
