"""Boxes: sound ones pass untouched, nonsense is refused, never repaired."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.detectors.base import Boxes, check_boxes, clip_boxes, drop_repeats, overlap

SIZE = (100, 80)


def boxes(*rows: list[float], score: float = 0.5) -> Boxes:
    return Boxes(np.array(rows, dtype=float), ("person",) * len(rows), np.full(len(rows), score))


def test_sound_boxes_pass_untouched() -> None:
    found = boxes([0, 0, 10, 10], [-0.5, -0.5, 99.5, 79.5])
    assert check_boxes(found, SIZE) is found
    assert len(check_boxes(boxes(), SIZE)) == 0


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([10, 0, 5, 10], "end before they begin"),
        ([10, 10, 10, 20], "end before they begin"),
        ([-20, 0, 5, 10], "outside the picture"),
        ([0, 0, 50, 300], "outside the picture"),
        ([500, 500, 600, 600], "outside the picture"),
        ([0, 0, 1e300, 1e300], "outside the picture"),
    ],
)
def test_nonsense_is_refused_and_not_repaired(row: list[float], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_boxes(boxes([0, 0, 10, 10], row), SIZE)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_boxes_that_are_no_numbers_cannot_be_made(bad: float) -> None:
    with pytest.raises(InvalidInput, match="finite"):
        boxes([0, 0, bad, 10])
    with pytest.raises(InvalidInput, match="finite"):
        boxes([0, 0, 10, 10], score=bad)
    with pytest.raises(InvalidInput, match="finite"):
        clip_boxes(np.array([[0, 0, bad, 10]]), ["a"], np.ones(1), (80, 100))


def test_shapes_scores_and_numbers_are_checked() -> None:
    with pytest.raises(InvalidInput, match="shape"):
        Boxes(np.zeros((2, 3)), ("a", "b"), np.ones(2))
    with pytest.raises(InvalidInput, match="as many classes"):
        Boxes(np.zeros((2, 4)), ("a",), np.ones(2))
    with pytest.raises(InvalidInput, match="score"):
        check_boxes(boxes([0, 0, 9, 9], score=1.5), SIZE)
    with pytest.raises(InvalidInput, match="10,000 boxes"):
        check_boxes(boxes(*[[0.0, 0, 9, 9]] * 10_001), SIZE)
    answers: list[Any] = [None, [[0, 0, 9, 9]], np.zeros((1, 4))]
    for answer in answers:
        with pytest.raises(InvalidInput, match="must answer with Boxes"):
            check_boxes(answer, SIZE)
    mask = np.zeros((7, 7), dtype=bool)
    with pytest.raises(InvalidInput, match="shape of the upright picture"):
        check_boxes(Boxes(np.zeros((0, 4)), (), np.zeros(0), mask), SIZE)


def test_boxes_are_cut_at_the_border_and_left_out_beyond() -> None:
    rows = np.array([[-5, -5, 10, 10], [90, 70, 120, 90], [200, 0, 220, 10]])
    found = clip_boxes(rows, ["a", "b", "c"], np.array([0.1, 0.2, 0.3]), (80, 100))
    assert found.classes == ("a", "b")
    assert found.corners.tolist() == [[-0.5, -0.5, 10, 10], [90, 70, 99.5, 79.5]]
    assert check_boxes(found, SIZE) is found


def test_overlap_is_intersection_over_union() -> None:
    a = np.array([[0, 0, 10, 10]])
    b = np.array([[0, 0, 10, 10], [5, 0, 15, 10], [20, 20, 30, 30]])
    assert overlap(a, b)[0].tolist() == pytest.approx([1, 1 / 3, 0])
    assert overlap(a, np.zeros((0, 4))).shape == (1, 0)


def test_the_better_of_two_boxes_around_one_thing_stays() -> None:
    rows = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [50, 50, 60, 60]])
    assert drop_repeats(rows, np.array([0.5, 0.9, 0.1]), max_overlap=0.5).tolist() == [1, 2]


def test_classes_can_be_chosen() -> None:
    found = Boxes(np.array([[0, 0, 1, 1], [2, 2, 3, 3]]), ("car", "person"), np.ones(2))
    assert found.of(["person"]).corners.tolist() == [[2, 2, 3, 3]]
    assert len(found.of(["dog"])) == 0
    assert repr(found) == "Boxes(2: car, person)"
