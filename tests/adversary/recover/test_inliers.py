"""The inlier attack: what a pose tells about the keypoints that agree with it."""

from __future__ import annotations

import numpy as np
import pytest

from recoveries import WORDS, errors, lifted, picture, unit_rows, worded
from sfumato.adversary.recover.inliers import inliers_attack
from sfumato.core.errors import InvalidInput


def seen_by_the_map(count: int) -> np.ndarray:
    """The map saw the same points from elsewhere: descriptors a little different."""
    truth = unit_rows(picture(count).descriptors)
    noise = np.random.default_rng(0).normal(size=truth.shape) * 0.02
    return np.asarray(unit_rows(np.maximum(truth + noise, 0)))


def test_an_inlier_of_subspaces_is_found_nearer_than_the_map_knows_it() -> None:
    case = lifted(dimension=4, count=40)
    known = seen_by_the_map(40)
    rows = np.arange(0, 40, 2)
    found = inliers_attack(case.release, rows=rows, matched=known[rows])
    error = errors(found, case.truth)
    assert (error[rows] < np.linalg.norm(known - case.truth, axis=1)[rows]).all()
    assert (found.confidence[rows] == 1).all()
    assert found.confidence[1::2].max() == 0


def test_an_inlier_of_words_is_answered_by_the_map() -> None:
    release, truth = worded(epsilon=6.0, count=40)
    known = seen_by_the_map(40)
    rows = np.arange(10)
    found = inliers_attack(
        release, rows=rows, matched=known[rows], false_inliers=1.0, dictionary=WORDS
    )
    assert np.allclose(found.descriptors[rows], known[rows], atol=1e-6)
    assert found.confidence[rows] == pytest.approx(0.9, abs=0.05)
    assert found.confidence[10:].max() < 0.5
    words = WORDS.nearest(np.rint(known * 512).clip(0, 255).astype(np.uint8))
    assert (words[rows] == truth[rows]).mean() > 0.1  # chance: 1 in 1600


def test_no_inliers_reveal_nothing() -> None:
    case = lifted(count=5)
    found = inliers_attack(case.release, rows=np.zeros(0, int), matched=np.zeros((0, 128)))
    assert found.confidence.max() == 0


def test_wrong_matches_are_refused() -> None:
    case, (words, _) = lifted(count=5), worded(count=5)
    some = np.ones((2, 128))
    with pytest.raises(InvalidInput, match="below 5"):
        inliers_attack(case.release, rows=np.array([0, 5]), matched=some)
    with pytest.raises(InvalidInput, match="twice"):
        inliers_attack(case.release, rows=np.array([1, 1]), matched=some)
    with pytest.raises(InvalidInput, match="shape"):
        inliers_attack(case.release, rows=np.array([1]), matched=some)
    with pytest.raises(InvalidInput, match="dictionary"):
        inliers_attack(words, rows=np.array([0, 1]), matched=some)
    with pytest.raises(InvalidInput, match="false_inliers"):
        inliers_attack(case.release, rows=np.array([0, 1]), matched=some, false_inliers=-1.0)
