"""Detectors that raise, hang or lie: nothing may be released, and one sentence says why."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, NotPrivate
from sfumato.detectors.base import Boxes
from sfumato.detectors.run import detect

PICTURE = np.zeros((80, 100, 3), dtype=np.uint8)


@dataclass
class Acting:
    """A detector that does what a test wants."""

    act: Callable[[NDArray[np.uint8]], Any]
    name: str = "acting"

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        answer: Boxes = self.act(picture)
        return answer


def one_box(*row: float) -> Boxes:
    return Boxes(np.array([row], dtype=float), ("person",), np.ones(1))


def test_all_detectors_answer_in_order() -> None:
    first, second = one_box(0, 0, 9, 9), one_box(5, 5, 20, 20)
    found = detect([Acting(lambda _: first), Acting(lambda _: second)], PICTURE)
    assert found == (first, second)
    assert detect([], PICTURE) == ()


def test_a_detector_that_raises_stops_everything() -> None:
    def fail(_: Any) -> Any:
        raise ValueError("at 17, 23 there is a face")

    with pytest.raises(NotPrivate, match="'acting' failed, so nothing is released") as refused:
        detect([Acting(fail)], PICTURE)
    assert "17" not in str(refused.value)  # foreign messages may hold what must not be shown
    assert isinstance(refused.value.__cause__, ValueError)


def test_a_detector_that_ends_the_process_is_stopped_too() -> None:
    def leave(_: Any) -> Any:
        raise SystemExit(0)

    with pytest.raises(NotPrivate, match="failed"):
        detect([Acting(leave)], PICTURE)


@pytest.mark.parametrize("detector", [lambda _: None, 5, "face", None])
def test_what_has_no_name_or_cannot_be_called_is_no_detector(detector: Any) -> None:
    with pytest.raises(InvalidInput, match="must have a name and be called with a picture"):
        detect([detector], PICTURE)


def test_our_own_sentences_are_passed_on() -> None:
    def refuse(_: Any) -> Any:
        raise InvalidInput("the network is damaged; restore it.")

    with pytest.raises(NotPrivate, match=r"leave it out: the network is damaged; restore it\."):
        detect([Acting(refuse)], PICTURE)


def test_a_detector_that_hangs_is_left_behind() -> None:
    release = threading.Event()

    def hang(_: Any) -> Any:
        release.wait()

    with pytest.raises(NotPrivate, match=r"did not answer within 0\.2 seconds"):
        detect([Acting(hang)], PICTURE, timeout=0.2)
    release.set()


def test_a_detector_that_hangs_does_not_keep_the_process_alive() -> None:
    code = """
import numpy as np, threading
from sfumato.core.errors import NotPrivate
from sfumato.detectors.run import detect
class Hangs:
    name = "hangs"
    def __call__(self, picture):
        threading.Event().wait()
try:
    detect([Hangs()], np.zeros((8, 8, 3), np.uint8), timeout=0.2)
except NotPrivate as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert "did not answer" in done.stdout


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "boxes",
        one_box(-50, 0, 9, 9),
        one_box(0, 0, 500, 9),
        one_box(9, 9, 0, 0),
    ],
)
def test_a_detector_that_answers_nonsense_stops_everything(answer: Any) -> None:
    with pytest.raises(NotPrivate, match="answered nonsense, so nothing is released"):
        detect([Acting(lambda _: one_box(0, 0, 9, 9)), Acting(lambda _: answer)], PICTURE)


def test_a_detector_cannot_change_the_picture() -> None:
    picture = np.full((80, 100, 3), 7, dtype=np.uint8)

    def paint(mine: NDArray[np.uint8]) -> Any:
        mine[:] = 255
        return one_box(0, 0, 9, 9)

    detect([Acting(paint)], picture)
    assert (picture == 7).all()


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "1", True])
def test_the_timeout_must_be_a_time(seconds: Any) -> None:
    with pytest.raises(InvalidInput, match="timeout"):
        detect([], PICTURE, timeout=seconds)
