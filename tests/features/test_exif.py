"""Focal lengths that photographs tell: in 35 mm terms, by resolution, by the sensor's table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sfumato.features.exif import read_focal
from sfumato.features.sensors import sensor_width

SIZE = (300, 200)
FULL_FRAME = 50 / math.hypot(36, 24)


def photo(path: Path, tags: dict[int, Any], make: str = "", model: str = "") -> Path:
    header = Image.Exif()
    if make:
        header[0x010F], header[0x0110] = make, model
    header.get_ifd(0x8769).update(tags)
    Image.new("RGB", SIZE).save(path, exif=header)
    return path


@pytest.mark.parametrize(
    ("tags", "camera", "source"),
    [
        ({0xA405: 50}, ("", ""), "35 mm"),
        ({0xA405: 0, 0x920A: 50.0}, ("Canon", "Canon EOS 5D Mark II"), "table"),
        # 300 pixels on 36 mm are 211.67 to the inch
        ({0x920A: 50.0, 0xA20E: 300 / 36 * 25.4, 0xA210: 2}, ("", ""), "resolution"),
        # the same of a picture that was halved since: EXIF still says 600 pixels
        (
            {0x920A: 50.0, 0xA20E: 600 / 36 * 25.4, 0xA210: 2, 0xA002: 600, 0xA003: 400},
            ("", ""),
            "resolution",
        ),
    ],
)
def test_the_same_lens_is_found_by_every_way(
    tmp_path: Path, tags: dict[int, Any], camera: tuple[str, str], source: str
) -> None:
    found = read_focal(photo(tmp_path / "p.jpg", tags, *camera))
    assert found is not None
    assert source in found.source
    assert found.ratio == pytest.approx(FULL_FRAME, rel=1e-3)
    assert found.camera(SIZE).params[0] == pytest.approx(50 / 36 * 300, rel=2e-3)


@pytest.mark.parametrize(
    "tags",
    [{}, {0xA405: 0}, {0xA405: 60000}, {0x920A: 50.0}, {0x920A: 0.0, 0xA20E: 9e9, 0xA210: 2}],
)
def test_nothing_is_made_up(tmp_path: Path, tags: dict[int, Any]) -> None:
    assert read_focal(photo(tmp_path / "p.jpg", tags)) is None


def test_files_that_are_no_pictures_tell_nothing(tmp_path: Path) -> None:
    (tmp_path / "p.jpg").write_bytes(b"no picture")
    assert read_focal(tmp_path / "p.jpg") is None
    assert read_focal(tmp_path / "absent.jpg") is None


@pytest.mark.parametrize(
    ("make", "model", "width"),
    [
        ("Canon", "Canon EOS D60", 22.7),
        ("Canon", "Canon EOS 5D", 36.0),
        ("Canon", "Canon EOS 50D", 22.3),
        ("NIKON CORPORATION", "NIKON D300", 23.6),
        ("NIKON CORPORATION", "NIKON D3", 36.0),
        ("OLYMPUS IMAGING CORP.", "E-510", None),
        ("Nobody", "Nothing 1", None),
        ("Canon", "", None),
    ],
)
def test_cameras_are_known_by_what_exif_calls_them(
    make: str, model: str, width: float | None
) -> None:
    found = sensor_width(make, model)
    if make.startswith("OLYMPUS"):
        assert found in (None, 17.3)  # the maker's name has more words; unknown is safe
    else:
        assert found == width
