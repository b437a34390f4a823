"""The extractors that OpenCV brings along: detectors, descriptors, and their order.

Positions follow OpenCV: the centre of a pixel is a whole number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.types import Features
from sfumato.features.extractors import ExtractorSpec
from sfumato.features.image import MAX_SIFT_PIXELS

#: Diameter in pixels given to every Harris corner; FREAK's smallest pattern belongs to it,
#: and SIFT's 4×4 cells then cover 42 pixels.
HARRIS_DIAMETER = 7.0
#: SIFT reads gradients from the pyramid layer whose blur fits the diameter: σ = 3.2 ≈ 7/2.
_HARRIS_OCTAVE = 3 << 8
_HARRIS_SPACING = 4  # pixels between corners, in either direction
_HARRIS_QUALITY = 1e-4  # of the strongest response: a tenth of its contrast
_HARRIS_FLOOR = 1e-7  # a corner of about 8 gray values; below it lies sensor noise

#: Sampling window for SIFT keypoints as OpenCV documents it for VGG and BEBLID.
_SIFT_WINDOW = 6.75
_VGG_120 = 100  # VGG::VGG_120, a constant the Python bindings leave out

_LARGE = 4_000_000
_one_large_picture = threading.Lock()


def extract_offline(
    rgb: NDArray[np.uint8], spec: ExtractorSpec, max_keypoints: int | None
) -> Features:
    """Detect and describe with the named extractor, strongest first."""
    height, width = rgb.shape[:2]
    with guarded(width, height):
        gray = to_gray(rgb)
        if spec.name in ("sift", "rootsift"):
            keypoints, descriptors = _sift(gray, max_keypoints)
        elif spec.name in ("vgg", "beblid"):
            # A scale factor fits the window to the keypoints of one detector only.
            keypoints = detect_sift(gray, max_keypoints)
            descriptors = _describe(_window_descriptor(spec.name), gray, keypoints)
        else:
            keypoints = harris_corners(gray)
            keypoints, descriptors = _at_corners(spec.name, gray, keypoints, max_keypoints)
    if descriptors is None or not keypoints:
        descriptors = np.empty((0, spec.dimension), dtype=np.float32)
    if spec.name == "rootsift":
        descriptors = root(descriptors)
    elif spec.dtype == "uint8":
        descriptors = _whole_bytes(descriptors)
    harris = spec.name in ("sift-harris", "freak")
    return as_features(keypoints, descriptors, (width, height), spec, upright=harris)


@contextmanager
def guarded(width: int, height: int) -> Iterator[None]:
    """Let one large picture through at a time, and turn OpenCV's errors into a sentence."""
    pixels = width * height
    if pixels > MAX_SIFT_PIXELS:
        raise InvalidInput(
            f"features are extracted from at most {MAX_SIFT_PIXELS} pixels, got {width}×{height}; "
            "make the picture smaller."
        )
    if pixels > _LARGE:
        # Several pyramids of this size at once would fill the memory of a small machine.
        _one_large_picture.acquire()
    try:
        yield
    except cv2.error:
        raise InvalidInput(
            f"OpenCV could not extract features from a picture of {width}×{height}; "
            "make it smaller or less elongated."
        ) from None
    finally:
        if pixels > _LARGE:
            _one_large_picture.release()


def to_gray(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Luma of an RGB picture, as OpenCV computes it."""
    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


def as_features(
    keypoints: Sequence[cv2.KeyPoint],
    descriptors: NDArray[Any],
    image_size: tuple[int, int],
    spec: ExtractorSpec,
    *,
    upright: bool = False,
) -> Features:
    """Features from keypoints and descriptors that are aligned already."""
    count = len(keypoints)
    return Features(
        keypoints=np.array([point.pt for point in keypoints], dtype=np.float32).reshape(count, 2),
        descriptors=descriptors,
        scores=np.array([point.response for point in keypoints], dtype=np.float32),
        scales=np.array([point.size for point in keypoints], dtype=np.float32),
        angles=np.array([-1 if upright else point.angle for point in keypoints], dtype=np.float32),
        image_size=image_size,
        extractor=spec.name,
    )


def strongest(keypoints: Sequence[cv2.KeyPoint], limit: int | None) -> list[int]:
    """Rows in order of response; ties by y, x, angle, scale, so that no run differs."""
    order = sorted(
        range(len(keypoints)),
        key=lambda row: (
            -keypoints[row].response,
            keypoints[row].pt[1],
            keypoints[row].pt[0],
            keypoints[row].angle,
            keypoints[row].size,
        ),
    )
    return order[:limit]


def _detector(limit: int | None) -> cv2.SIFT:
    # Precise upscaling: without it every position is off by a quarter of a pixel.
    # OpenCV keeps more than `limit` where responses tie; `strongest` settles those.
    return cv2.SIFT.create(
        nfeatures=limit or 0,
        nOctaveLayers=3,
        contrastThreshold=0.04,
        edgeThreshold=10,
        sigma=1.6,
        enable_precise_upscale=True,
    )


def detect_sift(gray: NDArray[np.uint8], limit: int | None) -> list[cv2.KeyPoint]:
    """SIFT keypoints, strongest first."""
    keypoints = _detector(limit).detect(gray, None)
    return [keypoints[row] for row in strongest(keypoints, limit)]


def _sift(
    gray: NDArray[np.uint8], limit: int | None
) -> tuple[list[cv2.KeyPoint], NDArray[Any] | None]:
    # In one call: describing a subset later would start the pyramid at another octave.
    keypoints, descriptors = _detector(limit).detectAndCompute(gray, None)
    order = strongest(keypoints, limit)
    rows = None if descriptors is None else np.asarray(descriptors)[order]
    return [keypoints[row] for row in order], rows


def _window_descriptor(name: str) -> Any:
    if name == "vgg":
        return cv2.xfeatures2d.VGG.create(desc=_VGG_120, scale_factor=_SIFT_WINDOW)
    return cv2.xfeatures2d.BEBLID.create(_SIFT_WINDOW, cv2.xfeatures2d.BEBLID_SIZE_512_BITS)


def _describe(
    descriptor: Any, gray: NDArray[np.uint8], keypoints: Sequence[cv2.KeyPoint]
) -> NDArray[Any] | None:
    described, descriptors = descriptor.compute(gray, keypoints)
    if len(described) != len(keypoints):
        raise SfumatoError(
            f"OpenCV described {len(described)} of {len(keypoints)} keypoints; "
            "install opencv-contrib-python-headless 5.0."
        )
    return None if descriptors is None else np.asarray(descriptors)


def harris_corners(gray: NDArray[np.uint8]) -> list[cv2.KeyPoint]:
    """Harris corners at whole pixels, strongest first, none closer than 4 pixels to another.

    response = det(M) − .04·trace(M)² over a 3×3 window; diameter HARRIS_DIAMETER; no angle.
    """
    response = cv2.cornerHarris(gray, 3, 3, 0.04)
    side = 2 * _HARRIS_SPACING - 1
    peaks = response == cv2.dilate(response, np.ones((side, side), dtype=np.uint8))
    peaks &= response > max(_HARRIS_FLOOR, _HARRIS_QUALITY * float(response.max()))
    # Where a line leaves the picture, its mirror image beyond the border makes a false corner.
    edge = _HARRIS_SPACING
    inner = np.zeros_like(peaks)
    inner[edge:-edge, edge:-edge] = peaks[edge:-edge, edge:-edge]
    rows, columns = np.nonzero(inner)
    order = np.lexsort((columns, rows, -response[rows, columns]))
    taken = np.zeros(response.shape, dtype=np.bool_)
    reach = _HARRIS_SPACING - 1
    corners: list[cv2.KeyPoint] = []
    for y, x in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if taken[y, x]:
            continue  # one of several equal peaks; the first in reading order stands for them
        taken[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1] = True
        corners.append(
            cv2.KeyPoint(x, y, HARRIS_DIAMETER, 0.0, float(response[y, x]), _HARRIS_OCTAVE)
        )
    return corners


def _at_corners(
    name: str, gray: NDArray[np.uint8], corners: list[cv2.KeyPoint], limit: int | None
) -> tuple[list[cv2.KeyPoint], NDArray[Any] | None]:
    if name == "sift-harris":
        corners = corners[:limit]
        if not corners:
            return corners, None
        return corners, _describe(_detector(None), gray, corners)
    # FREAK leaves out corners near the border: cut afterwards, so that the limit is reached.
    for row, corner in enumerate(corners):
        corner.class_id = row
    kept, descriptors = cv2.xfeatures2d.FREAK.create().compute(gray, corners)
    rows = [point.class_id for point in kept][:limit]
    return [corners[row] for row in rows], None if not rows else np.asarray(descriptors)[:limit]


def root(descriptors: NDArray[Any]) -> NDArray[np.float32]:
    """RootSIFT: √(d / |d|₁), which has unit length."""
    values = descriptors.astype(np.float64)
    totals = np.maximum(values.sum(axis=1, keepdims=True), 1.0)
    return np.asarray(np.sqrt(values / totals), dtype=np.float32)


def _whole_bytes(descriptors: NDArray[Any]) -> NDArray[np.uint8]:
    """The same values as uint8; refused if that would change one of them."""
    stored = np.clip(descriptors, 0, 255).astype(np.uint8)
    if not np.array_equal(stored, descriptors):
        raise SfumatoError(
            "this build of OpenCV gives descriptors that are not whole numbers from 0 to 255; "
            "install opencv-contrib-python-headless 5.0."
        )
    return np.asarray(stored)
