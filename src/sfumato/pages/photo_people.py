"""Who is in a photograph, and who is found again in what is painted from it.

By the detectors that are installed; what is not installed is named, never replaced by less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.metrics import SAME_PLACE, match_boxes
from sfumato.core.errors import InvalidInput, Missing
from sfumato.detectors.base import Boxes, Detector, overlap
from sfumato.detectors.find import DETECTORS
from sfumato.detectors.people import PeopleDetector
from sfumato.detectors.run import detect
from sfumato.pages.photo_result import Again, People

Picture = NDArray[np.uint8]

#: dlib's network is trained so that two pictures of one person are nearer than this.
SAME_PERSON = 0.6
#: The people detector is asked where it is sure: here a wrong alarm would be a wrong verdict.
_SURE = 1.0


class Lookout:
    """Looks for people and faces in a photograph, and for the same ones in paintings of it.

    small  the photograph at the size of the paintings: who is not found there, too, cannot be lost
    """

    def __init__(self, photo: Picture, small: Picture) -> None:
        self.missing: list[str] = []
        self._detectors: dict[str, Detector] = {"person": PeopleDetector(min_rule=_SURE)}
        try:
            self._detectors["face"] = DETECTORS["face"]()
        except Missing as error:
            self.missing.append(f"Faces were not looked for: {error}")
        self.found = self._look(photo)
        scale = np.array([small.shape[1] / photo.shape[1], small.shape[0] / photo.shape[0]] * 2)
        in_small = self._look(small)
        #: Rows of those who are found in both, and where they are in the small one.
        self._visible: dict[str, Boxes] = {}
        rows = {}
        for name, boxes in self.found.items():
            corners = (boxes.corners + 0.5) * scale - 0.5
            both = overlap(corners, in_small[name].corners).max(axis=1, initial=0) >= SAME_PLACE
            rows[name] = np.flatnonzero(both)
            classes = (name,) * len(rows[name])
            self._visible[name] = Boxes(corners[both], classes, boxes.scores[both])
        self._network = self._open_network()
        faces = self.found["face"].corners[rows["face"]] if "face" in rows else ()
        self._faces = self._embed(photo, faces)

    def again(self, painting: NDArray[Any]) -> Again:
        """Who of the photograph is found in a painting of the same size, values in 0…1."""
        pixels = np.ascontiguousarray(np.rint(np.clip(painting, 0, 1) * 255), dtype=np.uint8)
        boxes = self._look(pixels)
        found = {name: match_boxes(real, boxes[name])[0] for name, real in self._visible.items()}
        if self._network is None:
            return Again(found)
        pairs = zip(self._faces, self._embed(pixels, self._visible["face"].corners), strict=True)
        near = [
            a is not None and b is not None and float(np.linalg.norm(a - b)) <= SAME_PERSON
            for a, b in pairs
        ]
        return Again(found, sum(near))

    def people(self, sent: NDArray[Any]) -> People:
        """The counts; `sent` are positions (N, 2) in the photograph that leave the device."""
        return People(
            found={name: len(boxes) for name, boxes in self.found.items()},
            visible={name: len(boxes) for name, boxes in self._visible.items()},
            described={name: _described(boxes, sent) for name, boxes in self.found.items()},
            missing=tuple(self.missing),
        )

    def _look(self, picture: Picture) -> Mapping[str, Boxes]:
        found = detect(tuple(self._detectors.values()), picture)
        return dict(zip(self._detectors, found, strict=True))

    def _open_network(self) -> Any:
        """dlib's network, told where the face is; None where no face is there to compare."""
        if not len(self._visible.get("face", ())):
            return None
        try:
            from sfumato.faces.dlib_network import DlibFaces

            return DlibFaces(cropped=True)
        except Missing as error:
            self.missing.append(
                f"Nobody checked whether a painted face is the same person: {error}"
            )
            return None

    def _embed(self, picture: Picture, boxes: Any) -> list[NDArray[np.float32] | None]:
        """What the network makes of the faces at these places of a picture."""
        return [] if self._network is None else [self._embed_one(picture, box) for box in boxes]

    def _embed_one(self, picture: Picture, box: NDArray[Any]) -> NDArray[np.float32] | None:
        left, top, right, bottom = np.rint(np.maximum(box, 0)).astype(int).tolist()
        try:
            face: NDArray[np.float32] = self._network.embed(
                np.ascontiguousarray(picture[top : bottom + 1, left : right + 1])
            )
        except InvalidInput:  # too few pixels to be anybody
            return None
        return face


def _described(boxes: Boxes, sent: NDArray[Any]) -> int:
    """How many of the boxes have a keypoint inside."""
    points = np.asarray(sent, dtype=np.float64).reshape(-1, 2)
    inside = [
        ((points >= box[:2]) & (points <= box[2:])).all(axis=1).any() for box in boxes.corners
    ]
    return int(sum(inside))
