"""Pictures with boxes around people, in the text files of PASCAL's annotation version 1.00.

A folder with `images` and `annotations`, or Penn–Fudan's own PNGImages and Annotation; a picture
and its annotation share a name. Boxes there are inclusive and count pixels from 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfumato.core.errors import InvalidInput, Missing
from sfumato.detectors.base import Boxes

_FOLDERS = (("images", "annotations"), ("PNGImages", "Annotation"))
_SUFFIXES = (".png", ".jpg", ".jpeg")
_NUMBER = r"\(\s*(\d+)\s*,\s*(\d+)\s*\)"
_BOX = re.compile(rf'Bounding box for object \d+ "([^"]*)"[^:]*:\s*{_NUMBER}\s*-\s*{_NUMBER}')
_SIZE = re.compile(r"Image size[^:]*:\s*(\d+) x (\d+)")
_COUNT = re.compile(r"Objects with ground truth\s*:\s*(\d+)")


@dataclass(frozen=True)
class Annotated:
    """One picture and what is known to be in it; the class of a person is "person"."""

    name: str
    picture: Path
    image_size: tuple[int, int]
    truth: Boxes


def read_annotated(folder: str | Path) -> tuple[Annotated, ...]:
    """All annotated pictures of a folder, by name."""
    root = Path(folder)
    if not root.is_dir():
        raise Missing(f"there is no folder of annotated pictures at {root}.")
    for pictures, notes in _FOLDERS:
        files = sorted((root / notes).glob("*.txt"))
        if files:
            return tuple(_read_one(file, root / pictures) for file in files)
    raise InvalidInput(
        f"{root} holds no annotations; it needs folders images and annotations (*.txt), or "
        "PNGImages and Annotation as Penn–Fudan has them."
    )


def _read_one(file: Path, pictures: Path) -> Annotated:
    picture = next((p for s in _SUFFIXES if (p := pictures / f"{file.stem}{s}").is_file()), None)
    if picture is None:
        raise InvalidInput(f"{file.name} has no picture of its name in {pictures}; restore it.")
    image_size, truth = read_annotation(file)
    return Annotated(file.stem, picture, image_size, truth)


def read_annotation(file: Path) -> tuple[tuple[int, int], Boxes]:
    """The size of the picture, and its boxes in the coordinates of keypoints."""
    try:
        text = file.read_text(encoding="latin-1")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from None
    size, count, rows = _SIZE.search(text), _COUNT.search(text), _BOX.findall(text)
    if size is None or count is None or int(count[1]) != len(rows):
        raise InvalidInput(
            f"{file} is not a whole annotation: it must give the size of the picture and as many "
            f"boxes as it announces, {len(rows)} are there; restore it."
        )
    numbers = np.array([row[1:] for row in rows], dtype=np.float64).reshape(-1, 4)
    corners = numbers - (1.5, 1.5, 0.5, 0.5)  # pixels from 1, both ends belong to the box
    classes = tuple("person" if "person" in row[0].lower() else row[0] for row in rows)
    width, height = int(size[1]), int(size[2])
    low, high = corners[:, :2], corners[:, 2:]
    if (low >= high).any() or (low < -0.5).any() or (high > (width + 0.5, height + 0.5)).any():
        raise InvalidInput(f"{file} has boxes outside its {width}×{height} picture; restore it.")
    return (width, height), Boxes(corners, classes, np.ones(len(corners)))
