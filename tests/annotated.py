"""Folders of annotated pictures, as Penn–Fudan's are, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def write_annotated(
    folder: Path,
    name: str,
    picture: NDArray[np.uint8],
    boxes: Sequence[tuple[Any, Any, Any, Any]],
) -> None:
    """One picture and its annotation; boxes are inclusive and count pixels from 1."""
    for part in ("images", "annotations"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture).save(folder / "images" / f"{name}.png")
    height, width = picture.shape[:2]
    lines = [
        "# Compatible with PASCAL Annotation Version 1.00",
        f"Image size (X x Y x C) : {width} x {height} x 3",
        f'Objects with ground truth : {len(boxes)} {{ "PASpersonWalking" }}',
    ]
    for number, (left, top, right, bottom) in enumerate(boxes, start=1):
        lines.append(
            f'Bounding box for object {number} "PASpersonWalking" (Xmin, Ymin) - (Xmax, Ymax) : '
            f"({left}, {top}) - ({right}, {bottom})"
        )
    (folder / "annotations" / f"{name}.txt").write_text("\n".join(lines) + "\n")
