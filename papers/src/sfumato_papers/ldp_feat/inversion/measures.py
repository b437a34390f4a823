"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: how one reconstruction is judged."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.lpips import Measure, find_lpips
from sfumato.adversary.invert.sheet import to_pixels
from sfumato.adversary.metrics import compare, match_boxes
from sfumato.detectors.base import Boxes, Detector, check_boxes
from sfumato_papers.ldp_feat.inversion.pictures import Picture


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
