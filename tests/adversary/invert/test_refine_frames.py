"""Sizes and angles found by painting: what agrees with the painting is kept."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import Encoded, scale_descriptors, with_frames
from sfumato.adversary.invert.refine_frames import ROUNDS, Search, describe, refine_frames
from sfumato.core.types import Features
from sfumato.features import extract
from support import photograph


def square() -> NDArray[np.uint8]:
    return np.ascontiguousarray(photograph()[:192, 96:288])


def as_painted() -> NDArray[np.float32]:
    """A painting that shows the picture itself."""
    return np.asarray(square(), np.float32) / np.float32(255)


def rows_of(features: Features) -> Encoded:
    rows = scale_descriptors(features.descriptors, "sift")
    return Encoded(rows, features.keypoints, features.image_size)


def wrong_angles(made: Encoded, features: Features) -> NDArray[Any]:
    assert made.angles is not None
    return np.asarray(np.abs((made.angles - features.angles + 180) % 360 - 180))


def test_a_description_at_the_true_frame_is_the_descriptor() -> None:
    photo = square()
    features = extract(photo, max_keypoints=200)
    grey = np.asarray(cv2.cvtColor(photo, cv2.COLOR_RGB2GRAY), np.uint8)
    shown = describe(grey, features.keypoints, features.scales, features.angles)
    sent = describe(grey, features.keypoints, 2 * features.scales, features.angles)
    own = rows_of(features).rows
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    assert np.median((shown * own).sum(axis=1)) > 0.98
    assert np.median((shown * own).sum(axis=1) - (sent * own).sum(axis=1)) > 0.05


def test_frames_are_found_in_a_painting_that_shows_the_picture() -> None:
    features = extract(square(), max_keypoints=150)
    bare = rows_of(features)
    guess = with_frames(bare, np.full(len(bare), 3.0), (features.angles + 140) % 360, certainty=0.5)
    made = refine_frames(guess, lambda _seen: as_painted())
    assert made.scales is not None
    assert np.median(wrong_angles(made, features)) < 6
    octaves = np.abs(np.log2(made.scales / features.scales))
    assert np.median(octaves) < 0.15
    # Rows, places and certainty are kept; only frames are new.
    assert np.array_equal(made.rows[:, :128], guess.rows[:, :128])
    assert np.hypot(*made.rows[:, -2:].T) == pytest.approx(0.5, abs=1e-5)


def test_a_blank_painting_tells_nothing_and_breaks_nothing() -> None:
    features = extract(square(), max_keypoints=20)
    bare = rows_of(features)
    guess = with_frames(bare, features.scales, features.angles)
    made = refine_frames(guess, lambda _seen: np.full((192, 192, 3), 0.5, np.float32))
    assert np.isfinite(made.rows).all()
    assert len(made) == len(guess)


def test_many_keypoints_are_tried_in_blocks_with_the_same_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = extract(square(), max_keypoints=70)
    guess = with_frames(rows_of(features), np.full(70, 3.0), np.zeros(70))
    rounds = (Search((0, 1), (0, 90, 180, 270)),)
    whole = refine_frames(guess, lambda _seen: as_painted(), rounds)
    monkeypatch.setattr("sfumato.adversary.invert.refine_frames._BLOCK", 32)
    parts = refine_frames(guess, lambda _seen: as_painted(), rounds)
    assert np.array_equal(whole.rows, parts.rows)


def test_every_round_paints_what_the_one_before_found() -> None:
    features = extract(square(), max_keypoints=10)
    seen: list[Encoded] = []

    def paint(rows: Encoded) -> NDArray[np.float32]:
        seen.append(rows)
        return as_painted()

    made = refine_frames(with_frames(rows_of(features), np.full(10, 3.0), np.zeros(10)), paint)
    assert len(seen) == len(ROUNDS)
    assert not np.array_equal(seen[0].rows, seen[1].rows)
    assert made is not seen[-1]
