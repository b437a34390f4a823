"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: photographs and measures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.data import fit_square
from sfumato.adversary.invert.lpips import Measure, find_lpips
from sfumato.adversary.invert.sheet import to_pixels
from sfumato.adversary.metrics import compare, match_boxes
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.core.progress import Progress, silent
from sfumato.detectors.base import Boxes, Detector, check_boxes
from sfumato.features import list_images
from sfumato.features.image import decode_image
from sfumato_papers.harness.work import tracked

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
    for name in tracked(chosen, "reading pictures", progress):
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


@dataclass(frozen=True)
class Measures:
    """One reconstruction; lpips and objects (found again, of how many) are None if not measured."""

    mae: float
    ssim: float
    psnr: float
    lpips: float | None
    objects: tuple[int, int] | None


@dataclass
class Judge:
    """Compares reconstructions with their pictures.

    lpips     None where it cannot be had; `without` says why
    detector  what objects are looked for with; None leaves them out
    """

    lpips: Measure | None = None
    detector: Detector | None = None
    without: str = ""
    _seen: dict[str, Boxes] = field(default_factory=dict)

    def judge(self, picture: Picture, made: NDArray[np.float32]) -> Measures:
        alike = compare(picture.pixels, made)
        return Measures(
            mae=alike.mae,
            ssim=alike.ssim,
            psnr=alike.psnr,
            lpips=None if self.lpips is None else self.lpips(picture.pixels, made),
            objects=self._objects(picture, made),
        )

    def _objects(self, picture: Picture, made: NDArray[np.float32]) -> tuple[int, int] | None:
        if self.detector is None:
            return None
        height, width = picture.pixels.shape[:2]
        if picture.name not in self._seen:
            found = self.detector(picture.pixels)
            self._seen[picture.name] = check_boxes(found, (width, height))
        again = check_boxes(self.detector(to_pixels(made)), (width, height))
        return match_boxes(self._seen[picture.name], again)


def make_judge(detector: Detector | None = None) -> Judge:
    """A judge with LPIPS where torch and its weights are."""
    measure, reason = find_lpips()
    return Judge(measure, detector, reason)
