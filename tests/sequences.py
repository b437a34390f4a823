"""Image sequences with known homographies, made from one photograph."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from support import photograph

_TURN = np.array([[0.95, -0.1, 20.0], [0.08, 1.0, -5.0], [1e-4, 0, 1.0]])
_ZOOM = np.array([[1.3, 0.0, -30.0], [0.05, 1.25, -40.0], [0, 2e-4, 1.0]])


def write_sequence(folder: Path, *, layout: str) -> None:
    """Three pictures: the first, a turned and a zoomed one."""
    picture = photograph()[:320, 80:400]
    folder.mkdir(parents=True)
    names = {"hpatches": ("{}.ppm", "H_1_{}"), "oxford": ("img{}.png", "H1to{}p")}
    image_name, matrix_name = names[layout]
    Image.fromarray(picture).save(folder / image_name.format(1))
    for number, homography in ((2, _TURN), (3, _ZOOM)):
        warped = cv2.warpPerspective(picture, homography, (320, 320))
        Image.fromarray(warped).save(folder / image_name.format(number))
        np.savetxt(folder / matrix_name.format(number), homography)
