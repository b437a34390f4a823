"""The focal length that a photograph tells of itself, from its EXIF header.

In this order: the focal length in 35 mm terms; millimetres with the resolution of the sensor;
millimetres with the width of the sensor, by the camera's name (`sensors.py`). Nothing else of the
header is looked at, and nothing of it is kept.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from sfumato.core.types import Camera
from sfumato.features.image import formats_of
from sfumato.features.sensors import sensor_width

_EXIF_IFD = 0x8769
_MAKE, _MODEL = 0x010F, 0x0110
_FOCAL_MM, _FOCAL_35MM = 0x920A, 0xA405
_PIXELS_X, _PIXELS_Y = 0xA002, 0xA003
_PLANE_X, _PLANE_UNIT = 0xA20E, 0xA210
_UNITS_MM = {2: 25.4, 3: 10.0, 4: 1.0, 5: 0.001}  # inch, centimetre, millimetre, micrometre
_FILM_DIAGONAL = math.hypot(36, 24)
#: Focal length over the diagonal: no lens is sold beyond, from a fisheye to a telescope.
_SHORTEST, _LONGEST = 5 / _FILM_DIAGONAL, 2000 / _FILM_DIAGONAL


@dataclass(frozen=True)
class ExifFocal:
    """A focal length over the diagonal of the picture, and what said so."""

    ratio: float
    source: str

    @property
    def in_35mm(self) -> float:
        """The same in 35 mm terms, by the diagonal."""
        return self.ratio * _FILM_DIAGONAL

    def camera(self, image_size: tuple[int, int]) -> Camera:
        """The camera of a picture of this size; one radial parameter, zero, may be refined."""
        width, height = image_size
        focal = self.ratio * math.hypot(width, height)
        return Camera("SIMPLE_RADIAL", width, height, (focal, width / 2, height / 2, 0.0))


def read_focal(path: str | Path) -> ExifFocal | None:
    """What an EXIF header says of the focal length; None where it says nothing usable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=formats_of(path)) as image:
                header = image.getexif()
                tags: dict[int, Any] = dict(header.get_ifd(_EXIF_IFD))
                make, model = str(header.get(_MAKE, "")), str(header.get(_MODEL, ""))
                size = image.size
    except Exception:  # noqa: BLE001 - damaged headers raise anything; the picture may be fine
        return None
    for ratio, source in (
        (_number(tags, _FOCAL_35MM) / _FILM_DIAGONAL, "EXIF, in 35 mm terms"),
        (_by_plane(tags, size), "EXIF, by the sensor's resolution"),
        (_by_sensor(tags, size, make, model), "EXIF, by the table of sensors"),
    ):
        if _SHORTEST <= ratio <= _LONGEST:  # 0 stands for unknown; NaN is refused too
            return ExifFocal(ratio, source)
    return None


def read_focal_35mm(path: str | Path) -> float | None:
    """The focal length an EXIF header gives, in 35 mm terms; None where it does not."""
    found = read_focal(path)
    return None if found is None else found.in_35mm


def _number(tags: dict[int, Any], tag: int) -> float:
    try:
        return float(tags.get(tag, 0))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return 0.0


def _by_plane(tags: dict[int, Any], size: tuple[int, int]) -> float:
    """f·(pixels per mm) over the diagonal of the picture as it left the camera."""
    unit = _UNITS_MM.get(int(_number(tags, _PLANE_UNIT)), 0.0)
    if not unit:
        return 0.0
    taken = (_number(tags, _PIXELS_X) or size[0], _number(tags, _PIXELS_Y) or size[1])
    return _number(tags, _FOCAL_MM) * _number(tags, _PLANE_X) / unit / math.hypot(*taken)


def _by_sensor(tags: dict[int, Any], size: tuple[int, int], make: str, model: str) -> float:
    """f/w · longer side over the diagonal, which holds for a scaled copy too."""
    width = sensor_width(make, model)
    if width is None:
        return 0.0
    return _number(tags, _FOCAL_MM) / width * max(size) / math.hypot(*size)
