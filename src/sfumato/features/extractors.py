"""The extractors by name, and the one door through which pictures become features."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features
from sfumato.features.image import MAX_SIFT_PIXELS, check_image, load_image


@dataclass(frozen=True)
class ExtractorSpec:
    """What an extractor promises about its descriptors.

    dimension  columns of a descriptor; bytes for a binary one, which has 8·dimension bits
    dtype      "uint8" or "float32"
    offline    True if it works without a file of weights from elsewhere
    """

    name: str
    dimension: int
    dtype: str
    binary: bool
    offline: bool
    description: str


_SPECS = (
    ExtractorSpec("sift", 128, "uint8", False, True, "SIFT, whole numbers 0 to 255"),
    ExtractorSpec("rootsift", 128, "float32", False, True, "square root of L1-normalised SIFT"),
    ExtractorSpec(
        "sift-harris", 128, "uint8", False, True, "upright SIFT at Harris corners of one scale"
    ),
    ExtractorSpec("freak", 64, "uint8", True, True, "FREAK, 512 bits, at Harris corners"),
    ExtractorSpec("vgg", 120, "float32", False, True, "learned VGG descriptor at SIFT keypoints"),
    ExtractorSpec("beblid", 64, "uint8", True, True, "BEBLID, 512 bits, at SIFT keypoints"),
    ExtractorSpec("hardnet", 128, "float32", False, False, "HardNet at SIFT keypoints (weights)"),
    ExtractorSpec("sosnet", 128, "float32", False, False, "SOSNet at SIFT keypoints (weights)"),
)

EXTRACTORS: Mapping[str, ExtractorSpec] = MappingProxyType({spec.name: spec for spec in _SPECS})


def extract(
    image: str | os.PathLike[str] | NDArray[Any],
    extractor: str = "sift",
    *,
    max_keypoints: int | None = None,
    weights: str | Path | None = None,
) -> Features:
    """Find and describe the keypoints of one picture, strongest first.

    image          a path, or a uint8 array (H, W), (H, W, 3) RGB or (H, W, 4) RGBA
    max_keypoints  keep only the strongest; the result is a prefix of the unlimited one
    weights        the file of weights that hardnet and sosnet need; nothing is downloaded

    The same picture gives the same features every time. A picture without keypoints gives
    empty features with the extractor's dimension and dtype.
    """
    spec = check_request(extractor, max_keypoints=max_keypoints, weights=weights)
    if isinstance(image, str | os.PathLike):
        pixels = load_image(image, max_pixels=MAX_SIFT_PIXELS)
    else:
        pixels = check_image(image)
    # OpenCV is imported when the first picture comes, not when sfumato.features is.
    if spec.offline:
        from sfumato.features.opencv import extract_offline

        return extract_offline(pixels, spec, max_keypoints)
    from sfumato.features.learned import extract_learned, load_network

    if weights is None:  # check_request has refused this already; mypy cannot know
        raise InvalidInput(f"{extractor} needs weights=.")
    return extract_learned(pixels, spec, max_keypoints, load_network(extractor, weights))


def find_extractor(name: str) -> ExtractorSpec:
    """The promise of an extractor, by name."""
    if name not in EXTRACTORS:
        raise InvalidInput(f"extractor must be one of {', '.join(EXTRACTORS)}, got {name!r}.")
    return EXTRACTORS[name]


def check_request(
    extractor: str, *, max_keypoints: int | None = None, weights: str | Path | None = None
) -> ExtractorSpec:
    """Refuse, before any picture is opened, what cannot be extracted."""
    spec = find_extractor(extractor)
    if max_keypoints is not None:
        check_count("max_keypoints", max_keypoints, low=1)
    if spec.offline:
        if weights is not None:
            raise InvalidInput(f"{extractor} takes no weights, they are part of OpenCV; omit them.")
        return spec
    from sfumato.features.learned import check_available

    check_available(extractor, weights)
    return spec
