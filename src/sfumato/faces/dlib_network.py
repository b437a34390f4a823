"""dlib's face detector, landmarks and 128-D identity network: the one door to dlib.

The weights come with the package face_recognition_models and are found by path; the package itself
is never imported. Faces are found by the HOG detector, straightened by five landmarks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.extras import file_in_package, need
from sfumato.faces.alignment import Sizing, check_picture, enlarge

DIMENSION = 128
SEVERAL = ("refuse", "largest", "surest", "central")
#: What is done where no face is found.
UNFOUND = ("refuse", "search", "centre")

_WEIGHTS = "dlib_face_recognition_resnet_model_v1.dat"
_LANDMARKS = "shape_predictor_5_face_landmarks.dat"
_CHIP, _MARGIN = 150, 0.25  # what the network was trained on
_CENTRE = 0.45  # of the shorter side: how large a face in the middle is taken to be
_DOUBT = -0.5  # a score that is enough where nothing better is found


@dataclass(frozen=True, eq=False)
class Face:
    """A face: the picture as it was searched, and where the face is in it."""

    image: NDArray[np.uint8]
    landmarks: Any

    @property
    def eyes(self) -> NDArray[np.float64]:
        """(2, 2) the centres of the eyes, left of the picture first."""
        corners = [self.landmarks.part(i) for i in range(4)]
        points = np.array([[corner.x, corner.y] for corner in corners], dtype=np.float64)
        pairs = points.reshape(2, 2, 2).mean(axis=1)
        return np.asarray(pairs[np.argsort(pairs[:, 0])])


class DlibFinder:
    """Finds the one face of a picture.

    cropped  the whole picture is the face: nothing is looked for
    several  what to do with more than one face: refuse, take the largest, the one nearest to the
             middle of the picture (central: bystanders stand at the side), or the one the
             detector is surest of (often a bystander who looks straight into the camera)
    unfound  what to do where no face is found: refuse; search again for smaller and less certain
             ones; or, if that fails too, take the middle of the picture for the face (centre)
    """

    def __init__(
        self,
        *,
        cropped: bool = False,
        several: str = "refuse",
        unfound: str = "refuse",
        sizing: Sizing | None = None,
    ) -> None:
        check_choice("several", several, SEVERAL)
        check_choice("unfound", unfound, UNFOUND)
        self._dlib, models = _open()
        self.cropped, self.several, self.unfound = cropped, several, unfound
        self.sizing = sizing or (Sizing(border=0.0) if cropped else Sizing())
        self._detector = self._dlib.get_frontal_face_detector()
        self._landmarks = _load(self._dlib.shape_predictor, models / _LANDMARKS)

    def find(self, picture: NDArray[Any]) -> Face:
        image = enlarge(check_picture(picture), self.sizing)
        return Face(image, self._landmarks(image, self._box(image)))

    def _box(self, image: NDArray[np.uint8]) -> Any:
        height, width = image.shape[:2]
        if self.cropped:
            return self._dlib.rectangle(0, 0, width - 1, height - 1)
        boxes, scores = self._search(image)
        if not boxes:
            if self.unfound == "centre":
                return self._dlib.rectangle(*centre_box(width, height, self.sizing.border))
            raise InvalidInput(
                "a picture must show a face, none was found; take a sharper or larger one, or say "
                "that it is cropped to the face."
            )
        if len(boxes) > 1 and self.several == "refuse":
            raise InvalidInput(
                f"a picture must show one face, {len(boxes)} were found; crop it to the one that "
                "is meant, or take the largest, the central or the surest."
            )
        corners = [(box.left(), box.top(), box.right(), box.bottom()) for box in boxes]
        return boxes[choose_face(corners, scores, (width, height), self.several)]

    def _search(self, image: NDArray[np.uint8]) -> tuple[Any, Any]:
        """Boxes and scores; again at twice the size and with less certainty where asked for."""
        tries = [(0, 0.0)] + ([(1, 0.0), (1, _DOUBT)] if self.unfound != "refuse" else [])
        for enlarged, least in tries:
            boxes, scores, _ = self._detector.run(image, enlarged, least)
            if boxes:
                break
        return boxes, scores


Box = tuple[int, int, int, int]


def choose_face(
    boxes: Sequence[Box], scores: Sequence[float], size: tuple[int, int], several: str
) -> int:
    """Which of several boxes (left, top, right, bottom) is the face that is meant.

    >>> boxes = [(0, 0, 30, 30), (40, 40, 60, 60)]
    >>> [choose_face(boxes, [2.0, 1.0], (100, 100), way) for way in SEVERAL[1:]]
    [0, 0, 1]
    """
    if several == "surest":
        return int(np.argmax(scores))
    edges = np.array(boxes, dtype=np.float64)
    if several == "central":
        middles = (edges[:, :2] + edges[:, 2:]) / 2
        return int(np.argmin(np.linalg.norm(middles - np.array(size) / 2, axis=1)))
    return int(np.argmax((edges[:, 2] - edges[:, 0]) * (edges[:, 3] - edges[:, 1])))


def centre_box(width: int, height: int, border: float) -> Box:
    """A square in the middle, as large as a face in a portrait; `border` was added around it."""
    side = round(_CENTRE * min(width, height) / (1 + 2 * border))
    left, top = (width - side) // 2, (height - side) // 2
    return left, top, left + side - 1, top + side - 1


class DlibFaces:
    """dlib's identity network: 128 numbers, apart by about .6 between two people.

    jitters   embeddings of so many slightly changed copies are averaged; 0 takes the face once
    mirrored  averages the face and its mirror image: two pictures of one person come closer
    """

    name = "dlib"
    dimension = DIMENSION

    def __init__(
        self,
        *,
        cropped: bool = False,
        several: str = "refuse",
        unfound: str = "refuse",
        jitters: int = 0,
        mirrored: bool = False,
        sizing: Sizing | None = None,
    ) -> None:
        self.jitters = check_count("jitters", jitters, low=0, high=1000)
        self.mirrored = mirrored
        self.finder = DlibFinder(cropped=cropped, several=several, unfound=unfound, sizing=sizing)
        self._dlib, models = _open()
        self._network = _load(self._dlib.face_recognition_model_v1, models / _WEIGHTS)

    def embed(self, picture: NDArray[Any]) -> NDArray[np.float32]:
        """(128,) for the face of a picture (H, W), (H, W, 3)."""
        return self._embed(self.finder.find(picture))

    def embed_at(self, picture: NDArray[Any], known: Face) -> NDArray[np.float32]:
        """The same of a face whose place is known: from another picture of the same size."""
        image = enlarge(check_picture(picture), self.finder.sizing)
        if image.shape != known.image.shape:
            raise Mismatch(
                f"a face at a known place needs pictures of one size, got {image.shape[:2]} and "
                f"{known.image.shape[:2]} after enlarging."
            )
        return self._embed(Face(image, known.landmarks))

    def _embed(self, face: Face) -> NDArray[np.float32]:
        chip = self._dlib.get_face_chip(face.image, face.landmarks, _CHIP, _MARGIN)
        views = [chip, np.ascontiguousarray(chip[:, ::-1])] if self.mirrored else [chip]
        found = [self._network.compute_face_descriptor(view, self.jitters) for view in views]
        return np.asarray(np.mean(found, axis=0), dtype=np.float32)


def _open() -> tuple[Any, Path]:
    """dlib, and the folder of its weights."""
    need("faces", "dlib's network", "dlib", "face_recognition_models")
    import dlib

    package = "face_recognition_models"
    otherwise = f"{package} has no {_WEIGHTS}; install it again."
    return dlib, file_in_package(package, f"models/{_WEIGHTS}", otherwise).parent


def _load(make: Any, path: Path) -> Any:
    try:
        return make(str(path))
    except RuntimeError:
        raise DamagedFile(
            f"{path.name} of face_recognition_models is damaged or missing; run scripts/setup "
            "faces."
        ) from None
