"""Text, by PaddleOCR's detector: a network that answers for every pixel whether it is text.

The file is the detection network of the package rapidocr (Apache-2.0). It is trained to answer
with shrunken regions, so that neighbouring lines stay apart; each is grown again here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.onnx_file import OnnxFile
from sfumato.detectors.base import MAX_BOXES, Boxes, clip_boxes, file_of_package, to_picture

_SHORTEST, _LONGEST, _STEP = 736, 2016, 32  # pixels of the picture the network sees
_TEXT = 0.3  # a pixel is text
_GROW = 1.6  # by area·1.6/perimeter, what the network was trained to shrink by
_SMALLEST = 3  # pixels


class TextDetector:
    """Lines of printed or written text."""

    name = "text"
    known_classes = ("text",)

    def __init__(
        self, path: str | Path | None = None, *, min_score: float = 0.5, threads: int | None = None
    ) -> None:
        self._min_score = min_score
        file = file_of_package("text", "rapidocr", "models/*det*.onnx") if path is None else path
        self._network = OnnxFile(file, threads=threads, what="a network for text")
        if len(self._network.inputs) != 1 or len(self._network.outputs) != 1:
            raise InvalidInput(
                f"{file} must take one picture and answer with one map of text, it has "
                f"{len(self._network.inputs)} inputs and {len(self._network.outputs)} outputs."
            )

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        import cv2

        height, width = picture.shape[:2]
        size = _seen_size(width, height)
        blue_first = cv2.cvtColor(cv2.resize(picture, size), cv2.COLOR_RGB2BGR)
        pixels = (blue_first.transpose(2, 0, 1)[None] / np.float32(127.5) - 1).astype(np.float32)
        answer = self._network.run({self._network.inputs[0].name: pixels})[0]
        if answer.shape != (1, 1, size[1], size[0]) or not np.isfinite(answer).all():
            raise InvalidInput(
                f"the network for text must answer with a finite map (1, 1, {size[1]}, {size[0]}), "
                f"got {answer.shape}; restore its file."
            )
        corners, scores = _lines(answer[0, 0].astype(np.float32), self._min_score)
        corners = to_picture(corners + 0.5, size, picture.shape)
        return clip_boxes(corners, ["text"] * len(corners), scores, picture.shape)


def _seen_size(width: int, height: int) -> tuple[int, int]:
    """Small pictures are enlarged, large ones reduced; sides become multiples of the step."""
    scale = max(1.0, _SHORTEST / min(width, height))
    scale = min(scale, _LONGEST / max(width, height))
    across, down = (max(round(side * scale / _STEP), 1) * _STEP for side in (width, height))
    return across, down


def _lines(
    sure: NDArray[np.float32], min_score: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Upright boxes around the regions of text, in pixels of the map, and how sure each is."""
    import cv2

    text = cv2.dilate((sure > _TEXT).astype(np.uint8), np.ones((2, 2), np.uint8))
    outlines: Any = cv2.findContours(text, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)[0]
    if len(outlines) > MAX_BOXES:
        raise InvalidInput(f"the network for text sees {len(outlines):,} lines; restore its file.")
    corners, scores = [], []
    for outline in outlines:
        center, sides, turn = cv2.minAreaRect(outline)
        if min(sides) < _SMALLEST:
            continue
        score = _mean_inside(sure, outline)
        if score < min_score:
            continue
        grow = sides[0] * sides[1] * _GROW / (2 * (sides[0] + sides[1]))
        points = cv2.boxPoints((center, (sides[0] + 2 * grow, sides[1] + 2 * grow), turn))
        corners.append([*points.min(axis=0), *points.max(axis=0)])
        scores.append(min(score, 1.0))
    return np.array(corners, dtype=np.float64).reshape(-1, 4), np.array(scores, dtype=np.float64)


def _mean_inside(sure: NDArray[np.float32], outline: Any) -> float:
    import cv2

    left, top, width, height = cv2.boundingRect(outline)
    inside = np.zeros((height, width), dtype=np.uint8)
    cv2.drawContours(inside, [outline - np.array([left, top])], -1, 1, thickness=-1)
    return float(sure[top : top + height, left : left + width][inside > 0].mean())
