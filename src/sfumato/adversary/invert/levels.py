"""Old slides as a camera of today would take them: evened levels, its colours, no black frame.

Public archives hold scans of faded film: dark, flat, blue. A network that learned from them as
they are paints every picture dark, flat and blue.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

#: Share of each side that is cut off: the mount of a slide, the rim of a print.
_RIM = 0.03
_TAILS = (1, 99)  # percentiles that become nearly black and nearly white
_ENDS = (5, 250)
_MOST_CONTRAST = 2.5
_BRIGHTNESS, _SPREAD = 0.42, 0.08  # of photographs taken today, mean and standard deviation
_GAMMAS = (0.5, 1.6)
#: Blue and red less brightness, as in YCbCr: their mean in 98 open photographs of today, and how
#: far a tint is drawn from it.
_TINT, _TINTS = (-0.03, 0.01), 0.012
_COLOURFULNESS, _MOST_COLOUR = 0.048, 1.8  # mean size of those two, and the most it is raised
_GREY = 0.004  # less than this is a black and white picture
_WEIGHTS = np.array([0.299, 0.587, 0.114])


def even_out(image: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """The inner part of a picture (H, W, 3), each colour stretched, brightness and tint as usual.

    How far is drawn: sunsets and forests have a tint of their own, and may stay as they are.
    """
    height, width = image.shape[:2]
    top, left = round(height * _RIM), round(width * _RIM)
    inner = image[top : height - top, left : width - left]
    strength = rng.uniform(0.4, 1)
    wanted = np.clip(rng.normal(_BRIGHTNESS, _SPREAD), 0.2, 0.65)
    values = np.arange(256, dtype=np.float64)
    stretched = np.empty((256, 3))
    for channel in range(3):
        low, high = np.percentile(inner[..., channel], _TAILS)
        factor = min((_ENDS[1] - _ENDS[0]) / max(high - low, 1), _MOST_CONTRAST)
        moved = (values - low) * factor + _ENDS[0]
        stretched[:, channel] = values + strength * (moved - values)
    stretched = np.clip(stretched / 255, 0, 1)
    mean = np.mean([stretched[inner[..., channel], channel].mean() for channel in range(3)])
    gamma = np.clip(np.log(wanted) / np.log(np.clip(mean, 0.02, 0.98)), *_GAMMAS)
    table: Any = np.rint(255 * stretched**gamma).astype(np.uint8)
    evened = np.asarray(cv2.LUT(np.ascontiguousarray(inner), table[None]), dtype=np.uint8)
    return _tinted(evened, rng, strength)


def _tinted(
    image: NDArray[np.uint8], rng: np.random.Generator, strength: float
) -> NDArray[np.uint8]:
    """A picture with the colours of today: grey on average is not how photographs are."""
    small = image[::4, ::4].reshape(-1, 3) / 255
    away = (small - (small @ _WEIGHTS)[:, None])[:, [2, 0]] / (1.772, 1.402)
    size = np.abs(away).mean()
    wanted = rng.normal(_TINT, _TINTS)
    if size < _GREY:
        return image
    factor = 1 + strength * (np.clip(_COLOURFULNESS / size, 1, _MOST_COLOUR) - 1)
    blue, red = wanted * (1.772, 1.402)
    green = -(_WEIGHTS[0] * red + _WEIGHTS[2] * blue) / _WEIGHTS[1]  # brightness stays
    turn = factor * np.eye(3) + (1 - factor) * _WEIGHTS
    shift = 255 * np.array([[red], [green], [blue]])
    return np.asarray(cv2.transform(image, np.hstack([turn, shift])), dtype=np.uint8)
