"""Detectors by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from sfumato.core.checks import check_choice
from sfumato.detectors.base import Detector


def _people() -> Detector:
    from sfumato.detectors.people import PeopleDetector

    return PeopleDetector()


def _faces() -> Detector:
    from sfumato.detectors.faces import FaceDetector

    return FaceDetector()


def _text() -> Detector:
    from sfumato.detectors.text import TextDetector

    return TextDetector()


#: What can be asked for by name; a missing package is an error that says how to install it.
DETECTORS: Mapping[str, Callable[[], Detector]] = MappingProxyType(
    {"person": _people, "face": _faces, "text": _text}
)


def find_detectors(names: Sequence[str]) -> tuple[Detector, ...]:
    """One detector for each name, ready to run."""
    for name in names:
        check_choice("detector", name, DETECTORS, otherwise="for other classes name a YOLO file")
    return tuple(DETECTORS[name]() for name in dict.fromkeys(names))


#: One and several of what our own detectors find; of somebody else's the plural is unknown.
_NOUNS = {
    "person": ("person", "people"),
    "face": ("face", "faces"),
    "text": ("text", "texts"),
    "given": ("given box", "given boxes"),
    "mask": ("masked part", "masked parts"),
}


def counted(count: int, name: str) -> str:
    """1 person, 6 people, 6 × car."""
    if name not in _NOUNS:
        return f"{count} × {name}"
    return f"{count} {_NOUNS[name][count != 1]}"
