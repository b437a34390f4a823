"""Pictures that the tests of features share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from skimage import data


@pytest.fixture(scope="session")
def astronaut() -> NDArray[np.uint8]:
    """A photograph of 256×256 pixels with a few hundred keypoints."""
    picture: NDArray[np.uint8] = data.astronaut()  # type: ignore[no-untyped-call]
    return np.ascontiguousarray(picture[:256, 128:384])


@pytest.fixture
def gallery(tmp_path: Path, astronaut: NDArray[np.uint8]) -> Path:
    """Six readable pictures, one of them in a folder below, one blank."""
    folder = tmp_path / "gallery"
    (folder / "db").mkdir(parents=True)
    for index in range(4):
        Image.fromarray(np.roll(astronaut, 37 * index, axis=1)).save(folder / f"{index}.png")
    Image.fromarray(astronaut[::-1].copy()).save(folder / "db" / "below.PNG")
    Image.new("L", (40, 30), 200).save(folder / "blank.png")
    (folder / "notes.txt").write_text("not a picture")
    return folder
