"""The only source of randomness in release code.

`SecureRandom` is AES-256 in counter mode, keyed from the operating system, with fast key
erasure: every refill of 1 MiB first makes the key of the next one, and bytes are wiped as
they are handed out, so a captured process says nothing about earlier releases.
`SeededRandom` is a different class for experiments and tests; what is made with it carries
`reproducible=True` and is refused by everything that sends.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin

_BLOCK = 1 << 20
_KEY = 32
_FEW = 64  # draws that are compared one by one
_ZEROS = bytes(_BLOCK)
_LITTLE = sys.byteorder == "little"


class RandomSource(ABC):
    """Uniform words, and the two exact draws that mechanisms are made of.

    Mechanisms with a guarantee call `coin` and `below` and nothing else. That is what lets
    `privacy/law.py` put an enumerating source in their place.

    >>> isinstance(sf.SecureRandom(), sf.RandomSource)
    True
    """

    reproducible: ClassVar[bool]

    @abstractmethod
    def words(self, count: int, bits: int) -> NDArray[Any]:
        """Return `count` independent uniform words of 32 or 64 bits."""

    def coin(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        """Toss `coin` count times: an integer comparison, exact to the last bit."""
        limbs = coin.bits // 64
        drawn = self.words(count * limbs, 64).reshape(count, limbs)
        return below_threshold(drawn, coin)

    def below(self, bound: int, count: int) -> NDArray[np.uint32]:
        """Return `count` integers uniform on {0, …, bound − 1}, with no modulo bias.

        The high half of word·bound is the draw (Lemire's method); a word whose low half
        falls in the short remainder of 2^32 mod bound is rejected and drawn again.
        """
        if not 1 <= bound <= 1 << 32:
            raise InvalidInput(f"bound must be between 1 and 2^32, got {bound}.")
        if bound & (bound - 1) == 0:  # a power of two: the high bits are the draw, none rejected
            shift = 32 - (bound.bit_length() - 1)
            drawn = self.words(count, 32)
            return drawn >> np.uint32(shift) if shift < 32 else np.zeros(count, dtype=np.uint32)
        product = np.multiply(self.words(count, 32), np.uint64(bound), dtype=np.uint64)
        halves = product.view(np.uint32).reshape(-1, 2)[:, :: 1 if _LITTLE else -1]
        remainder = np.uint32((1 << 32) % bound)
        rejected = np.flatnonzero(halves[:, 0] < remainder)
        while rejected.size:
            again = np.multiply(self.words(rejected.size, 32), np.uint64(bound), dtype=np.uint64)
            product[rejected] = again
            rejected = rejected[halves[rejected, 0] < remainder]
        return np.ascontiguousarray(halves[:, 1])

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Uniform on a grid of 2^32 points in (−1, 1). For mechanisms without a guarantee."""
        drawn = self.words(math.prod(shape), 32).astype(np.float64)
        drawn += 0.5
        drawn *= 2.0**-31
        drawn -= 1
        return drawn.reshape(shape)

    def normal(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Standard normal numbers, two from two uniform ones (Box–Muller), as floats.

        Their last bits are not those of a real Gaussian: a proof of ε does not hold for them.
        """
        count = math.prod(shape)
        first, second = self.uniform((2, (count + 1) // 2))
        radius = np.sqrt(-2 * np.log((first + 1) / 2))
        pairs = [radius * np.cos(np.pi * second), radius * np.sin(np.pi * second)]
        return np.asarray(np.concatenate(pairs)[:count].reshape(shape))


def check_source(rng: Any) -> RandomSource:
    """Refuse every generator but ours: their state is small, copied by fork, or guessable.

    >>> sf.check_source(sf.SeededRandom(1)).reproducible
    True
    """
    if not isinstance(rng, RandomSource):
        raise InvalidInput(
            "rng must be sfumato's SecureRandom (or SeededRandom in experiments), got "
            f"{type(rng).__name__}; other generators are predictable or shared across forks."
        )
    return rng


def below_threshold(drawn: NDArray[np.uint64], coin: Coin) -> NDArray[np.bool_]:
    """Compare rows of 64-bit limbs, most significant first, with the coin's threshold."""
    limbs = drawn.shape[1]
    if coin.threshold == 1 << coin.bits:
        return np.ones(len(drawn), dtype=np.bool_)
    if limbs == 1:
        return np.asarray(drawn[:, 0] < np.uint64(coin.threshold))
    less = np.zeros(len(drawn), dtype=np.bool_)
    equal = np.ones(len(drawn), dtype=np.bool_)
    for i in range(limbs):
        limb = np.uint64((coin.threshold >> 64 * (limbs - 1 - i)) & ((1 << 64) - 1))
        less |= equal & (drawn[:, i] < limb)
        equal &= drawn[:, i] == limb
    return less


class SecureRandom(RandomSource):
    """Randomness for releases. Safe across threads and forks; cannot be copied or saved.

    >>> len(sf.SecureRandom().below(6, 10))  # ten throws of a die, from 0 to 5
    10
    """

    reproducible = False

    _key: bytes
    _buffer: NDArray[np.uint8]

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rekey()
        _alive.add(self)

    def words(self, count: int, bits: int) -> NDArray[Any]:
        dtype = np.dtype(f"<u{bits // 8}")
        out = np.empty(count, dtype=dtype)
        self._fill(out.view(np.uint8))
        return out

    def _fill(self, out: NDArray[np.uint8]) -> None:
        with self._lock:
            if self._pid != os.getpid():  # a fork that at-fork handlers did not see
                self._rekey()
            done = 0
            while out.size - done >= _BLOCK:  # whole blocks go straight to who asked for them
                self._next_block(out[done : done + _BLOCK])
                done += _BLOCK
            while done < out.size:
                if self._used == self._buffer.size:
                    self._refill()
                take = min(out.size - done, self._buffer.size - self._used)
                fresh = self._buffer[self._used : self._used + take]
                out[done : done + take] = fresh
                fresh[:] = 0
                self._used += take
                done += take

    def _refill(self) -> None:
        self._buffer = np.empty(_BLOCK, dtype=np.uint8)
        self._next_block(self._buffer)
        self._used = 0

    def _next_block(self, out: NDArray[np.uint8]) -> None:
        """Fill one block; the key that made it is replaced by the head of its own stream."""
        stream = Cipher(algorithms.AES(self._key), modes.CTR(bytes(16))).encryptor()
        self._key = stream.update(_ZEROS[:_KEY])
        stream.update_into(_ZEROS, out.data)

    def _rekey(self) -> None:
        self._pid = os.getpid()
        self._key = os.urandom(_KEY)
        self._buffer = np.empty(0, dtype=np.uint8)
        self._used = 0

    def _after_fork(self) -> None:
        # The lock may have been held by a thread that does not exist in the child.
        self._lock = threading.Lock()
        self._rekey()

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError("SecureRandom cannot be copied or pickled; make a new one instead.")


class SeededRandom(RandomSource):
    """The same draws from a known seed: experiments and tests only, never a real release.

    >>> sf.SeededRandom(1).below(6, 5).tolist()
    [0, 2, 5, 0, 0]
    """

    reproducible = True

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise InvalidInput(f"seed must be a whole number, got {type(seed).__name__}.")
        key = hashlib.sha256(f"sfumato seeded {int(seed)}".encode()).digest()
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._lock = threading.Lock()

    def words(self, count: int, bits: int) -> NDArray[Any]:
        size = count * bits // 8
        with self._lock:
            data = self._stream.update(bytes(size))
        return np.frombuffer(data, dtype=f"<u{bits // 8}")


def draw_distinct(
    bound: int, size: int, count: int, source: RandomSource
) -> list[NDArray[np.uint32]]:
    """For each of `count` rows, `size` different numbers below `bound`, as `size` columns.

    Floyd's sampling: exactly `size` draws, none of them repeated, so the work does not depend
    on what was drawn. As a set the numbers are uniform; their order is not.
    """
    columns: list[NDArray[np.uint32]] = []
    # Few draws are compared with each earlier one; of many, a table says which were drawn.
    marked = np.zeros((count, bound if size > _FEW else 0), dtype=np.bool_)
    rows = np.arange(count)
    for last in range(bound - size, bound):
        column = source.below(last + 1, count)
        if size > _FEW:
            taken = marked[rows, column]
        else:
            taken = np.zeros(count, dtype=np.bool_)
            for earlier in columns:
                taken |= earlier == column
        column[taken] = last
        if size > _FEW:
            marked[rows, column] = True
        columns.append(column)
    return columns


_alive: weakref.WeakSet[SecureRandom] = weakref.WeakSet()


def _rekey_all_after_fork() -> None:
    for source in list(_alive):
        source._after_fork()


os.register_at_fork(after_in_child=_rekey_all_after_fork)
