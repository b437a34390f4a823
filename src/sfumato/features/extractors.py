"""The extractors by name, and the one door through which pictures become features."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.plugins import asked_for
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

    def __call__(self, picture: NDArray[np.uint8]) -> Features:
        """All features of a picture, strongest first: what every `Extractor` does."""
        return extract(picture, self.name)


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


class Extractor(Protocol):
    """Your own extractor, for `sf.extract` and `sf.Pipeline`: a name, and a call with a picture.

    What it answers is refused if it is no Features, names another extractor or image size, or
    claims the name of a shipped extractor with descriptors of another kind.

    >>> class Brighter:
    ...     # SIFT of the picture, made brighter.
    ...     name = "sift"
    ...     def __call__(self, picture):
    ...         return sf.extract(np.clip(picture * 1.5, 0, 255).astype(np.uint8))
    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> sf.extract(picture, Brighter())
    Features(27 sift keypoints, 128-D uint8, 64×64)
    """

    @property
    def name(self) -> str:
        """What the features are called: up to 24 lower-case letters, digits or + _ . -"""
        ...

    def __call__(self, picture: NDArray[np.uint8]) -> Features:
        """All features of an upright RGB picture (H, W, 3), strongest first."""
        ...


def extract(
    image: str | os.PathLike[str] | NDArray[Any],
    extractor: str | Extractor = "sift",
    *,
    max_keypoints: int | None = None,
    weights: str | Path | None = None,
) -> Features:
    """Find and describe the keypoints of one picture, strongest first.

    image          a path, or a uint8 array (H, W), (H, W, 3) RGB or (H, W, 4) RGBA
    extractor      the name of one, or your own
    max_keypoints  keep only the strongest; the result is a prefix of the unlimited one
    weights        the file of weights that hardnet and sosnet need; nothing is downloaded

    The same picture gives the same features every time. A picture without keypoints gives
    empty features with the extractor's dimension and dtype.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> sf.extract(picture, max_keypoints=5)
    Features(5 sift keypoints, 128-D uint8, 64×64)
    """
    spec = None
    if isinstance(extractor, str):
        spec = check_request(extractor, max_keypoints=max_keypoints, weights=weights)
    if isinstance(image, str | os.PathLike):
        pixels = load_image(image, max_pixels=MAX_SIFT_PIXELS)
    else:
        pixels = check_image(image)
    if spec is None or not isinstance(extractor, str):
        return _extract_own(pixels, extractor, max_keypoints, weights)
    # OpenCV is imported when the first picture comes, not when sfumato.features is.
    if spec.offline:
        from sfumato.features.opencv import extract_offline

        return extract_offline(pixels, spec, max_keypoints)
    from sfumato.features.learned import extract_learned, load_network

    if weights is None:  # check_request has refused this already; mypy cannot know
        raise InvalidInput(f"{extractor} needs weights=.")
    return extract_learned(pixels, spec, max_keypoints, load_network(extractor, weights))


def _extract_own(
    picture: NDArray[np.uint8],
    extractor: Any,
    max_keypoints: int | None,
    weights: str | Path | None,
) -> Features:
    name = getattr(extractor, "name", None)
    if not callable(extractor) or not isinstance(name, str):
        raise InvalidInput(
            "an extractor must be a name, or have a name and be callable with a picture, got "
            f"{type(extractor).__name__}."
        )
    if weights is not None:
        raise InvalidInput("an extractor of your own takes no weights=; give it them yourself.")
    strongest = None
    if max_keypoints is not None:
        strongest = check_count("max_keypoints", max_keypoints, low=1)
    # One that can stop early is told how many are wanted.
    features = extractor(picture, **asked_for(extractor, max_keypoints=strongest))
    if not isinstance(features, Features):
        raise InvalidInput(
            f"the extractor {name!r} must answer with Features, got {type(features).__name__}."
        )
    size = (picture.shape[1], picture.shape[0])
    if (features.extractor, features.image_size) != (name, size):
        raise Mismatch(
            f"the extractor {name!r} was given a picture of {size[0]}×{size[1]} pixels, its "
            f"features are of {features.extractor!r} and {features.image_size[0]}×"
            f"{features.image_size[1]}."
        )
    check_kind(name, features.descriptors)
    if strongest is not None:
        features = features.take(np.arange(min(strongest, len(features))))
    return features


def check_kind(name: str, descriptors: NDArray[Any]) -> None:
    """Refuse descriptors (N, D) that carry the name of a shipped extractor and are of another kind.

    Whoever asks a map of that name with a photograph would compare what cannot be compared.
    """
    spec = EXTRACTORS.get(name)
    dimension, dtype = descriptors.shape[1], str(descriptors.dtype)
    if spec is None or (dimension, dtype) == (spec.dimension, spec.dtype):
        return
    advice = "choose a name of its own"
    if name == "sift" and (dimension, dtype) == (128, "float32"):
        advice = "hloc's SIFT is rootsift unless it was told otherwise; or " + advice
    raise Mismatch(
        f"{name!r} descriptors are {spec.dimension}-D {spec.dtype}, these are {dimension}-D "
        f"{dtype}; {advice}."
    )


def check_wanted(extractor: str | Extractor, *, max_keypoints: int | None = None) -> None:
    """Refuse, before any picture is opened, what cannot be extracted; your own has been loaded."""
    if isinstance(extractor, str):
        check_request(extractor, max_keypoints=max_keypoints)
    elif max_keypoints is not None:
        check_count("max_keypoints", max_keypoints, low=1)


def extractor_name(extractor: str | Extractor) -> str:
    """What the features of an extractor are called."""
    return extractor if isinstance(extractor, str) else extractor.name


def weights_file(extractor: str | Extractor, weights: str | Path | None) -> str | Path | None:
    """The file that decides what an extractor answers: its weights, or the network itself."""
    own = getattr(extractor, "path", None)
    return own if weights is None and isinstance(own, Path) else weights


def find_extractor(name: str) -> ExtractorSpec:
    """The promise of an extractor, by name."""
    return EXTRACTORS[
        check_choice(
            "extractor",
            name,
            EXTRACTORS,
            otherwise="of a network give the file (.onnx), of others their features (.h5)",
        )
    ]


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
