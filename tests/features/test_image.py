"""Pictures as input: every mode, every depth, every orientation."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from PIL import Image

from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.features.image import check_image, load_image
from support import png_chunk

SMALL = np.random.default_rng(5).integers(0, 256, (7, 9, 3), dtype=np.uint8)
WIDE = np.random.default_rng(6).integers(0, 65536, (7, 9, 3), dtype=np.uint16)


def saved(image: Image.Image, path: Path, **options: Any) -> Path:
    image.save(path, **options)
    return path


def upright(stored: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """EXIF by its definition: where row 0 and column 0 of the stored picture are to be seen."""
    row_zero = {1: "top", 2: "top", 3: "bottom", 4: "bottom"}
    row_zero |= {5: "left", 6: "right", 7: "right", 8: "left"}
    column_zero = {1: "left", 2: "right", 3: "right", 4: "left"}
    column_zero |= {5: "top", 6: "top", 7: "bottom", 8: "bottom"}
    shown = stored
    if row_zero[orientation] in ("left", "right"):
        shown = shown.transpose(1, 0, 2)
        if row_zero[orientation] == "right":
            shown = shown[:, ::-1]
        if column_zero[orientation] == "bottom":
            shown = shown[::-1]
    else:
        if row_zero[orientation] == "bottom":
            shown = shown[::-1]
        if column_zero[orientation] == "right":
            shown = shown[:, ::-1]
    return shown


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["png", "tiff", "webp"])
def test_every_orientation_is_applied(tmp_path: Path, orientation: int, suffix: str) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    options = {"lossless": True} if suffix == "webp" else {}
    path = saved(Image.fromarray(SMALL), tmp_path / f"a.{suffix}", exif=exif, **options)
    assert np.array_equal(load_image(path), upright(SMALL, orientation))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_orientation_is_applied_to_16_bit_gray(tmp_path: Path, orientation: int) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    path = saved(Image.fromarray(WIDE[..., 0].copy()), tmp_path / "a.png", exif=exif)
    expected = np.repeat((WIDE[..., :1] >> 8).astype(np.uint8), 3, axis=2)
    assert np.array_equal(load_image(path), upright(expected, orientation))


def test_an_impossible_orientation_and_broken_tags_change_nothing(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[274] = 77
    path = saved(Image.fromarray(SMALL), tmp_path / "a.png", exif=exif)
    assert np.array_equal(load_image(path), SMALL)
    path = saved(Image.fromarray(SMALL), tmp_path / "b.png", exif=b"Exif\0\0II*\0garbage")
    assert np.array_equal(load_image(path), SMALL)


def test_only_pixels_come_out(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8825)[1] = "N"
    image = load_image(saved(Image.fromarray(SMALL), tmp_path / "a.png", exif=exif))
    assert type(image) is np.ndarray
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous


@pytest.mark.parametrize("widen", [256, 257])
@pytest.mark.parametrize("kind", ["png", "tiff"])
@pytest.mark.parametrize("channels", [1, 3])
def test_8_bits_widened_to_16_come_back_exactly(
    tmp_path: Path, widen: int, kind: str, channels: int
) -> None:
    values = SMALL.astype(np.uint16) * widen
    array = values[..., 0] if channels == 1 else values
    path = tmp_path / f"a.{kind}"
    if kind == "tiff":
        tifffile.imwrite(path, array, photometric="minisblack" if channels == 1 else "rgb")
    else:
        cv2.imwrite(str(path), array if channels == 1 else array[..., ::-1])
    expected = np.repeat(SMALL[..., :1], 3, axis=2) if channels == 1 else SMALL
    assert np.array_equal(load_image(path), expected)


@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_16_bits_keep_their_high_byte(tmp_path: Path, byteorder: Literal["<", ">"]) -> None:
    path = tmp_path / "a.tiff"
    tifffile.imwrite(path, WIDE, photometric="rgb", byteorder=byteorder)
    assert np.array_equal(load_image(path), WIDE >> 8)
    tifffile.imwrite(path, WIDE[..., 0], photometric="minisblack", byteorder=byteorder)
    assert np.array_equal(load_image(path)[..., 1], WIDE[..., 0] >> 8)
    pgm = tmp_path / "a.pgm"
    pgm.write_bytes(b"P5 9 7 65535\n" + WIDE[..., 0].astype(">u2").tobytes())
    assert np.array_equal(load_image(pgm)[..., 2], WIDE[..., 0] >> 8)


def test_white_is_zero_is_undone(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    tifffile.imwrite(path, WIDE[..., 0], photometric="miniswhite")
    assert np.array_equal(load_image(path)[..., 0], 255 - (WIDE[..., 0] >> 8))


def test_floats_go_from_black_to_white(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    tifffile.imwrite(path, SMALL[..., 0].astype(np.float32) / 255)
    assert np.array_equal(load_image(path)[..., 0], SMALL[..., 0])
    for bad in (SMALL[..., 0].astype(np.float32), np.full((4, 4), np.nan, dtype=np.float32)):
        tifffile.imwrite(path, bad)
        with pytest.raises(UnreadableImage, match=r"0 \(black\) to 1 \(white\)"):
            load_image(path)


def test_what_has_no_agreed_meaning_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    tifffile.imwrite(path, WIDE[..., 0].astype(np.int32))
    with pytest.raises(UnreadableImage, match="no agreed white"):
        load_image(path)
    planes = np.ascontiguousarray(WIDE.transpose(2, 0, 1))
    tifffile.imwrite(path, planes, photometric="rgb", planarconfig="separate")
    with pytest.raises(UnreadableImage, match="separate planes"):
        load_image(path)


def test_cmyk_becomes_rgb(tmp_path: Path) -> None:
    ink = Image.new("CMYK", (20, 10), (0, 255, 255, 0))
    for name in ("a.tiff", "a.jpg"):
        red = load_image(saved(ink, tmp_path / name)).astype(int)
        assert red.shape == (10, 20, 3)
        assert np.abs(red - [255, 0, 0]).max() <= 3


def test_palette_and_bilevel_are_exact(tmp_path: Path) -> None:
    palette = Image.fromarray(SMALL).quantize(16)
    expected = np.asarray(palette.convert("RGB"))
    for name in ("a.png", "a.gif", "a.bmp"):
        assert np.array_equal(load_image(saved(palette, tmp_path / name)), expected)
    bits = Image.fromarray(SMALL[..., 0] > 127)
    shown = load_image(saved(bits, tmp_path / "b.png"))
    assert np.array_equal(shown[..., 0], np.where(SMALL[..., 0] > 127, 255, 0))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA"])
def test_colours_hidden_under_transparency_do_not_come_back(tmp_path: Path, mode: str) -> None:
    rgba = np.dstack([SMALL, np.where(SMALL[..., 0] > 99, 255, 0).astype(np.uint8)])
    image = Image.fromarray(rgba)
    if mode == "LA":
        image = image.convert("LA")
    elif mode == "PA":  # a palette whose entries are transparent
        image = image.quantize(32)
    shown = load_image(saved(image, tmp_path / "a.png"))
    opaque = np.asarray(image.convert("RGBA"))
    assert (shown[opaque[..., 3] == 0] == 255).all()
    assert np.array_equal(shown[opaque[..., 3] == 255], opaque[opaque[..., 3] == 255][:, :3])


def test_half_transparent_is_half_white(tmp_path: Path) -> None:
    path = saved(Image.new("RGBA", (3, 2), (0, 100, 255, 51)), tmp_path / "a.png")
    assert (load_image(path) == [204, 224, 255]).all()
    assert (check_image(np.asarray(Image.open(path))) == [204, 224, 255]).all()


@pytest.mark.parametrize("mode", ["L", "RGB", "I;16"])
def test_a_single_transparent_colour_becomes_white(tmp_path: Path, mode: str) -> None:
    array = np.array([[10, 200], [10, 30]], dtype=np.uint16 if mode == "I;16" else np.uint8)
    image = Image.fromarray(array * 257 if mode == "I;16" else array)
    image = image.convert("RGB") if mode == "RGB" else image
    hidden = {"L": 10, "RGB": (10, 10, 10), "I;16": 2570}[mode]
    shown = load_image(saved(image, tmp_path / "a.png", transparency=hidden))
    assert np.array_equal(shown[..., 0], [[255, 200], [255, 30]])


def test_the_transparent_colour_of_a_16_bit_picture_becomes_white(tmp_path: Path) -> None:
    pixels = np.array([[[2570, 2827, 3084], [51400, 7, 900]]], dtype=">u2")
    body = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0))
    body += png_chunk(b"tRNS", pixels[0, 0].tobytes())
    body += png_chunk(b"IDAT", zlib.compress(b"\0" + pixels.tobytes())) + png_chunk(b"IEND", b"")
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    assert np.array_equal(load_image(path), [[[255, 255, 255], [200, 0, 3]]])


def test_the_first_frame_of_an_animation_is_read(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "blue", "lime")]
    for name in ("a.gif", "a.png", "a.webp", "a.tiff"):
        options = {"lossless": True} if name.endswith("webp") else {}
        path = saved(frames[0], tmp_path / name, save_all=True, append_images=frames[1:], **options)
        assert (load_image(path) == [255, 0, 0]).all()


def test_one_pixel_and_blank_pictures_are_fine(tmp_path: Path) -> None:
    assert load_image(saved(Image.new("L", (1, 1), 7), tmp_path / "a.png")).tolist() == [[[7] * 3]]
    assert (load_image(saved(Image.new("RGB", (50, 40), "white"), tmp_path / "b.png")) == 255).all()


def test_arrays_are_checked_and_made_rgb() -> None:
    assert np.array_equal(check_image(SMALL), SMALL)
    assert np.array_equal(check_image(SMALL[::2, ::-1]), SMALL[::2, ::-1])
    assert check_image(SMALL[::2, ::-1]).flags.c_contiguous
    assert np.array_equal(check_image(SMALL[..., 0]), np.repeat(SMALL[..., :1], 3, axis=2))
    for bad, words in (
        (SMALL / 255, "uint8"),
        (SMALL.astype(np.uint16), "uint8"),
        (SMALL[None], "shape"),
        (SMALL[..., :2], "shape"),
        (SMALL[0, 0], "shape"),
        (SMALL[:0], "sides"),
        (np.zeros((2, 0, 4), dtype=np.uint8), "sides"),
        ([[1, 2]], "path or an array"),
    ):
        with pytest.raises(InvalidInput, match=words):
            check_image(bad)
