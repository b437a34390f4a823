"""The published recipe of LDP-FEAT, to stand beside ours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from queries import QUERIES, TRUTHS, WORLD
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import WordRelease
from sfumato.core.types import Localization
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.server.ldp_feat_recipe import most_voted, paper_localize
from synthetic import CAMERA, DICTIONARY


def words_of(epsilon: float, *, subset_size: int = 1) -> WordRelease:
    mechanism = SubsetMechanism(epsilon, subset_size, DICTIONARY)
    return mechanism.release(QUERIES[0].features, rng=SeededRandom(3), camera=CAMERA)


@pytest.mark.parametrize("matching", ["vocabulary", "nearest"])
def test_the_papers_recipe_finds_quantised_words(matching: str) -> None:
    found = paper_localize(words_of(np.inf), WORLD, dictionary=DICTIONARY, matching=matching)
    assert found.pose is not None
    distance, degrees = found.pose.error_to(TRUTHS[0])
    assert distance < 0.25
    assert degrees < 2
    assert 12 <= found.num_inliers <= found.num_matches


def test_nearest_matching_gives_each_word_one_feature_of_the_map() -> None:
    release = words_of(np.inf)
    few = paper_localize(release, WORLD, dictionary=DICTIONARY, matching="nearest")
    many = paper_localize(release, WORLD, dictionary=DICTIONARY)
    assert few.num_matches <= len(release) < many.num_matches


def test_candidates_of_several_images_count_once() -> None:
    release = words_of(8.0, subset_size=2)
    keypoint, row = WORLD.word_index(DICTIONARY).lookup(release.words)
    pairs = set(zip(keypoint.tolist(), WORLD.point_of_feature[row].tolist(), strict=True))
    assert paper_localize(release, WORLD, max_iterations=1).num_matches == len(pairs) < len(row)


def test_a_shortlist_limits_the_candidates() -> None:
    release = words_of(np.inf)
    _, row = WORLD.word_index(DICTIONARY).lookup(release.words)
    voted = most_voted(row, WORLD, 2)
    votes = np.bincount(WORLD.image_of(row), minlength=WORLD.num_images)
    assert set(votes[voted]) == set(np.sort(votes)[-2:])
    top = paper_localize(release, WORLD, top_images=2)
    assert top == paper_localize(release, WORLD, shortlist=voted)
    assert top.num_matches < paper_localize(release, WORLD).num_matches


def test_the_papers_recipe_refuses_what_it_cannot_do() -> None:
    release = words_of(8.0)
    with pytest.raises(InvalidInput, match="matching must be one of"):
        paper_localize(release, WORLD, matching="fuzzy")
    with pytest.raises(InvalidInput, match="intrinsics"):
        paper_localize(replace(release, camera=None), WORLD)
    with pytest.raises(InvalidInput, match="give the dictionary"):
        paper_localize(release, WORLD, matching="nearest")
    with pytest.raises(Mismatch, match="extractor"):
        paper_localize(replace(release, extractor="sift"), WORLD)


def test_too_few_candidates_are_no_pose() -> None:
    empty = np.zeros(0, dtype=np.int64)
    found = paper_localize(words_of(8.0), WORLD, shortlist=empty)
    assert found == Localization(None, 0, 0, 0.0, "0 candidate matches give no pose")
