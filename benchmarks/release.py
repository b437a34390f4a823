"""How fast is a release, beside what people would use instead?

    python benchmarks/release.py [--descriptors 1000000] [--words 256000] [--subset-size 2]

Three ways to answer the same nearest words with the ω-subset mechanism, in one run: ours,
the same arithmetic on NumPy's PCG64 (fast, but predictable from its output), and the
subset-selection client of multi-freq-ldpy (which chooses its own ω = |K|/(e^ε + 1)), timed on
fewer words because it takes long.
Then the whole release with its wire format, in bytes per keypoint.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import in_turns, medians, parser_of

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


def main() -> None:
    parser = parser_of(__doc__)
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
    draws = [partial(mechanism.draw, truth, source) for source in (secure, pcg)]
    ours, numpy = medians(in_turns(draws, options.repeats))
    few = 200
    clients = partial(subset_clients, truth[:few], num_words, options.epsilon)
    client = medians(in_turns([clients], 3))[0] * count / few
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
