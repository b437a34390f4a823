"""What an attack gives back is read by the network as if it had been sent."""

from __future__ import annotations

import numpy as np
import pytest

from recoveries import lifted
from sfumato.adversary.invert.encoders import encode
from sfumato.adversary.invert.recovered import (
    as_sent_plainly,
    in_own_numbers,
    words_as_sent_plainly,
)
from sfumato.adversary.recover.base import Recovered
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from support import photograph, tiny_dictionary


def test_descriptors_recovered_exactly_are_the_ones_that_were_taken() -> None:
    truth = extract(np.ascontiguousarray(photograph()[:128, 100:260])).descriptors
    units = truth / np.linalg.norm(truth.astype(np.float64), axis=1, keepdims=True)
    numbers = in_own_numbers(units.astype(np.float32), "sift")
    assert numbers.dtype == np.uint8
    # SIFT's length is 512 but for rounding, so an entry may be off by a little.
    assert np.abs(numbers.astype(int) - truth).max() <= 2


def test_recovered_descriptors_lie_where_the_release_has_them() -> None:
    lift = lifted(dimension=2, count=12)
    answer = Recovered(lift.truth.astype(np.float32), np.ones(12, dtype=np.float32))
    plain = as_sent_plainly(lift.release, answer)
    assert np.array_equal(plain.keypoints, lift.release.keypoints)
    rows = encode(plain, "raw").rows
    assert rows**2 == pytest.approx(np.clip(lift.truth * 512, 0, 255) / 255, abs=0.01)
    with pytest.raises(Mismatch, match="answers 11 keypoints, the release has 12"):
        as_sent_plainly(lift.release, Recovered(answer.descriptors[1:], answer.confidence[1:]))


def test_floats_stay_and_bits_are_refused() -> None:
    units = np.full((2, 128), 128**-0.5, dtype=np.float32)
    assert in_own_numbers(units, "rootsift").dtype == np.float32
    with pytest.raises(InvalidInput, match="only those of real-valued extractors"):
        in_own_numbers(units, "freak")


def test_guessed_words_are_read_as_their_descriptors() -> None:
    features = extract(np.ascontiguousarray(photograph()[:128, 100:260]), max_keypoints=30)
    rng = np.random.default_rng(0)
    words = Dictionary.from_words(rng.integers(0, 256, (64, 128), dtype=np.uint8), extractor="sift")
    release = SubsetMechanism(8.0, 2, words).release(features, rng=SeededRandom(1))
    plain = words_as_sent_plainly(release, release.words[:, 1], words)
    content = [
        [(*place, *row.tolist()) for place, row in zip(keypoints.tolist(), rows, strict=True)]
        for keypoints, rows in (
            (plain.keypoints, plain.descriptors),
            (release.keypoints, words.words[release.words[:, 1]]),
        )
    ]
    assert sorted(content[0]) == sorted(content[1])
    with pytest.raises(Mismatch, match="another dictionary"):
        words_as_sent_plainly(release, release.words[:, 1], tiny_dictionary(64))
    with pytest.raises(InvalidInput, match="guessed must have shape"):
        words_as_sent_plainly(release, release.words, words)
