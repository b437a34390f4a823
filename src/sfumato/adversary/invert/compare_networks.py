"""Several networks on the same photographs: figures of each, and a sheet to look at.

Figures of one network made yesterday and of another made today differ by more than networks:
here both see the same features in the same run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.crops import fit_square
from sfumato.adversary.invert.encoders import Source, as_released
from sfumato.adversary.invert.lpips import Measure
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.metrics import compare
from sfumato.core.checks import check_choice
from sfumato.core.progress import Progress, silent
from sfumato.features.extractors import extract
from sfumato.features.image import decode_image

SIDE = 256
#: features: as an extractor writes them, with sizes and angles; release: as they are sent.
SENT = ("release", "features")
_COLOUR_SIDE = 32  # colour is compared on squares of 8×8 pixels of a picture of 256×256


@dataclass(frozen=True)
class NetworkScore:
    """Means over the photographs, for one network.

    colour  share of the picture whose colour is nearer to the truth than the mean colour of all
            photographs is; one half is no better than that
    lpips   None where it could not be measured
    """

    ssim: float
    mae: float
    psnr: float
    colour: float
    lpips: float | None


@dataclass(frozen=True)
class Comparison:
    """Scores by network, and the first pictures: the photograph, then one per network."""

    scores: tuple[NetworkScore, ...]
    num_pictures: int
    shown: tuple[tuple[NDArray[Any], ...], ...]


def compare_networks(
    networks: Sequence[Inverter],
    paths: Sequence[Path],
    *,
    sent: str = "release",
    max_keypoints: int = 1000,
    one_look: bool = True,
    num_shown: int = 6,
    lpips: Measure | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Paint the middle square of each photograph, 256×256, with every network.

    sent       what the attacker gets, see SENT
    num_shown  pictures that are kept for a sheet, spread evenly
    """
    check_choice("sent", sent, SENT)
    photos = [fit_square(decode_image(path), SIDE) for path in paths]
    mean = np.mean([photo.reshape(-1, 3).mean(axis=0) for photo in photos], axis=0) / 255
    shown_rows = np.linspace(0, len(photos) - 1, min(num_shown, len(photos))).round().astype(int)
    figures: list[list[tuple[float, ...]]] = [[] for _ in networks]
    shown: list[tuple[NDArray[Any], ...]] = []
    for number, photo in enumerate(photos):
        made = []
        for i, network in enumerate(networks):
            extractor = network.architecture.extractor
            features = extract(photo, extractor, max_keypoints=max_keypoints)
            source: Source = as_released(features) if sent == "release" else features
            picture = network.reconstruct(source, one_look=one_look).picture
            near = compare(photo, picture)
            distance = np.nan if lpips is None else lpips(photo, picture)
            colour = colour_share(photo, picture, mean)
            figures[i].append((near.ssim, near.mae, near.psnr, colour, distance))
            made.append(picture)
        if number in shown_rows:
            shown.append((photo, *made))
        progress("painting", number + 1, len(photos))
    scores = []
    for rows in figures:
        ssim, mae, psnr, colour, distance = (float(value) for value in np.mean(rows, axis=0))
        scores.append(NetworkScore(ssim, mae, psnr, colour, None if lpips is None else distance))
    return Comparison(tuple(scores), len(photos), tuple(shown))


def colour_share(photo: NDArray[np.uint8], made: NDArray[Any], mean: NDArray[Any]) -> float:
    """Share of the picture whose colour, brightness apart, is nearer than the mean colour's."""
    side = (_COLOUR_SIDE, _COLOUR_SIDE)
    real = _colour(cv2.resize(photo.astype(np.float32) / 255, side, interpolation=cv2.INTER_AREA))
    painted = _colour(cv2.resize(made, side, interpolation=cv2.INTER_AREA))
    flat = _colour(mean.reshape(1, 1, 3))
    own, others = (np.linalg.norm(real - x, axis=2) for x in (painted, flat))
    return float((own < others).mean())


def _colour(picture: NDArray[Any]) -> NDArray[np.float64]:
    """(H, W, 2) differences of blue and red to the brightness, as in YCbCr."""
    red, green, blue = np.moveaxis(np.asarray(picture, np.float64), 2, 0)
    bright = 0.299 * red + 0.587 * green + 0.114 * blue
    return np.stack([(blue - bright) / 1.772, (red - bright) / 1.402], axis=2)
