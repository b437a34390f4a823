"""A private global descriptor ranks the images of a map together with the words' votes."""

from __future__ import annotations

import numpy as np
import pytest

from bag_spaces import bag_space
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import VectorRelease
from sfumato.device.global_descriptor import GlobalDescriptor
from sfumato.device.mechanisms import PrivUnit, SubsetMechanism
from sfumato.server.global_retrieval import GlobalIndex
from sfumato.server.localize import localize, match_release
from sfumato.server.retrieval import RetrievalOptions, retrieve_map_regions
from support import tiny_dictionary
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room()
WORLD = make_map(ROOM, MAPPING_POSES)
SPACE = bag_space(DICTIONARY)
INDEX = GlobalIndex.build(WORLD, DICTIONARY, SPACE)
FEATURES, _ = ROOM.look(pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4), seed=0)
SENT = SubsetMechanism(6.0, 1, DICTIONARY).release(FEATURES, rng=SeededRandom(0), camera=CAMERA)


def vector_of(epsilon: float, seed: int = 0) -> VectorRelease:
    return GlobalDescriptor(epsilon, DICTIONARY, SPACE).release(FEATURES, rng=SeededRandom(seed))


def test_images_that_see_the_same_walls_score_higher_also_under_noise() -> None:
    away = [WORLD.pose(image).error_to(pose_at(0.7, 0.1, 0.8))[0] for image in range(12)]
    near, far = np.argsort(away)[:4], np.argsort(away)[-4:]
    scores = np.mean([INDEX.scores(vector_of(12.0, seed)) for seed in range(20)], axis=0)
    assert scores.shape == (WORLD.num_images,)
    assert scores[near].mean() > scores[far].mean()


def test_an_answer_with_the_vector_is_still_the_right_one() -> None:
    scores = INDEX.scores(vector_of(8.0))
    with_vector = localize(SENT, WORLD, dictionary=DICTIONARY, image_scores=scores)
    assert with_vector.pose is not None
    assert with_vector.pose.error_to(pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4))[0] < 0.05


def test_scores_decide_which_images_are_searched_and_zeros_change_nothing() -> None:
    candidates = match_release(SENT, WORLD, DICTIONARY)
    options = RetrievalOptions(max_images=3, num_regions=2)
    plain = retrieve_map_regions(SENT, candidates, WORLD, options)
    wanted = np.array([1, 5, 9])
    scores = np.where(np.isin(np.arange(WORLD.num_images), wanted), 1e6, 0.0)
    led = retrieve_map_regions(SENT, candidates, WORLD, options, image_scores=scores)
    assert set(led.all_candidates.images.tolist()) == set(wanted.tolist())
    same = retrieve_map_regions(SENT, candidates, WORLD, options, image_scores=np.zeros(12))
    for one, other in zip(plain.map_regions, same.map_regions, strict=True):
        assert np.array_equal(one.images, other.images)
        assert np.array_equal(one.support, other.support)


def test_what_is_no_global_descriptor_of_this_space_is_refused() -> None:
    face = PrivUnit(8.0, 32).send(np.ones((1, 32)), rng=SeededRandom(0), embedder="dlib")
    several = PrivUnit(8.0, 32).send(np.ones((2, 32)), rng=SeededRandom(0))
    other = bag_space(DICTIONARY, seed=1)
    sent = GlobalDescriptor(8.0, DICTIONARY, other).release(FEATURES, rng=SeededRandom(0))
    for vector, sentence in (
        (SENT, "one private unit vector"),
        (several, "one private unit vector"),
        (face, "no global descriptor"),
        (sent, "another space"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            INDEX.scores(vector)
    with pytest.raises(Mismatch, match="another dictionary"):
        GlobalIndex.build(WORLD, tiny_dictionary(512, dimension=16, seed=1), SPACE)


def test_scores_that_cannot_rank_are_refused() -> None:
    scores = np.zeros(WORLD.num_images)
    for bad, shortlist, sentence in (
        (np.full(WORLD.num_images, np.nan), None, "must be finite"),
        (scores[:-1], None, "must have shape"),
        (scores, np.arange(2), "shortlist replaces"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            localize(SENT, WORLD, dictionary=DICTIONARY, image_scores=bad, shortlist=shortlist)
