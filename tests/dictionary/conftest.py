"""Small worlds that the tests of dictionaries share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from skimage import data

from sfumato.features import extract


@pytest.fixture(scope="session")
def photo() -> NDArray[np.uint8]:
    picture: NDArray[np.uint8] = data.astronaut()  # type: ignore[no-untyped-call]
    return picture


@pytest.fixture(scope="session")
def sift(photo: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A few thousand real SIFT descriptors."""
    shifted = np.rot90(photo)[::2].copy()
    found = [extract(picture).descriptors for picture in (photo, photo[:, ::-1].copy(), shifted)]
    return np.concatenate(found)


@pytest.fixture
def photos(tmp_path: Path, photo: NDArray[np.uint8]) -> Path:
    """Three pictures and one file that is none."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(3):
        part = np.roll(photo, 61 * number, axis=1)[:240, :240]
        Image.fromarray(part.copy()).save(folder / f"{number}.png")
    (folder / "broken.png").write_bytes(b"not a picture")
    return folder
