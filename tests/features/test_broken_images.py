"""Pictures that are cut off, damaged, enormous, or no pictures: one clear error each."""

from __future__ import annotations

import io
import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.features.image import load_image
from support import png_chunk

SMALL = np.random.default_rng(5).integers(0, 256, (7, 9, 3), dtype=np.uint8)


def announced_png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", b"")


@pytest.mark.parametrize("suffix", ["jpg", "png", "tiff", "gif", "bmp", "webp", "jp2", "ppm"])
def test_truncated_files_are_refused_at_every_length(
    tmp_path: Path, suffix: str, astronaut: NDArray[np.uint8]
) -> None:
    whole = tmp_path / f"a.{suffix}"
    Image.fromarray(astronaut[:64, :64].copy()).save(whole)
    data = whole.read_bytes()
    path = tmp_path / f"cut.{suffix}"
    for share in (0.02, 0.1, 0.3, 0.5, 0.7):
        path.write_bytes(data[: max(int(len(data) * share), 3)])
        with pytest.raises(UnreadableImage) as caught:
            load_image(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(["JPEG", "PNG", "TIFF", "GIF", "WEBP", "BMP", "PPM"]),
    edits=st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), min_size=1, max_size=20),
)
def test_damaged_files_give_a_picture_or_one_clear_error(
    tmp_path: Path, kind: str, edits: list[tuple[int, int]]
) -> None:
    buffer = io.BytesIO()
    Image.fromarray(np.tile(SMALL, (3, 3, 1))).save(buffer, kind)
    data = bytearray(buffer.getvalue())
    for place, value in edits:
        data[place % len(data)] = value
    path = tmp_path / "a.bin"
    path.write_bytes(data)
    try:
        image = load_image(path, max_pixels=1_000_000)
    except UnreadableImage:
        return
    assert image.ndim == 3
    assert image.dtype == np.uint8


def test_what_is_no_picture_is_refused_with_a_reason(tmp_path: Path) -> None:
    empty, text = tmp_path / "empty.jpg", tmp_path / "text.jpg"
    empty.touch()
    text.write_text("secret words")
    postscript = tmp_path / "a.png"
    postscript.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    reasons = {
        empty: "empty",
        text: "not a picture",
        postscript: "not a picture",
        tmp_path: "folder",
        pipe: "device",
        tmp_path / "absent.png": "no such file",
    }
    for path, reason in reasons.items():
        with pytest.raises(UnreadableImage, match=reason) as caught:
            load_image(path)
        assert "secret" not in str(caught.value)


def test_enormous_pictures_are_refused_from_their_header(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    for width, height in ((20_000, 5_001), (14_000, 14_000), (60_000, 60_000), (70_000, 2)):
        path.write_bytes(announced_png(width, height))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            with pytest.raises(UnreadableImage) as caught:
                load_image(path)
        assert not seen
        assert "smaller" in str(caught.value) or "sides" in str(caught.value)
    path.write_bytes(announced_png(10_000, 10_000))  # just allowed, so decoded, so truncated
    with pytest.raises(UnreadableImage, match="truncated"):
        load_image(path)


def test_max_pixels_is_the_callers_choice(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(SMALL).save(path)
    assert load_image(path, max_pixels=63).shape == (7, 9, 3)
    with pytest.raises(UnreadableImage, match="9×7"):
        load_image(path, max_pixels=62)
    with pytest.raises(InvalidInput, match="max_pixels"):
        load_image(path, max_pixels=0)
