"""People, by the detector that comes with OpenCV: gradients in a window, and a linear rule.

It knows upright people seen whole, from about 100 pixels of height. It misses those who sit, are
cut off or half hidden. What it misses is released like everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.detectors.base import Boxes, clip_boxes, drop_repeats, to_picture

_WINDOW = (64, 128)  # pixels
_STRIDE, _PADDING, _STEP = (8, 8), (16, 16), 1.05
_LONGEST = 1600  # pixels searched along the longer side: time grows with the square
_SAME = 0.45  # overlap of two boxes around one person
#: The window was trained with a border around the person; shares of its width and height.
_BORDER = np.array([0.2, 0.1])


@dataclass(frozen=True)
class PeopleDetector:
    """OpenCV's histogram of oriented gradients, after Dalal and Triggs.

    enlarge   how much a picture is enlarged first, to find people smaller than the window
    min_rule  the least answer of the linear rule; a lower one finds more, also more that is wrong
    """

    enlarge: float = 1.5
    min_rule: float = 0.0
    name: str = "person"
    known_classes: tuple[str, ...] = ("person",)

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        import cv2 as opencv

        cv2: Any = opencv  # its stubs leave out the people detector
        height, width = picture.shape[:2]
        scale = min(self.enlarge, _LONGEST / max(width, height))
        size = (
            max(round(width * scale), _WINDOW[0]),
            max(round(height * scale), _WINDOW[1]),
        )
        gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        hog = cv2.HOGDescriptor()
        hog.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())
        windows, answers = hog.detectMultiScale(
            cv2.resize(gray, size, interpolation=cv2.INTER_LINEAR),
            hitThreshold=self.min_rule,
            winStride=_STRIDE,
            padding=_PADDING,
            scale=_STEP,
            groupThreshold=0,
        )
        if not len(windows):
            return Boxes(np.zeros((0, 4)), (), np.zeros(0))
        windows = np.asarray(windows, dtype=np.float64)
        border = _BORDER * windows[:, 2:]
        far = windows[:, :2] + windows[:, 2:] - border
        corners = to_picture(np.hstack([windows[:, :2] + border, far]), size, picture.shape)
        scores = 1 / (1 + np.exp(-np.asarray(answers, dtype=np.float64).ravel()))
        rows = drop_repeats(corners, scores, max_overlap=_SAME)
        return clip_boxes(corners[rows], ["person"] * len(rows), scores[rows], picture.shape)
