"""The source of randomness: exact, unbiased, never shared."""

from __future__ import annotations

import ast
import copy
import multiprocessing
import pickle
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import Coin
from sfumato.core.randomness import RandomSource, SecureRandom, SeededRandom

SOURCE = SecureRandom()
BLOCK = 16


class Script(RandomSource):
    """A source whose words are given."""

    reproducible = True

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def words(self, count: int, bits: int) -> NDArray[Any]:
        taken, self.values = self.values[:count], self.values[count:]
        return np.array(taken, dtype=f"u{bits // 8}")


@pytest.mark.parametrize("threshold", [1, 2**63, 2**64 - 1, 12345678901234567890])
def test_a_coin_is_an_exact_comparison_of_integers(threshold: int) -> None:
    edge = [threshold - 1, min(threshold, 2**64 - 1), 0, 2**64 - 1]
    drawn = Script(edge).coin(Coin(threshold), 4)
    assert drawn.tolist() == [value < threshold for value in edge]


def test_a_coin_of_many_limbs_compares_them_in_order() -> None:
    threshold = (5 << 64) + 7
    pairs = [(5, 6), (5, 7), (4, 2**64 - 1), (6, 0)]
    drawn = Script([limb for pair in pairs for limb in pair]).coin(Coin(threshold, 128), 4)
    assert drawn.tolist() == [True, False, True, False]


def test_certain_coins_are_certain() -> None:
    assert SOURCE.coin(Coin(1 << 64), 1000).all()
    assert not SOURCE.coin(Coin(0), 1000).any()


@pytest.mark.parametrize("bound", [3, 5, 6, 7, 256_000, 2**31 + 1])
def test_uniform_draws_have_no_modulo_bias(bound: int) -> None:
    """Of the 2^32 words, each result takes exactly ⌊2^32/bound⌋; the rest is rejected."""
    share = 2**32 // bound
    for value in (0, 1, bound // 2, bound - 1):
        first = -(-value * 2**32 // bound)  # the first word whose product lands in `value`
        low = first * bound % 2**32
        rejected = 2**32 % bound
        start = first if low >= rejected else first + -(-(rejected - low) // bound)
        inside = Script([start, start + share - 1]).below(bound, 2)
        assert inside.tolist() == [value, value]
        # One word earlier is rejected or belongs to the value before.
        before = Script([start - 1, start]).below(bound, 1) if start else np.array([0])
        assert before[0] in (value - 1, value)
    if 2**32 % bound:
        assert Script([0, start]).below(bound, 1).tolist() == [bound - 1]  # word 0: rejected


def test_bounds_out_of_range_are_refused() -> None:
    for bound in (0, -1, 2**32 + 1):
        with pytest.raises(InvalidInput, match="bound"):
            SOURCE.below(bound, 1)


def test_draws_look_uniform() -> None:
    counts = np.bincount(SOURCE.below(10, 1_000_000), minlength=10)
    assert (np.abs(counts - 100_000) < 6 * np.sqrt(90_000)).all()
    heads = np.count_nonzero(SOURCE.coin(Coin(2**62), 1_000_000))
    assert abs(heads - 250_000) < 6 * np.sqrt(187_500)


def blocks(source: SecureRandom, size: int = 1 << 16) -> list[bytes]:
    data = source.words(size // 8, 64).tobytes()
    return [data[i : i + BLOCK] for i in range(0, size, BLOCK)]


def send_blocks(connection: Any) -> None:
    connection.send_bytes(b"".join(blocks(SOURCE)))
    connection.close()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_eight_processes_share_no_block_of_randomness(method: str) -> None:
    SOURCE.words(100, 64)  # the parent's buffer is half used when the children are made
    context: Any = multiprocessing.get_context(method)
    seen = blocks(SOURCE)
    started = []
    for _ in range(8):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=send_blocks, args=(sender,))
        process.start()
        sender.close()
        started.append((process, receiver))
    for process, receiver in started:
        data = receiver.recv_bytes()
        seen += [data[i : i + BLOCK] for i in range(0, len(data), BLOCK)]
        process.join()
        receiver.close()
    seen += blocks(SOURCE)
    assert len(seen) == 10 * 4096
    assert len(set(seen)) == len(seen)


def test_sixty_four_threads_share_no_block_of_randomness() -> None:
    seen: list[bytes] = []

    def collect() -> None:
        own = [block for _ in range(4) for block in blocks(SOURCE, 1 << 14)]
        seen.extend(own)

    threads = [threading.Thread(target=collect) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 64 * 4 * 1024
    assert len(set(seen)) == len(seen)


def test_a_fork_while_another_thread_draws_does_not_hang() -> None:
    stop = threading.Event()

    def draw() -> None:
        while not stop.is_set():
            SOURCE.words(1 << 16, 64)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        test_eight_processes_share_no_block_of_randomness("fork")
    finally:
        stop.set()
        thread.join()


def test_bytes_are_wiped_once_handed_out() -> None:
    source = SecureRandom()
    drawn = source.words(1000, 64).tobytes()
    assert drawn not in source._buffer.tobytes()
    assert not source._buffer[:8000].any()


def test_a_secure_source_cannot_be_copied_or_saved() -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="make a new one"):
            attempt(SOURCE)


def test_a_seed_gives_the_same_draws_and_says_so() -> None:
    first, second, other = SeededRandom(7), SeededRandom(7), SeededRandom(8)
    assert (first.below(1000, 500) == second.below(1000, 500)).all()
    assert (first.below(1000, 500) != other.below(1000, 500)).any()
    assert SeededRandom.reproducible
    assert not SecureRandom.reproducible
    for seed in (True, "7", 1.5, None):
        with pytest.raises(InvalidInput, match="seed"):
            SeededRandom(seed)  # type: ignore[arg-type]


def release_files() -> list[Path]:
    root = Path(sfumato.__file__).parent
    codes = root / "classification" / "randomized_response.py"
    return sorted([*(root / "core").rglob("*.py"), *(root / "device").rglob("*.py"), codes])


def test_release_code_uses_no_other_generator() -> None:
    """Reads the source: no random, no numpy.random, no torch.rand, no seed outside its class."""
    assert len(release_files()) > 10
    for path in release_files():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute):
                names = [ast.unparse(node)]
            elif isinstance(node, ast.Call):
                names = [keyword.arg or "" for keyword in node.keywords]
                assert "seed" not in names, f"{path}:{node.lineno} passes a seed"
                continue
            else:
                continue
            for name in names:
                roots = name.split(".")
                forbidden = (
                    roots[0] in ("random", "torch")
                    or roots[:2] in (["np", "random"], ["numpy", "random"])
                    or "default_rng" in roots
                    or "SeededRandom" in roots
                )
                assert not forbidden, f"{path}: {name}"


def test_coins_are_fractions() -> None:
    assert Coin(3, 64).probability == Fraction(3, 2**64)
    for threshold, bits in ((-1, 64), (2**64 + 1, 64), (1, 63), (1, 0)):
        with pytest.raises(InvalidInput):
            Coin(threshold, bits)
