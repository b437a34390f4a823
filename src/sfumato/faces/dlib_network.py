"""dlib's face detector, landmarks and 128-D identity network: the one door to dlib.

The weights come with the package face_recognition_models and are found by path; the package itself
is never imported. Faces are found by the HOG detector, straightened by five landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.extras import file_in_package, need
from sfumato.faces.alignment import Sizing, check_picture, enlarge

DIMENSION = 128
SEVERAL = ("refuse", "largest", "surest")

_WEIGHTS = "dlib_face_recognition_resnet_model_v1.dat"
_LANDMARKS = "shape_predictor_5_face_landmarks.dat"
_CHIP, _MARGIN = 150, 0.25  # what the network was trained on


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
    several  what to do with more than one face: refuse, take the largest, or the one the detector
             is surest of (it takes other things for faces now and then)
    """

    def __init__(
        self, *, cropped: bool = False, several: str = "refuse", sizing: Sizing | None = None
    ) -> None:
        check_choice("several", several, SEVERAL)
        self._dlib, models = _open()
        self.cropped, self.several = cropped, several
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
        boxes, scores, _ = self._detector.run(image, 0, 0.0)
        if not boxes:
            raise InvalidInput(
                "a picture must show a face, none was found; take a sharper or larger one, or say "
                "that it is cropped to the face."
            )
        if len(boxes) > 1 and self.several == "refuse":
            raise InvalidInput(
                f"a picture must show one face, {len(boxes)} were found; crop it to the one that "
                "is meant, or take the largest or the surest."
            )
        sizes = scores if self.several == "surest" else [box.area() for box in boxes]
        return boxes[int(np.argmax(sizes))]


class DlibFaces:
    """dlib's identity network: 128 numbers, apart by about .6 between two people.

    jitters  embeddings of so many slightly changed copies are averaged; 0 takes the face once
    """

    name = "dlib"
    dimension = DIMENSION

    def __init__(
        self,
        *,
        cropped: bool = False,
        several: str = "refuse",
        jitters: int = 0,
        sizing: Sizing | None = None,
    ) -> None:
        self.jitters = check_count("jitters", jitters, low=0, high=1000)
        self.finder = DlibFinder(cropped=cropped, several=several, sizing=sizing)
        self._dlib, models = _open()
        self._network = _load(self._dlib.face_recognition_model_v1, models / _WEIGHTS)

    def embed(self, picture: NDArray[Any]) -> NDArray[np.float32]:
        """(128,) for the face of a picture (H, W), (H, W, 3)."""
        face = self.finder.find(picture)
        chip = self._dlib.get_face_chip(face.image, face.landmarks, _CHIP, _MARGIN)
        answer = self._network.compute_face_descriptor(chip, self.jitters)
        return np.array(answer, dtype=np.float32)


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
