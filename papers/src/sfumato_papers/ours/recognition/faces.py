"""Ours: is a painted face the same person as in another photograph? By dlib's network.

The last photograph of each person is known to the attacker, the first ones are sent. A painted
face is cut out where the *true* picture has its eyes and nose, which favours the attacker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.datasets.faces import open_faces
from sfumato.faces.dlib_network import DlibFaces, Face
from sfumato.features import load_image
from sfumato_papers.harness.work import tracked
from sfumato_papers.ldp_feat.inversion.releases import Picture
from sfumato_papers.ours.recognition.outcomes import Measures

#: Digits of a distance that are kept.
_DIGITS = 4


@dataclass(frozen=True, eq=False)
class Portrait(Picture):
    """A photograph of one person, enlarged as it is before it is sent."""

    person: str


@dataclass(eq=False)
class FaceJudge:
    """Compares faces with those of everybody whose photograph is known.

    people   who they are, in the order of `known`, their embeddings (P, 128)
    references  names of these photographs, and what they look like
    """

    people: tuple[str, ...]
    known: NDArray[np.float32]
    references: str
    _dlib: DlibFaces | None = None
    _last: tuple[str, Face] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_dlib": None, "_last": None}  # a worker opens its own

    def judge(self, picture: Picture, made: NDArray[np.uint8]) -> Measures:
        """How far the face of a painting is from everybody's."""
        if self._dlib is None:
            self._dlib = open_dlib()
        if self._last is None or self._last[0] != picture.name:
            self._last = picture.name, self._dlib.finder.find(picture.pixels)
        vector = self._dlib.embed_at(made, self._last[1])
        distances = np.linalg.norm(self.known - vector, axis=1)
        return Measures(distances=tuple(round(float(one), _DIGITS) for one in distances))


def open_dlib() -> DlibFaces:
    return DlibFaces(several="largest", unfound="search")


def read_portraits(folder: Path, per_person: int, scale: int) -> tuple[FaceJudge, list[Portrait]]:
    """Photographs to send, the first of everybody before the second of anybody; and the judge.

    People without a face that dlib finds in their last photograph are left out.
    """
    faces, network = open_faces(folder), open_dlib()
    if not faces.identities:
        raise InvalidInput(f"{folder} does not say who is on its pictures; give folders of people.")
    by_person: dict[str, list[str]] = {}
    for person, name in zip(faces.identities, faces.pictures, strict=True):
        by_person.setdefault(person, []).append(name)
    enough = {who: names for who, names in by_person.items() if len(names) > per_person}
    if len(enough) < 2:
        raise InvalidInput(
            f"{folder} must show at least two people in {per_person + 1} photographs each; ask "
            "for fewer with --per-person."
        )
    people, known, portraits, references = [], [], [], []
    for who, names in tracked(list(enough.items()), "reading faces"):
        found = [*_usable([names[-1], *names[:per_person]], faces.root, scale, network)]
        if not found or found[0][0] != names[-1]:
            continue
        people.append(who)
        known.append(found[0][2])
        references.append(f"{names[-1]} {hashlib.sha256(found[0][1].tobytes()).hexdigest()}")
        portraits += [
            (names.index(name), Portrait(name, pixels, who)) for name, pixels, _ in found[1:]
        ]
    order = [portrait for _, portrait in sorted(portraits, key=lambda one: one[0])]
    vectors = np.array(known, dtype=np.float32)
    return FaceJudge(tuple(people), vectors, "\n".join(references)), order


def _usable(
    names: list[str], root: Path, scale: int, network: DlibFaces
) -> Iterator[tuple[str, NDArray[np.uint8], NDArray[np.float32]]]:
    """Pictures in which a face is found: name, pixels, embedding."""
    import cv2

    for name in names:
        try:
            picture = load_image(root / name)
            size = (picture.shape[1] * scale, picture.shape[0] * scale)
            larger = cv2.resize(picture, size, interpolation=cv2.INTER_CUBIC)
            pixels = np.ascontiguousarray(larger, dtype=np.uint8)
            yield name, pixels, network.embed(pixels)
        except (UnreadableImage, InvalidInput):
            continue
