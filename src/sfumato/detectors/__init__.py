"""Where in a picture people, faces, text or other things are: what should not be described."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.detectors.base import Boxes, Detector, check_boxes
    from sfumato.detectors.find import DETECTORS, find_detectors
    from sfumato.detectors.given import GivenBoxes, GivenMask
    from sfumato.detectors.run import detect
    from sfumato.detectors.yolo import YoloFile

__all__ = [
    "DETECTORS",
    "Boxes",
    "Detector",
    "GivenBoxes",
    "GivenMask",
    "YoloFile",
    "check_boxes",
    "detect",
    "find_detectors",
]

_HOMES = {
    "base": ("Boxes", "Detector", "check_boxes"),
    "find": ("DETECTORS", "find_detectors"),
    "given": ("GivenBoxes", "GivenMask"),
    "run": ("detect",),
    "yolo": ("YoloFile",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
