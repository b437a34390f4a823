"""Run detectors so that whatever goes wrong with one is noticed, and nothing is released."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput, NotPrivate, SfumatoError
from sfumato.detectors.base import Boxes, Detector, check_boxes

#: Seconds. Long enough for a slow device, short enough for a person who waits.
TIMEOUT = 60.0


def check_timeout(seconds: float) -> float:
    value = as_number("timeout", seconds)
    if not 0 < value <= threading.TIMEOUT_MAX:
        raise InvalidInput(f"timeout must be a positive number of seconds, got {seconds!r}.")
    return value


def detect(
    detectors: Sequence[Detector], picture: NDArray[np.uint8], *, timeout: float = TIMEOUT
) -> tuple[Boxes, ...]:
    """What each detector sees in an RGB picture; all of them answer soundly, or none counts.

    A detector that raises, does not answer in time, or answers nonsense makes this raise
    NotPrivate: what it would have found is unknown, so nothing may be released.
    """
    check_timeout(timeout)
    for detector in detectors:
        if not (callable(detector) and isinstance(getattr(detector, "name", None), str)):
            raise InvalidInput(
                "a detector must have a name and be called with a picture, got "
                f"{type(detector).__name__} without one; make it a class with both."
            )
    return tuple(_detect_one(detector, picture, timeout) for detector in detectors)


def _detect_one(detector: Detector, picture: NDArray[np.uint8], timeout: float) -> Boxes:
    height, width = picture.shape[:2]
    answer: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(detector(picture.copy()))
        except BaseException as error:  # noqa: BLE001
            failure.append(error)  # also of one that tries to end the process

    # A thread that hangs cannot be ended; as a daemon it does not keep the process from ending.
    thread = threading.Thread(target=work, daemon=True, name=f"detector {detector.name}")
    thread.start()
    thread.join(timeout)
    if not answer and not failure:
        raise NotPrivate(
            f"the detector {detector.name!r} did not answer within {timeout:g} seconds, so nothing "
            "is released; allow it more time or leave it out."
        )
    if failure:
        error = failure[0]
        reason = str(error) if isinstance(error, SfumatoError) else f"{type(error).__name__}."
        raise NotPrivate(
            f"the detector {detector.name!r} failed, so nothing is released; "
            f"repair it or leave it out: {reason}"
        ) from error
    try:
        return check_boxes(answer[0], (width, height))
    except InvalidInput as error:
        raise NotPrivate(
            f"the detector {detector.name!r} answered nonsense, so nothing is released; "
            f"repair it or leave it out: {error}"
        ) from error
