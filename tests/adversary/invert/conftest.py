"""Pictures of our own: smooth noise with edges, enough for SIFT to find something."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image


def painted(seed: int, side: tuple[int, int] = (96, 80)) -> NDArray[np.uint8]:
    """A picture (H, W, 3) of random discs on a random ground; side is (width, height)."""
    rng = np.random.default_rng(seed)
    picture = np.full((side[1], side[0], 3), rng.integers(60, 200, 3), dtype=np.uint8)
    for _ in range(25):
        x, y = (int(rng.integers(length)) for length in side)
        colour = tuple(int(value) for value in rng.integers(0, 256, 3))
        cv2.circle(picture, (x, y), int(rng.integers(2, 12)), colour, -1)
    return picture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five pictures of 96×80."""
    path = tmp_path / "pictures"
    path.mkdir()
    for seed in range(5):
        Image.fromarray(painted(seed)).save(path / f"{seed}.png")
    return path


@pytest.fixture
def picture() -> NDArray[np.uint8]:
    return painted(0, (150, 101))
