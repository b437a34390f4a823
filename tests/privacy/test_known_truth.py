"""Releases with their truth: rows stay together whatever order a release puts them in."""

from __future__ import annotations

import numpy as np
import pytest

from recoveries import WORDS, crowded
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting
from sfumato.device.mechanisms.lifting import STRATEGIES
from sfumato.matching.subspace import reference_distances
from sfumato.privacy.known_truth import alone_at_their_place, draw_words, lift_picture


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_truth_of_a_lift_lies_in_its_subspaces(strategy: str) -> None:
    lift = lift_picture(crowded(40, 1), SubspaceLifting(strategy, 4, WORDS), 25, 7)
    assert (len(lift.release), len(lift.rest)) == (25, 15)
    distance = np.diag(reference_distances(lift.truth.astype(np.float32), lift.release))
    assert distance.max() < 1e-4
    if lift.words.shape[1]:
        words = WORDS.words[lift.words].astype(np.float64)
        words /= np.linalg.norm(words, axis=2, keepdims=True)
        for column in range(words.shape[1]):
            points = words[:, column].astype(np.float32)
            assert np.diag(reference_distances(points, lift.release)).max() < 1e-4


def test_the_truth_of_words_follows_the_rows_of_the_release() -> None:
    features = crowded(60, 2)
    release, truth, rows = draw_words(features, SubsetMechanism(np.inf, 1, WORDS), 5)
    assert np.array_equal(release.words[:, 0], truth)
    assert np.array_equal(WORDS.nearest(features.descriptors[rows]), truth)
    assert len(alone_at_their_place(features)) == len(np.unique(features.keypoints, axis=0))
