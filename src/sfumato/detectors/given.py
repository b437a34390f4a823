"""Regions that a person has marked: boxes in a JSON file, or a mask painted over the picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.files import parse_json, read_limited
from sfumato.detectors.base import MAX_BOXES, Boxes
from sfumato.features.image import load_image

_MAX_BYTES = 8 << 20
_FAR = 1e9  # pixels
_FORM = '[[left, top, right, bottom], …] or [{"box": […], "class": "name"}, …], in pixels'


@dataclass(frozen=True)
class GivenBoxes:
    """The same boxes for every picture; they must lie inside it."""

    boxes: Boxes
    name: str = "given boxes"

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        return self.boxes

    @classmethod
    def read(cls, path: str | Path) -> GivenBoxes:
        """Boxes of a JSON file: a list of [left, top, right, bottom], with a class or without."""
        return cls(_read_boxes(Path(path)))


@dataclass(frozen=True, eq=False)
class GivenMask:
    """What is painted in a picture of the same size, in any colour but black."""

    mask: NDArray[np.bool_]
    name: str = "given mask"

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        return mask_boxes(self.mask)

    @classmethod
    def read(cls, path: str | Path) -> GivenMask:
        """A mask of an image file; transparent counts as white, so paint on black."""
        return cls(np.asarray((load_image(path) > 0).any(axis=2)))


def mask_boxes(mask: NDArray[np.bool_]) -> Boxes:
    """A mask with the boxes around its separate regions."""
    import cv2

    count, _, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    if count - 1 > MAX_BOXES:
        raise InvalidInput(
            f"a mask may have {MAX_BOXES:,} separate regions, this one has {count - 1:,}; "
            "save it without compression losses, black where nothing is hidden."
        )
    left, top, width, height = stats[1:, :4].T.astype(np.float64)
    corners = np.column_stack([left, top, left + width, top + height]) - 0.5
    return Boxes(corners, ("mask",) * (count - 1), np.ones(count - 1), mask)


def _read_boxes(path: Path) -> Boxes:
    try:
        content = parse_json(read_limited(path, _MAX_BYTES, what="file of boxes"))
    except InvalidInput:
        raise
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InvalidInput(f"{path} is not a file of boxes: {_FORM} is needed, as JSON.") from None
    if not isinstance(content, list):
        raise InvalidInput(f"{path} must hold a list of boxes: {_FORM}.")
    corners, classes = [], []
    for number, item in enumerate(content, start=1):
        box = item.get("box") if isinstance(item, dict) else item
        name = item.get("class", "given") if isinstance(item, dict) else "given"
        if not _is_box(box) or not isinstance(name, str):
            raise InvalidInput(f"box {number} of {path} is not one: {_FORM} is needed.")
        corners.append(box)
        classes.append(name)
    return Boxes(np.array(corners, dtype=np.float64), tuple(classes), np.ones(len(corners)))


def _is_box(box: Any) -> bool:
    return (
        isinstance(box, list)
        and len(box) == 4
        and all(isinstance(x, int | float) and not isinstance(x, bool) for x in box)
        and all(-_FAR < x < _FAR for x in box)  # NaN is not
        and box[0] < box[2]
        and box[1] < box[3]
    )
