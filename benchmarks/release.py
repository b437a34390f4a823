"""How fast is a release, beside what people would use instead?

    python benchmarks/release.py [--descriptors 1000000] [--words 256000] [--subset-size 2]

Three ways to answer the same nearest words with the ω-subset mechanism, in one run: ours,
the same arithmetic on NumPy's PCG64 (fast, but predictable from its output), and the
subset-selection client of multi-freq-ldpy (which chooses its own ω = |K|/(e^ε + 1)), timed on
fewer words because it takes long.
Then the whole release with its wire format, in bytes per keypoint.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.odds import Coin
from sfumato.core.randomness import RandomSource, SecureRandom
from sfumato.core.releases import WordRelease
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary


class PCG64(RandomSource):
    """The same draws the way NumPy makes them."""

    reproducible = True

    def __init__(self) -> None:
        self._generator = np.random.Generator(np.random.PCG64())

    def words(self, count: int, bits: int) -> NDArray[Any]:
        return self._generator.integers(0, 1 << bits, count, dtype=f"u{bits // 8}")

    def coin(self, coin: Coin, count: int) -> NDArray[np.bool_]:
        return np.asarray(self._generator.random(count) < float(coin.probability))

    def below(self, bound: int, count: int) -> NDArray[np.uint32]:
        return self._generator.integers(0, bound, count, dtype=np.uint32)


def median_seconds(run: Callable[[], object], repeats: int) -> float:
    """Median over repeats, after one run that is not counted."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--descriptors", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=256_000)
    parser.add_argument("--subset-size", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()

    count, num_words, size = options.descriptors, options.words, options.subset_size
    ids = np.arange(num_words, dtype=np.float32)[:, None]
    dictionary = Dictionary.from_words(ids, extractor="bench", metric="l2")
    mechanism = SubsetMechanism(options.epsilon, size, dictionary)
    truth = np.random.default_rng(0).integers(0, num_words, count).astype(np.uint32)
    print(
        f"{count:,} descriptors, |K| = {num_words:,}, ω = {size}, ε = {options.epsilon:g} each; "
        f"true word sent with probability {mechanism.keep_probability:.3f}"
    )

    secure, pcg = SecureRandom(), PCG64()
    # In turns: on a shared machine one after the other would compare two moments.
    turns = [
        [median_seconds(partial(mechanism.draw, truth, source), 1) for source in (secure, pcg)]
        for _ in range(options.repeats)
    ]
    ours, numpy = (statistics.median(times) for times in zip(*turns, strict=True))
    few = 200
    client = median_seconds(lambda: subset_clients(truth[:few], num_words, options.epsilon), 3)
    client *= count / few
    print(f"{'':34}{'ns per descriptor':>18}{'ratio to ours':>15}")
    for name, seconds in (
        ("sfumato, AES-256-CTR, exact coin", ours),
        ("the same on NumPy's PCG64", numpy),
        (f"multi-freq-ldpy client ({few} timed)", client),
    ):
        print(f"{name:34}{seconds / count * 1e9:>18,.0f}{seconds / ours:>15,.2f}")
    print(f"ours / PCG64: {ours / numpy:.2f} (at most 1.2 wanted)")
    print(f"multi-freq-ldpy / ours: {client / ours:,.0f} (at least 1,000 wanted)")

    for rows in (1_000, count):
        generator = np.random.default_rng(1)
        release = WordRelease(
            keypoints=(generator.random((rows, 2)) * (1599, 1199)).astype(np.float32),
            image_size=(1600, 1200),
            extractor="bench",
            words=mechanism.draw(truth[:rows], secure),
            num_words=num_words,
            dictionary=dictionary.fingerprint,
            epsilon=options.epsilon,
        )
        data = release.to_bytes()
        print(f"on the wire, {rows:,} keypoints: {len(data) / rows:.2f} bytes each (at most 9)")


def subset_clients(values: NDArray[np.uint32], num_words: int, epsilon: float) -> object:
    """One report per value, as a user of that package makes them."""
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    return [SS_Client(int(value), num_words, epsilon) for value in values]


if __name__ == "__main__":
    main()
