"""Where few words are true, positions find the pose; where nothing is true, nothing is believed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import WordRelease
from sfumato.core.types import Localization, Pose
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.server import guided
from sfumato.server import localize as module
from sfumato.server.evidence import Proposal
from sfumato.server.guided import improve_pose
from sfumato.server.keypoint_field import KeypointField
from sfumato.server.localize import LocalizeOptions, localize, match_release
from sfumato.server.pose import Estimate, PoseProblem
from sfumato.server.retrieval import retrieve_map_regions
from sfumato.server.upright import WorldGravity, rotation_between
from sfumato.server.word_odds import WordOdds
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room()
WORLD = make_map(ROOM, MAPPING_POSES)
QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4)


def release_at(epsilon: float, seed: int = 0) -> WordRelease:
    features, _ = ROOM.look(QUERY, seed=seed)
    mechanism = SubsetMechanism(epsilon, 1, DICTIONARY)
    return mechanism.release(features, rng=SeededRandom(seed), camera=CAMERA)


def found(release: WordRelease) -> Localization:
    return localize(release, WORLD, dictionary=DICTIONARY)


def test_poses_are_found_where_words_alone_do_not_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    releases = [release_at(2.6, 1), release_at(2.6, 5), release_at(3.0, 0), release_at(2.6, 0)]
    ours_all = [found(release) for release in releases]
    monkeypatch.setattr(module, "search_pose", lambda *_: None)
    by_words = [found(release) for release in releases]
    gained = 0
    for ours, words in zip(ours_all, by_words, strict=True):
        assert ours.localized or not words.localized
        if ours.pose is None:
            continue
        distance, degrees = ours.pose.error_to(QUERY)
        assert distance < 0.05
        assert degrees < 0.5
        gained += not words.localized
    assert gained >= 2


def test_the_same_release_gives_the_same_answer() -> None:
    release = release_at(2.6, seed=1)
    first, second = found(release), found(release)
    assert first.pose is not None
    assert second.pose is not None
    assert np.array_equal(first.pose.rotation, second.pose.rotation)
    assert first.log10_chance == second.log10_chance


def test_the_search_ends_with_the_region_that_shows_the_pose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pose that stands out from all others is not searched for in the rest of the map."""
    release, options = release_at(4.0), LocalizeOptions()
    candidates = match_release(release, WORLD, DICTIONARY)
    retrieval = retrieve_map_regions(release, candidates, WORLD, options.retrieval)
    retrieval = replace(retrieval, map_regions=4 * tuple(retrieval.map_regions))
    searched: list[int] = []
    propose = guided.GuidedSearch._propose

    def watched(self: guided.GuidedSearch, number: int, turn: int) -> list[Proposal]:
        searched.append(number)
        return propose(self, number, turn)

    monkeypatch.setattr(guided.GuidedSearch, "_propose", watched)
    problem = PoseProblem(
        release.keypoints, WORLD.points, CAMERA, options.pose, None, WORLD, release
    )
    best = guided.search_pose(retrieval, problem)
    assert best is not None
    assert best.pose.error_to(QUERY)[0] < 0.05
    assert guided._FIRST_REGIONS <= len(searched) < len(retrieval.map_regions)


def test_keypoints_at_other_places_are_not_believed() -> None:
    features, _ = ROOM.look(QUERY, seed=0)
    generator = np.random.default_rng(1)
    places = generator.uniform(0, 1, (len(features), 2)) * features.image_size
    moved = replace(features, keypoints=places.astype(np.float32))
    release = SubsetMechanism(2.5, 1, DICTIONARY).release(moved, rng=SeededRandom(0), camera=CAMERA)
    assert not found(release).localized


def test_a_pose_that_is_a_little_off_is_moved_to_the_truth() -> None:
    release = release_at(4.0)
    options = LocalizeOptions()
    candidates = match_release(release, WORLD, DICTIONARY)
    retrieval = retrieve_map_regions(release, candidates, WORLD, options.retrieval)
    problem = PoseProblem(
        release.keypoints, WORLD.points, CAMERA, options.pose, None, WORLD, release
    )
    turned = rotation_between(np.array([0.0, 0, 1]), np.array([0.01, 0.005, 1.0]))
    off = Pose(turned @ QUERY.rotation, turned @ QUERY.translation + 0.02)
    nothing = np.zeros(0, dtype=np.int64)
    improved = improve_pose(Estimate(off, 9, 99, -5.0, nothing, nothing, 0.0), retrieval, problem)
    assert off.error_to(QUERY)[0] > 0.02
    assert improved.pose.error_to(QUERY)[0] < 0.01
    assert improved.log10_chance == -5.0


def test_gravity_with_an_error_makes_a_pose_surer_and_a_wrong_one_gives_none() -> None:
    release = release_at(2.6, seed=1)
    down = np.array([0.0, 1.0, 0.0])
    tilted = rotation_between(down, np.array([0.03, 1.0, -0.03])) @ QUERY.rotation @ down
    gravity = WorldGravity(tuple(tilted), tuple(down), error_deg=2.0)
    ours = localize(release, WORLD, dictionary=DICTIONARY, gravity=gravity)
    assert ours.pose is not None
    assert ours.pose.error_to(QUERY)[0] < 0.05
    assert ours.log10_chance < found(release).log10_chance
    sideways = WorldGravity(tuple(tilted[[1, 0, 2]]), tuple(down), error_deg=2.0)
    assert not localize(release, WORLD, dictionary=DICTIONARY, gravity=sideways).localized


def test_a_shared_word_says_what_the_mechanism_makes_it_say() -> None:
    release = release_at(math.log(511.0))  # the true word is sent every second time
    odds = WordOdds.of(release, num_filed=512)
    assert odds.kept == pytest.approx(0.5)
    assert odds.other == pytest.approx(0.5 / 511)
    rare, common = odds.ratio(np.array([1.0, 0.01]))
    assert rare > common > 1


def test_the_field_knows_the_nearest_keypoint_and_where_many_are() -> None:
    keypoints = np.array([[100, 100], [103, 100], [400, 300], [400, 300]], dtype=np.float32)
    field = KeypointField(keypoints, CAMERA)
    assert len(field.places) == 3
    for row, (x, y) in enumerate(keypoints.astype(int)):
        assert field.nearest[y, x] == field.place_of[row]
        assert field.distance[y, x] == 0
    assert field.density[field.place_of[0]] > field.density[field.place_of[2]]
    gain = field.gain(2.0)
    assert gain[300, 400] > gain[300, 404] > gain[300, 420]
