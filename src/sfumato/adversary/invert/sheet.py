"""Pictures beside their reconstructions, and two numbers about them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.adversary.metrics import compare
from sfumato.core.storage import write_file

_GAP = 4


def score(
    real: Sequence[NDArray[np.uint8]], made: Sequence[NDArray[np.float32]]
) -> dict[str, float]:
    """Mean SSIM and mean absolute error over pictures in 0…1."""
    measured = [compare(a, b) for a, b in zip(real, made, strict=True)]
    return {
        "ssim": float(np.mean([similarity.ssim for similarity in measured])),
        "mae": float(np.mean([similarity.mae for similarity in measured])),
    }


def write_sheet(
    path: Path, real: Sequence[NDArray[np.uint8]], *made: Sequence[NDArray[np.float32]]
) -> None:
    """A PNG with the pictures in the upper row and their reconstructions in rows below."""
    tall = max(picture.shape[0] for picture in real) + _GAP
    wide = sum(picture.shape[1] + _GAP for picture in real) - _GAP
    sheet = np.full((tall * (1 + len(made)) - _GAP, wide, 3), 255, dtype=np.uint8)
    left = 0
    for column in zip(real, *made, strict=True):
        height, width = column[0].shape[:2]
        for row, picture in enumerate(column):
            shown = picture if row == 0 else to_pixels(picture)
            sheet[row * tall : row * tall + height, left : left + width] = shown
        left += width + _GAP
    data = io.BytesIO()
    Image.fromarray(sheet).save(data, format="PNG")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, data.getvalue())


def to_pixels(picture: NDArray[Any]) -> NDArray[np.uint8]:
    """Values in 0…1 as 8 bits."""
    return np.asarray(np.rint(np.clip(picture, 0, 1) * 255), dtype=np.uint8)
