"""Which part of a map a release looks at."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.localize import match_release
from sfumato.server.mapping.held_out import HeldOut
from sfumato.server.mapping.memory import word_query_memory
from sfumato.server.retrieval import (
    RetrievalOptions,
    retrieve_map_regions,
)
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room()
WORLD = make_map(ROOM, MAPPING_POSES)
QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4)


def test_the_first_region_begins_with_an_image_near_the_query_and_few_are_searched() -> None:
    features, _ = ROOM.look(QUERY, seed=0)
    release = SubsetMechanism(8.0, 1, DICTIONARY).release(
        features, rng=SeededRandom(0), camera=CAMERA
    )
    candidates = match_release(release, WORLD, DICTIONARY)
    options = RetrievalOptions(max_images=3, num_regions=2)
    found = retrieve_map_regions(release, candidates, WORLD, options)
    assert len(found.map_regions) <= 2
    assert len(found.all_candidates.images) == 3
    assert found.map_regions[0].images[0] in found.all_candidates.images
    away = [WORLD.pose(image).error_to(QUERY)[0] for image in range(WORLD.num_images)]
    assert away[int(found.map_regions[0].images[0])] <= np.median(away)


@pytest.mark.parametrize("max_images", [3, 48])
def test_images_that_see_nothing_are_not_searched_however_near_they_stand(max_images: int) -> None:
    features, _ = ROOM.look(QUERY, seed=0)
    away = [WORLD.pose(image).error_to(QUERY)[0] for image in range(WORLD.num_images)]
    nearest = np.argsort(away)[:2]
    less = HeldOut(WORLD).without(nearest.tolist())
    mechanism = SubsetMechanism(8.0, 1, DICTIONARY)
    release = mechanism.release(features, rng=SeededRandom(0), camera=CAMERA)
    candidates = match_release(release, less, DICTIONARY)
    options = RetrievalOptions(max_images=max_images)
    found = retrieve_map_regions(release, candidates, less, options)
    assert not np.isin(nearest, found.all_candidates.images).any()
    assert len(found.all_candidates.images) == min(max_images, WORLD.num_images - 2)


def test_an_index_is_the_same_however_its_words_are_sorted() -> None:
    generator = np.random.default_rng(0)
    words, rows = generator.integers(0, 50, 400), np.arange(0, 800, 2)
    quick = InvertedIndex.build(words, rows, 50)
    shuffled = generator.permutation(400)
    for other in (
        InvertedIndex.build(words[shuffled], rows[shuffled], 50),
        InvertedIndex.build(words, rows, 1 << 17),
    ):
        assert np.array_equal(quick.rows, other.rows)
        assert np.array_equal(quick.starts, other.starts[:51])
    for word in range(50):
        assert quick.rows[quick.starts[word] : quick.starts[word + 1]].tolist() == sorted(
            rows[words == word]
        )


def test_a_query_by_words_needs_few_bytes_per_observation() -> None:
    WORLD.word_index(DICTIONARY)
    memory = word_query_memory(WORLD, DICTIONARY.fingerprint)
    index = WORLD.word_index(DICTIONARY)
    assert memory["word index"] == index.rows.nbytes + index.starts.nbytes
    per_feature = memory["keypoints"] + memory["point of each feature"]
    per_feature += memory["image of each feature"]
    assert per_feature == 16 * len(WORLD.keypoints)
    assert not any("descriptor" in name for name in memory)
    with pytest.raises(Mismatch, match="not filed under"):
        word_query_memory(WORLD, "0" * 64)
