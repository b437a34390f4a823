"""Any detector of the YOLO family, from an ONNX file of the user's.

Two layouts of the answer are understood, distinguished by its shape and checked against the size of
the input. s counts the cells of all strides, (side/8)² + (side/16)² + (side/32)² and so on:
  v5       (1, 3·s, 5 + C): centre, size, whether anything is there, C classes; three boxes a cell
  v8, v11  (1, 4 + C, s):   centre, size, C classes; one box a cell
Others look alike and mean something else; taken for one of these they would hide the wrong place.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.onnx_file import OnnxFile
from sfumato.detectors.base import Boxes, clip_boxes, drop_repeats
from sfumato.detectors.coco import COCO

_SIDE = 640  # where the file leaves the size open
_STRIDES = ((8, 16, 32), (8, 16, 32, 64))
_GRAY = 114  # around a picture that is not as square as the network's input
_SAME = 0.45
_KINDS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
_KNOWN = "only the layouts of YOLOv5 and of YOLOv8 and v11 detection are read"


class YoloFile:
    """A YOLO file as a detector; classes limits it, by default everything it finds counts."""

    def __init__(
        self,
        path: str | Path,
        *,
        classes: Sequence[str] | None = None,
        min_score: float = 0.25,
        threads: int | None = None,
    ) -> None:
        self._file = OnnxFile(path, threads=threads, what="a YOLO detector")
        self.name = Path(path).name
        self._min_score = min_score
        self._input, self._side = _check_input(self._file)
        self._names = _names(self._file.metadata.get("names", ""))
        if len(self._file.outputs) != 1:
            raise InvalidInput(_refusal(self.name, [port.shape for port in self._file.outputs]))
        known = self.known_classes = self._names or COCO
        for name in classes or ():
            if name not in known:
                raise InvalidInput(
                    f"{self.name} knows no class {name!r}; it knows {', '.join(known)}."
                )
        self.classes = None if classes is None else tuple(classes)

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        pixels, scale, shift = _letterbox(picture, self._side)
        kind = _KINDS[self._input.dtype]
        answer = self._file.run({self._input.name: pixels.astype(kind)})[0]
        boxes, scores = read_answer(
            np.asarray(answer, dtype=np.float64), self._side, len(self._names), name=self.name
        )
        best = scores.argmax(axis=1)
        sure = scores[np.arange(len(scores)), best]
        rows = np.flatnonzero(sure >= self._min_score)
        boxes, best, sure = boxes[rows], best[rows], sure[rows]
        corners = np.hstack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2])
        corners = (corners - np.tile(shift, 2)) / scale - 0.5
        labels = self._names or (
            COCO if scores.shape[1] == len(COCO) else [f"class {i}" for i in range(scores.shape[1])]
        )
        if self.classes is not None and not set(self.classes) <= set(labels):
            raise InvalidInput(
                f"{self.name} does not name its {len(labels)} classes, so {self.classes} cannot be "
                "found among them; give no classes to hide everything it finds."
            )
        kept = [
            members[drop_repeats(corners[members], sure[members], max_overlap=_SAME)]
            for members in (np.flatnonzero(best == number) for number in np.unique(best))
        ]
        chosen = np.concatenate([*kept, np.zeros(0, dtype=np.int64)])
        chosen_boxes = clip_boxes(
            corners[chosen], [labels[best[i]] for i in chosen], sure[chosen], picture.shape
        )
        return chosen_boxes if self.classes is None else chosen_boxes.of(self.classes)


def read_answer(
    answer: NDArray[np.float64], side: tuple[int, int], num_names: int, *, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Boxes (N, 4) as centre and size in pixels of the input, scores (N, C); or a refusal."""
    if answer.ndim != 3 or answer.shape[0] != 1:
        raise InvalidInput(_refusal(name, [answer.shape]))
    _, first, last = answer.shape
    cells = {
        sum((side[0] // stride) * (side[1] // stride) for stride in strides) for strides in _STRIDES
    }
    if last in cells and first > 4 and num_names in (0, first - 4):
        rows = answer[0].T
        boxes, scores = rows[:, :4], rows[:, 4:]
    elif first in {3 * count for count in cells} and last > 5 and num_names in (0, last - 5):
        boxes, scores = answer[0, :, :4], answer[0, :, 5:] * answer[0, :, 4:5]
    else:
        raise InvalidInput(_refusal(name, [answer.shape], cells))
    if not np.isfinite(answer).all() or scores.min() < -1e-3 or scores.max() > 1 + 1e-3:
        raise InvalidInput(
            f"{name} answered scores outside 0 … 1 or NaN: it is another kind of network "
            f"(poses, rotated boxes) or damaged; {_KNOWN}."
        )
    return boxes, np.clip(scores, 0, 1)


def _refusal(name: str, shapes: Sequence[tuple[Any, ...]], cells: set[int] | None = None) -> str:
    """One sentence that names the layout, as far as its shape tells."""
    first, *more = shapes or [()]
    if any(len(shape) == 5 for shape in shapes):
        kind = "the undecoded heads of YOLOv3 to v7"
    elif len(shapes) == 2 and len(more[0]) == 4:
        kind = "YOLO segmentation"
    elif len(shapes) > 1:
        kind = f"a network with {len(shapes)} outputs, such as SSD or DETR"
    elif len(first) == 3 and first[2] == 6:
        kind = "boxes that are sorted out already, as YOLOv10 and exports with nms give"
    elif len(first) == 3 and cells and first[1] in cells:
        kind = "YOLOX or YOLOv6"
    else:
        kind = "no layout of the family, or one for poses or rotated boxes"
    shown = ", ".join(str(shape).replace("None", "any") for shape in shapes)
    return f"{name} answers with {shown}, which is {kind}; {_KNOWN}."


def _check_input(file: OnnxFile) -> tuple[Any, tuple[int, int]]:
    """The one input, (1, 3, height, width), and the (width, height) to feed it."""
    port = file.inputs[0] if len(file.inputs) == 1 else None
    if port is None or len(port.shape) != 4 or port.shape[1] not in (3, None):
        raise InvalidInput(
            f"{file.path.name} must take one picture (1, 3, height, width), as YOLO does."
        )
    if port.dtype not in _KINDS or port.shape[0] not in (1, None):
        raise InvalidInput(
            f"{file.path.name} must take one picture of floats, it takes {port.dtype} {port.shape}."
        )
    height, width = (length or _SIDE for length in port.shape[2:])
    if width % 32 or height % 32 or not 32 <= max(width, height) <= 4096:
        raise InvalidInput(
            f"{file.path.name} takes pictures of {width}×{height}; YOLO takes multiples of 32."
        )
    return port, (width, height)


def _letterbox(
    picture: NDArray[np.uint8], side: tuple[int, int]
) -> tuple[NDArray[np.float32], float, NDArray[np.float64]]:
    """The picture in the middle of a gray one of the network's size: pixels, scale and shift."""
    import cv2

    height, width = picture.shape[:2]
    scale = min(side[0] / width, side[1] / height)
    inner = (max(round(width * scale), 1), max(round(height * scale), 1))
    left, top = (side[0] - inner[0]) // 2, (side[1] - inner[1]) // 2
    canvas = np.full((side[1], side[0], 3), _GRAY, dtype=np.uint8)
    canvas[top : top + inner[1], left : left + inner[0]] = cv2.resize(picture, inner)
    pixels = (canvas.transpose(2, 0, 1)[None] / np.float32(255)).astype(np.float32)
    return pixels, scale, np.array([left, top], dtype=np.float64)


def _names(text: str) -> tuple[str, ...]:
    """Class names as exporters store them: the text of a dictionary or a list."""
    if not text:
        return ()
    try:
        content = ast.literal_eval(text) if len(text) < 100_000 else None
        values = [content[i] for i in range(len(content))] if content else []
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        return ()
    return tuple(str(value) for value in values)
