"""Several frames of a moving device: found together where one alone is not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Pose
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.server import localize as localize_module
from sfumato.server.localize import localize
from sfumato.server.motion import Frame, OdometryError, compose, inverse
from sfumato.server.sequence import localize_sequence
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

ROOM = make_room(1500)
WORLD = make_map(ROOM, MAPPING_POSES[:6])
TRUTHS = [pose_at(-1.4 + 0.1 * i, 0.05 * i, 0.1 * i, turn_deg=2 * i) for i in range(3)]
ELSEWHERE = pose_at(3.0, -1.0, 2.0, turn_deg=70)


def frames(
    epsilon: float, *, seed: int = 0, motion: list[Pose] | None = None, room: object = ROOM
) -> list[Frame]:
    mechanism = SubsetMechanism(epsilon, 1, DICTIONARY)
    made = []
    for i, (truth, moved) in enumerate(zip(TRUTHS, motion or TRUTHS, strict=True)):
        features, _ = room.look(truth, seed=50 * seed + i)  # type: ignore[attr-defined]
        release = mechanism.release(features, rng=SeededRandom(50 * seed + i), camera=CAMERA)
        made.append(Frame(release, moved))
    return made


def test_a_pose_and_its_way_back_leave_a_point_where_it_is() -> None:
    there = compose(TRUTHS[2], inverse(TRUTHS[0]))
    assert compose(there, TRUTHS[0]).error_to(TRUTHS[2])[0] < 1e-12
    identity = compose(TRUTHS[1], inverse(TRUTHS[1]))
    np.testing.assert_allclose(identity.rotation, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(identity.translation, 0, atol=1e-12)


def test_three_frames_together_are_found_more_surely_than_the_best_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(localize_module, "search_pose", lambda *_: None)  # by words alone
    asked = frames(2.7)
    alone = [localize(one.release, WORLD, dictionary=DICTIONARY) for one in asked]
    together = localize_sequence(asked, WORLD, dictionary=DICTIONARY)
    assert together[0].log10_chance < 1.5 * min(one.log10_chance for one in alone)
    for found, truth in zip(together, TRUTHS, strict=True):
        assert found.pose is not None
        distance, degrees = found.pose.error_to(truth)
        assert distance < 0.05
        assert degrees < 0.5
        assert found.log10_chance < -4


def test_frames_that_say_too_little_alone_are_found_by_the_positions_of_all() -> None:
    asked = frames(2.0)
    alone = [localize(one.release, WORLD, dictionary=DICTIONARY) for one in asked]
    assert sum(one.localized for one in alone) < len(asked)
    together = localize_sequence(asked, WORLD, dictionary=DICTIONARY)
    assert together[0].log10_chance < 1.2 * min(one.log10_chance for one in alone)
    for found, truth in zip(together, TRUTHS, strict=True):
        assert found.pose is not None
        assert found.error is not None
        distance, degrees = found.pose.error_to(truth)
        assert distance < min(2 * found.error.position, 0.01)
        assert degrees < min(2 * found.error.rotation_deg, 0.1)


def test_positions_do_not_speak_for_a_motion_that_was_not() -> None:
    apart = [pose_at(0.4, 0, 0), pose_at(1.2, 0.4, -1, turn_deg=-30), TRUTHS[2]]
    alone = localize(frames(2.0)[2].release, WORLD, dictionary=DICTIONARY)
    for found in localize_sequence(frames(2.0, motion=apart), WORLD, dictionary=DICTIONARY):
        assert found.log10_chance > alone.log10_chance


def test_only_the_motion_between_frames_counts_and_may_be_a_little_off() -> None:
    error = OdometryError(0.02, 0.5)
    turn = math.radians(0.5)
    sine, cosine = math.sin(turn), math.cos(turn)
    wrong = Pose(
        np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]]), np.array([0.002, 0.0, 0.0])
    )
    drifted = [compose(TRUTHS[0], ELSEWHERE), compose(TRUTHS[1], ELSEWHERE)]
    drifted.append(compose(wrong, compose(TRUTHS[2], ELSEWHERE)))
    together = localize_sequence(
        frames(3.5, motion=drifted), WORLD, dictionary=DICTIONARY, odometry=error
    )
    for found, truth in zip(together, TRUTHS, strict=True):
        assert found.pose is not None
        assert found.pose.error_to(truth)[0] < 0.05  # the last frame is put right by what it sees


def test_frames_of_another_place_get_no_pose_but_the_reason() -> None:
    other = make_room(1500, seed=9)
    for found in localize_sequence(frames(3.0, room=other), WORLD, dictionary=DICTIONARY):
        assert found.pose is None
        assert "of 3 frames may be chance" in (found.reason or "")


def test_motion_that_contradicts_the_frames_gives_no_pose() -> None:
    apart = [pose_at(0.4, 0, 0), TRUTHS[1], pose_at(-3, 0.5, 0, turn_deg=40)]
    for found in localize_sequence(frames(4.0, motion=apart), WORLD, dictionary=DICTIONARY):
        assert found.pose is None
        assert "contradicts" in (found.reason or "")


def test_a_single_frame_is_a_sequence_too() -> None:
    (found,) = localize_sequence(frames(6.0)[:1], WORLD, dictionary=DICTIONARY)
    assert found.pose is not None
    assert found.pose.error_to(TRUTHS[0])[0] < 0.02


def test_one_release_given_twice_is_refused() -> None:
    once = frames(3.0)[0]
    again = Frame(once.release, TRUTHS[1])
    with pytest.raises(InvalidInput, match="one given twice is no new evidence"):
        localize_sequence([once, again], WORLD, dictionary=DICTIONARY)


def test_bad_sequences_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one release"):
        localize_sequence([], WORLD, dictionary=DICTIONARY)
    bare = SubsetMechanism(3.0, 1, DICTIONARY).release(
        ROOM.look(TRUTHS[0], seed=0)[0], rng=SeededRandom(0)
    )
    with pytest.raises(InvalidInput, match="intrinsics"):
        localize_sequence([Frame(bare, TRUTHS[0])], WORLD, dictionary=DICTIONARY)
    assert localize_sequence([Frame(bare, TRUTHS[0], CAMERA)], WORLD, dictionary=DICTIONARY)
    other = replace(WORLD, extractor="other", _indices={})
    with pytest.raises(Mismatch):
        localize_sequence(frames(3.0), other, dictionary=DICTIONARY)


@pytest.mark.parametrize("text", ["", "2", "2%", "2/0.5", "-2%/1deg", "200%/1deg", "2%/90deg"])
def test_an_error_of_odometry_without_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        OdometryError.parse(text)


def test_an_error_of_odometry_is_shown_as_it_is_typed() -> None:
    assert OdometryError.parse("2%/0.5deg") == OdometryError(0.02, 0.5)
    assert OdometryError.parse(str(OdometryError(0.015, 1.0))) == OdometryError(0.015, 1.0)
