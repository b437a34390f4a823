"""Two releases: candidates, support, the null, and lines."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import WordRelease
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.server.mapping.correspondences import epipolar_errors, relative_motion
from sfumato.server.mapping.private_pairs import (
    PairCandidates,
    pair_candidates,
    ranked,
    shared_words,
)
from sfumato.server.mapping.private_points import file_under_words, meeting_points
from sfumato.server.mapping.two_view import (
    PairOptions,
    View,
    examine_pair,
    line_distances,
)
from synthetic import CAMERA, DICTIONARY, make_room, pose_at

LEFT, RIGHT = pose_at(-0.7, 0.0, 0.0, turn_deg=4), pose_at(0.7, 0.2, 0.0, turn_deg=-4)
WORDS = SubsetMechanism(7.0, 1, DICTIONARY)


def words_of(rows: list[list[int]], num_words: int = 9) -> WordRelease:
    places = np.arange(2 * len(rows)).reshape(-1, 2)
    return WordRelease(
        keypoints=np.sort(places, axis=0).astype(np.float32),
        image_size=(640, 480),
        extractor="sift",
        words=np.array(rows, dtype=np.uint32).reshape(len(rows), -1),
        num_words=num_words,
        dictionary="ab" * 32,
        epsilon=5.0,
    )


def test_candidates_share_a_word_and_the_rarest_speaks() -> None:
    a = words_of([[1, 2], [2, 3], [5, 6]])
    b = words_of([[1, 2], [2, 7]])
    found = shared_words(a, b)
    listed = dict(
        zip(
            zip(found.first.tolist(), found.second.tolist(), strict=True),
            found.commonness.tolist(),
            strict=True,
        )
    )
    # Word 1: one on each side. Word 2: two on each side, four pairs.
    assert listed == {(0, 0): 1, (0, 1): 4, (1, 0): 4, (1, 1): 4}


def test_neighbours_are_ranked_from_both_sides() -> None:
    found = ranked(np.array([[0, 1], [0, 1]]), np.array([[1.0, 2.0], [0.5, 3.0]]))
    # The second keypoint is nearer to 0; the first is nearer to 1.
    assert found.first.tolist() == [0, 0, 1, 1]
    assert found.commonness.tolist() == [1 * 2, 2 * 1, 1 * 1, 2 * 2]


def test_two_views_give_their_geometry_and_an_unrelated_pair_gives_none() -> None:
    room, other = make_room(1500), make_room(1500, seed=9)
    left = WORDS.release(room.look(LEFT, seed=1)[0], rng=SeededRandom(1), camera=CAMERA)
    right = WORDS.release(room.look(RIGHT, seed=2)[0], rng=SeededRandom(2), camera=CAMERA)
    alien = WORDS.release(other.look(RIGHT, seed=3)[0], rng=SeededRandom(3), camera=CAMERA)
    a, b, c = (View(one.keypoints, CAMERA) for one in (left, right, alien))
    found = examine_pair(a, b, pair_candidates(left, right), PairOptions())
    assert found is not None
    assert found.num_inliers >= 3 * found.num_by_chance
    truth = relative_motion(LEFT, RIGHT)
    assert found.pose.error_to(truth)[1] < 0.5
    toward = truth.translation / np.linalg.norm(truth.translation)
    assert np.degrees(np.arccos(found.pose.translation @ toward)) < 2
    rows = found.matches
    matches = PairCandidates(rows[:, 0], rows[:, 1], np.ones(len(rows), dtype=np.int64))
    assert np.mean(line_distances(a, b, matches, LEFT, RIGHT) < 2) > 0.95
    assert examine_pair(a, c, pair_candidates(left, alien), PairOptions()) is None


def test_a_camera_that_only_saw_shuffled_words_is_no_pair() -> None:
    """The words of the right picture at wrong places: as many candidates, no geometry."""
    room = make_room(1500)
    left = WORDS.release(room.look(LEFT, seed=1)[0], rng=SeededRandom(1), camera=CAMERA)
    right = WORDS.release(room.look(RIGHT, seed=2)[0], rng=SeededRandom(2), camera=CAMERA)
    a = View(left.keypoints, CAMERA)
    for seed in range(3):
        shuffled = View(right.keypoints, CAMERA).shuffled(np.random.default_rng(100 + seed))
        assert examine_pair(a, shuffled, pair_candidates(left, right), PairOptions()) is None


@pytest.mark.parametrize("counts", [(0, 5), (5, 0), (1, 1), (0, 0)])
def test_pictures_with_next_to_nothing_are_no_pair(counts: tuple[int, int]) -> None:
    features = make_room(200).look(LEFT, seed=1)[0]
    for mechanism in (Plain(), WORDS):
        a, b = (mechanism.release(features.take(np.arange(n)), rng=SeededRandom(0)) for n in counts)
        candidates = pair_candidates(a, b)
        pair = View(a.keypoints, CAMERA), View(b.keypoints, CAMERA)
        assert examine_pair(*pair, candidates, PairOptions()) is None


def test_line_distances_are_sampsons() -> None:
    rng = np.random.default_rng(0)
    a, b = (View((rng.random((40, 2)) * 400).astype(np.float32), CAMERA) for _ in range(2))
    rows = np.arange(40)
    candidates = PairCandidates(rows, rows[::-1].copy(), rows)
    wanted = epipolar_errors(a.rays[:, :2], b.rays[::-1, :2], LEFT, RIGHT, (a.focal, b.focal))
    np.testing.assert_allclose(line_distances(a, b, candidates, LEFT, RIGHT), wanted, rtol=1e-9)
    assert np.isinf(line_distances(a, b, candidates, LEFT, LEFT)).all()


def test_tracks_vote_for_words() -> None:
    releases = [words_of([[3], [4]]), words_of([[3], [5]]), words_of([[8]])]
    seen = np.array([0, 1, 0, 1, 0], dtype=np.int32)  # 3, 4 | 3, 5 | 8
    index = file_under_words(releases, seen)
    assert index.lookup(np.array([[3]]))[1].tolist() == [0, 2, 4]  # elected for point 0
    assert index.lookup(np.array([[8]]))[1].tolist() == []
    assert index.lookup(np.array([[4]]))[1].tolist() == [1, 3]  # point 1 agrees on nothing
    assert index.lookup(np.array([[5]]))[1].tolist() == [1, 3]
    assert len(file_under_words(releases, np.full(5, -1, dtype=np.int32)).rows) == 0


def test_two_lifts_of_one_descriptor_meet_in_it() -> None:
    """The reason why a track of lifted views is an attack."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(1, 32))
    truth /= np.linalg.norm(truth)
    bases = np.linalg.qr(rng.normal(size=(3, 32, 4)))[0].transpose(0, 2, 1)
    offsets = truth + np.einsum("kmn,km->kn", bases, rng.normal(size=(3, 4)))
    found = meeting_points(offsets, bases, np.array([0, 0, -1], dtype=np.int32))
    np.testing.assert_allclose(found[:2], np.repeat(truth, 2, axis=0), atol=1e-4)
    assert not found[2].any()
