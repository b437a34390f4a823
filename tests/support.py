"""Small worlds shared by the tests."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.releases import (
    CandidateRelease,
    CodeRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    WordRelease,
)
from sfumato.core.types import Camera, Features
from sfumato.dictionary import Dictionary


def photograph() -> NDArray[np.uint8]:
    """The astronaut of scikit-image, 512×512."""
    from skimage import data

    picture: Any = data.astronaut()  # type: ignore[no-untyped-call]
    return np.asarray(picture, dtype=np.uint8)


CAMERA = Camera("PINHOLE", 640, 480, (500.0, 510.0, 320.0, 240.0))


def tiny_dictionary(num_words: int, dimension: int = 8, seed: int = 0) -> Dictionary:
    """Distinct random words of an invented extractor."""
    words = np.random.default_rng(seed).normal(size=(num_words, dimension))
    return Dictionary.from_words(words.astype(np.float32), extractor="tiny", metric="l2")


def features_of(
    descriptors: NDArray[Any],
    *,
    extractor: str = "tiny",
    image_size: tuple[int, int] = (640, 480),
    seed: int = 0,
) -> Features:
    """Features with these descriptors at random positions, strongest first."""
    generator = np.random.default_rng(seed)
    count = len(descriptors)
    return Features(
        keypoints=(generator.random((count, 2)) * (np.array(image_size) - 1)).astype(np.float32),
        descriptors=descriptors,
        scores=np.linspace(1, 0.1, count, dtype=np.float32),
        scales=np.full(count, 4, dtype=np.float32),
        angles=np.zeros(count, dtype=np.float32),
        image_size=image_size,
        extractor=extractor,
    )


def one_of_each_release(count: int = 23, seed: int = 5) -> dict[str, Release]:
    """A valid release of every kind; some rows share a position, as SIFT's do."""
    generator = np.random.default_rng(seed)
    keypoints = (generator.random((count, 2)) * (639, 479)).astype(np.float32)
    if count > 3:
        keypoints[3] = keypoints[1] = keypoints[2]
    place: dict[str, Any] = {
        "keypoints": keypoints,
        "image_size": (640, 480),
        "extractor": "sift",
        "camera": CAMERA,
    }
    bases = np.linalg.qr(generator.normal(size=(count, 8, 3)))[0].transpose(0, 2, 1)
    offsets = generator.normal(size=(count, 8)).astype(np.float32)
    words = np.sort(generator.permuted(np.tile(np.arange(300), (count, 1)), axis=1)[:, :2], axis=1)
    candidates = np.sort(generator.integers(0, 256, (count, 2, 1), dtype=np.uint8), axis=1)
    candidates = np.concatenate(
        [candidates, generator.integers(0, 256, (count, 2, 7), dtype=np.uint8)], axis=2
    )
    candidates[:, 1, 0] |= 1
    candidates[:, 0, 0] &= 0
    return {
        "plain": PlainRelease(
            descriptors=generator.integers(0, 256, (count, 16), dtype=np.uint8), **place
        ),
        "plain-float": PlainRelease(
            descriptors=generator.normal(size=(count, 5)).astype(np.float32), **place
        ),
        "words": WordRelease(
            words=words.astype(np.uint32),
            num_words=300,
            dictionary="ab" * 32,
            epsilon=10.0,
            **place,
        ),
        "candidates": CandidateRelease(candidates=candidates, epsilon=2.0, **place),
        "subspaces": SubspaceRelease(offsets=offsets, bases=bases.astype(np.float32), **place),
        "subspaces-half": SubspaceRelease(
            offsets=offsets.astype(np.float16), bases=bases.astype(np.float16), **place
        ),
        "codes": CodeRelease(
            codes=generator.integers(0, 16, count).astype(np.uint32),
            positions=np.sort(generator.permutation(500)[:count]).astype(np.uint32),
            num_values=16,
            num_positions=500,
            epsilon=0.5,
            encoder="pixels",
            label=3,
        ),
    }


def hide_packages(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """From now on these packages seem not to be installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in names else find(name)
    )
