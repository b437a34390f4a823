"""Pictures in: pixels only, upright, 8 bits, three colours; everything else is left behind."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.core.frozen import MAX_IMAGE_SIDE

MAX_PIXELS = 100_000_000
#: SIFT's pyramid takes about 240 bytes per pixel: 30 megapixels are some 7 GB.
MAX_SIFT_PIXELS = 30_000_000

#: Only formats whose decoders are plain C code: Pillow's EPS reader, for one, starts a program.
FORMATS = ("JPEG", "PNG", "TIFF", "WEBP", "BMP", "GIF", "PPM", "JPEG2000", "AVIF")
_BITS, _PHOTOMETRIC, _ORIENTATION, _PLANES = 258, 262, 274, 284  # TIFF and EXIF tags
_HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1")
_FLOAT_SLACK = 1e-3  # resampling overshoots white and black a little

#: What EXIF orientations 1 to 8 ask for, to be done to rows, columns, colours.
_TURNS: dict[int, Callable[[NDArray[np.uint8]], NDArray[np.uint8]]] = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: a[::-1].swapaxes(0, 1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: lambda a: a[:, ::-1].swapaxes(0, 1),
}

# Pillow warns about large and oddly tagged files, and Python's warning filters belong to the
# whole process: two threads that both set them aside would leave them set aside for good.
_pillow = threading.Lock()


def formats_of(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The formats as which a file may be opened; HEIC only where pillow-heif is installed."""
    with Path(path).open("rb") as file:
        head = file.read(64)
    if head[4:8] != b"ftyp" or head[8:12] not in _HEIC_BRANDS or b"avif" in head:
        return FORMATS
    if importlib.util.find_spec("pillow_heif") is None:
        raise UnreadableImage(
            "this is HEIC, as iPhones write it: pip install 'sfumato[heic]' to read it, or save it "
            "as JPEG."
        )
    importlib.import_module("pillow_heif").register_heif_opener(thumbnails=False)
    return (*FORMATS, "HEIF")


def load_image(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """Read a picture as (H, W, 3) RGB.

    EXIF orientation is applied; all metadata (place, time, camera, profile) is dropped.
    16-bit values keep their high byte, so a picture widened from 8 bits comes back exactly.
    Transparency is laid on white, so colours hidden under it do not come back. Of an
    animation the first frame is read. What announces more than max_pixels is refused
    before it is decoded.

    >>> from PIL import Image
    >>> Image.new("RGB", (64, 48)).save("photo.png")
    >>> sf.load_image("photo.png").shape
    (48, 64, 3)
    """
    try:
        return decode_image(path, max_pixels=max_pixels)
    except UnreadableImage as error:
        raise UnreadableImage(f"{os.fspath(path)}: {error}") from error.__cause__


def decode_image(
    path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS
) -> NDArray[np.uint8]:
    """`load_image` whose sentence leaves out the name, for callers that say it themselves."""
    check_count("max_pixels", max_pixels, low=1)
    file = Path(path)
    try:
        if not file.exists():
            raise UnreadableImage("there is no such file.")
        if not file.is_file():
            raise UnreadableImage("a picture must be a file, this is a folder or a device.")
        if file.stat().st_size == 0:
            raise UnreadableImage("the file is empty.")
        with _pillow, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(file, formats=formats_of(file)) as image:
                _check_header(image, max_pixels)
                image.load()
                return _upright_rgb(image)
    except InvalidInput:
        raise
    except UnidentifiedImageError:
        known = ", ".join(FORMATS)
        raise UnreadableImage(f"this is not a picture of a known kind ({known}).") from None
    except Image.DecompressionBombError:
        # Pillow's own limit, above MAX_PIXELS; it stands even where max_pixels is larger.
        raise UnreadableImage(
            f"a picture may have {max_pixels} pixels, its header announces far too many; "
            "make it smaller."
        ) from None
    except PermissionError:
        raise UnreadableImage("the file may not be opened; check its permissions.") from None
    except MemoryError:
        raise UnreadableImage("the picture does not fit in memory; make it smaller.") from None
    except Exception as error:
        # Decoders fed with damaged files raise anything: OSError, SyntaxError, struct.error …
        raise UnreadableImage(
            "the picture is truncated or damaged and cannot be decoded in full; "
            "restore it or leave it out."
        ) from error


def check_image(array: Any) -> NDArray[np.uint8]:
    """Return (H, W, 3) RGB, contiguous, from uint8 (H, W), (H, W, 3) or (H, W, 4) with alpha."""
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"an image must be a path or an array, got {type(array).__name__}.")
    if array.dtype != np.uint8:
        raise InvalidInput(
            f"an image must hold uint8 values, got {array.dtype}; "
            "scale it to 0…255 and convert it first."
        )
    if array.ndim == 3 and array.shape[2] == 4:
        _check_sides(array.shape[1], array.shape[0])
        return _on_white(array)
    if array.ndim != 2 and not (array.ndim == 3 and array.shape[2] == 3):
        raise InvalidInput(
            f"an image must have shape (H, W), (H, W, 3) or (H, W, 4), got {array.shape}."
        )
    _check_sides(array.shape[1], array.shape[0])
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    return np.ascontiguousarray(array)


def _check_sides(width: int, height: int) -> None:
    if not (1 <= width <= MAX_IMAGE_SIDE and 1 <= height <= MAX_IMAGE_SIDE):
        raise InvalidInput(
            f"an image must have sides of 1 to {MAX_IMAGE_SIDE} pixels, got {width}×{height}."
        )


def _check_header(image: Image.Image, max_pixels: int) -> None:
    width, height = image.size
    if width * height > max_pixels:
        raise UnreadableImage(
            f"a picture may have {max_pixels} pixels, its header announces {width}×{height}; "
            "make it smaller."
        )
    try:
        _check_sides(width, height)
    except InvalidInput as error:
        raise UnreadableImage(str(error)) from None
    tags = _tags(image)
    if tags.get(_PLANES) == 2 and max(tags.get(_BITS, (8,))) > 8:
        # Pillow takes the bytes of such planes for 8-bit values: noise instead of a picture.
        raise UnreadableImage(
            "TIFF with separate planes of more than 8 bits is not read; save it interleaved."
        )


def _tags(image: Image.Image) -> Any:
    return getattr(image, "tag_v2", {})


def _upright_rgb(image: Image.Image) -> NDArray[np.uint8]:
    """The decoded picture as upright RGB."""
    pixels = _to_rgb(image)
    orientation = 1
    with contextlib.suppress(Exception):  # unreadable tags turn nothing; the pixels are whole
        orientation = image.getexif().get(_ORIENTATION, 1)
    return np.ascontiguousarray(_TURNS.get(orientation, _TURNS[1])(pixels))


def _to_rgb(image: Image.Image) -> NDArray[np.uint8]:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return check_image(_eight_bits(image))
    if image.has_transparency_data or image.mode in ("La", "RGBa"):
        hidden = image.info.get("transparency")
        if isinstance(hidden, tuple) and max(hidden) > 255:
            # The transparent colour of a 16-bit PNG, to be cut like the pixels were.
            image.info["transparency"] = tuple(value >> 8 for value in hidden)
        return _on_white(np.asarray(image.convert("RGBA")))
    return np.asarray(image.convert("RGB"))


def _eight_bits(image: Image.Image) -> NDArray[np.uint8]:
    """Gray of 16 bits or of floats, as 8 bits."""
    values = np.asarray(image)
    tags = _tags(image)
    if image.mode == "F":
        low, high = float(values.min()), float(values.max())
        if not (low >= -_FLOAT_SLACK and high <= 1 + _FLOAT_SLACK):  # so that NaN is refused too
            raise UnreadableImage(
                "a picture of floats must go from 0 (black) to 1 (white), this one does not; "
                "scale it or save it as 8 or 16 bits."
            )
        gray = np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
    elif image.mode == "I" and tags:
        # PPM widens to 16 bits what comes as "I"; in a TIFF it is signed or 32-bit data.
        raise UnreadableImage(
            "signed or 32-bit whole numbers have no agreed white; save it as 8 or 16 bits."
        )
    else:
        bits = max(tags.get(_BITS, (16,)))
        gray = np.clip(values >> (bits - 8), 0, 255).astype(np.uint8)
    if tags.get(_PHOTOMETRIC) == 0:
        gray = 255 - gray  # "white is zero": Pillow undoes it for 8 bits only
    hidden = image.info.get("transparency")
    if isinstance(hidden, int):
        gray[values == hidden] = 255
    return np.asarray(gray, dtype=np.uint8)


def _on_white(rgba: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Lay a picture with alpha on white."""
    alpha = rgba[:, :, 3].astype(np.uint16)
    paper = (255 - alpha) * 255 + 127  # at most 255·255 + 127, which fits 16 bits
    out = np.empty((*alpha.shape, 3), dtype=np.uint8)
    for channel in range(3):
        out[:, :, channel] = (rgba[:, :, channel] * alpha + paper) // 255
    return out
