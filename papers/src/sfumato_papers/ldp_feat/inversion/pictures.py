"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: the photographs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.data import fit_square
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.core.progress import Progress, silent
from sfumato.features import list_images
from sfumato.features.image import decode_image

SIDE = 256
MAX_KEYPOINTS = 1000


@dataclass(frozen=True, eq=False)
class Picture:
    """One photograph as the protocol wants it: its middle square, SIDE pixels wide."""

    name: str
    pixels: NDArray[np.uint8]

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.pixels.tobytes()).hexdigest()[:16]


def load_squares(
    folder: str | Path, num_pictures: int | None, *, progress: Progress = silent
) -> tuple[tuple[Picture, ...], int]:
    """So many pictures of a folder, spread evenly, and how many could not be read."""
    if num_pictures is not None:
        check_count("num-pictures", num_pictures, low=1)
    names = list_images(folder)
    step = max(len(names) / num_pictures, 1.0) if num_pictures else 1.0
    chosen = [names[int(i * step)] for i in range(min(num_pictures or len(names), len(names)))]
    pictures, unreadable = [], 0
    for done, name in enumerate(chosen):
        progress("reading pictures", done, len(chosen))
        try:
            pixels = fit_square(decode_image(Path(folder) / name), SIDE)
        except UnreadableImage:
            unreadable += 1
            continue
        pictures.append(Picture(str(name), pixels))
    if not pictures:
        raise InvalidInput(
            f"no picture of this folder can be used: {len(chosen)} files, {unreadable} of them "
            "unreadable; give a folder of photographs."
        )
    return tuple(pictures), unreadable


def mean_colour(pictures: Sequence[Picture]) -> NDArray[np.float32]:
    """The colour of all pictures together: what can be painted knowing nothing of any."""
    means = np.array([picture.pixels.reshape(-1, 3).mean(axis=0) for picture in pictures])
    return np.asarray(means.mean(axis=0) / 255, dtype=np.float32)
