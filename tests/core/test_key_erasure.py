"""A captured process says nothing about earlier draws: keys are replaced, forks begin anew."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from sfumato.core import randomness
from sfumato.core.randomness import RandomSource, SecureRandom

MIB = 1 << 20


def stream(key: bytes, size: int) -> bytes:
    """AES-256-CTR from counter zero, written out here."""
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    return encryptor.update(bytes(size))


def test_every_block_is_made_with_a_key_of_its_own() -> None:
    source = SecureRandom()
    key = source._key
    for _ in range(3):
        expected = stream(key, 32 + MIB)
        drawn = source.words(MIB // 8 - 1, 64).tobytes() + source.words(2, 32).tobytes()
        assert drawn == expected[32:]
        assert source._key == expected[:32]
        key = source._key


def test_large_draws_replace_the_key_for_every_mebibyte() -> None:
    source = SecureRandom()
    first = stream(source._key, 32 + MIB)
    second = stream(first[:32], 32 + MIB)
    third = stream(second[:32], 32 + MIB)
    drawn = source.words((2 * MIB + 80) // 8, 64).tobytes()
    assert drawn == first[32:] + second[32:] + third[32:112]
    assert source._key == third[:32]


def test_what_the_process_still_holds_does_not_give_earlier_draws() -> None:
    source = SecureRandom()
    drawn = source.words(1000, 64).tobytes()
    held = stream(source._key, 32 + MIB) + source._buffer.tobytes()
    assert drawn[:16] not in held
    assert drawn[-16:] not in held


def test_keys_come_from_the_operating_system_and_differ() -> None:
    assert len({SecureRandom()._key for _ in range(20)}) == 20
    assert len(SecureRandom()._key) == 32


def test_a_fork_that_no_handler_saw_is_noticed_by_its_process_id() -> None:
    source = SecureRandom()
    source.words(10, 64)
    key, left = source._key, source._buffer[source._used :].tobytes()
    source._pid = -1  # as in a child that was made without Python's fork
    drawn = source.words(10, 64).tobytes()
    assert source._pid == os.getpid()
    assert source._key != key
    assert drawn != left[: len(drawn)]


def test_the_handler_after_a_fork_replaces_key_and_lock() -> None:
    source = SecureRandom()
    source.words(10, 64)
    key, lock = source._key, source._lock
    assert source in randomness._alive
    randomness._rekey_all_after_fork()
    assert source._key != key
    assert source._lock is not lock
    assert source._buffer.size == 0


def draw_once(source: SecureRandom) -> None:
    source.words(10, 64)


def test_a_lock_that_was_held_at_the_fork_does_not_stop_the_child() -> None:
    source = SecureRandom()
    with source._lock:
        child = multiprocessing.get_context("fork").Process(target=draw_once, args=(source,))
        child.start()
    child.join(20)
    if child.is_alive():
        child.kill()
        child.join()
    assert child.exitcode == 0


class Words(RandomSource):
    """A source whose 32-bit words are given."""

    reproducible = True

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def words(self, count: int, bits: int) -> NDArray[Any]:
        return np.array(self.values[:count], dtype=np.uint32)


@pytest.mark.parametrize("power", [0, 1, 4, 14, 31, 32])
def test_a_power_of_two_takes_the_high_bits_of_one_word(power: int) -> None:
    values = [0, 1, 2**31, 2**32 - 1, 0x12345678, 0xFEDCBA98]
    drawn = Words(values).below(1 << power, len(values))
    assert drawn.tolist() == [value >> (32 - power) for value in values]
    assert drawn.dtype == np.uint32


@pytest.mark.parametrize("bound", [1, 1 << 32])
def test_the_smallest_and_the_largest_bound_are_allowed(bound: int) -> None:
    assert (SecureRandom().below(bound, 100) <= bound - 1).all()
