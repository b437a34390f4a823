"""The releases behind `tests/golden/wire`: small, and computed without any random generator.

Every number comes from whole-number arithmetic or from fractions that IEEE 754 rounds in one way,
so that the same bytes come out on every machine and with every version of NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.cube import corner_length
from sfumato.core.releases import (
    CandidateRelease,
    CodeRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    VectorRelease,
    WordRelease,
)
from sfumato.core.types import CAMERA_MODELS, Camera

FINGERPRINT = bytes(range(7, 39)).hex()
PARAMS = (500.25, 510.5, 320.125, 240.0, -0.1, 0.02, 0.001, -0.0005, 1e-9, -2.5e-300, 3.0, 0.0)
#: On both sides of powers of two, where the width of an index changes.
SIZES = (2, 3, 4, 5, 255, 256, 257, 16_383, 16_384, 16_385, 256_000, 1 << 24)


def steps(count: int, *, seed: int = 0) -> list[int]:
    """Whole numbers below 2^31 that look scattered."""
    state, out = 12_345 + seed, []
    for _ in range(count):
        state = (state * 1_103_515_245 + 12_345) % (1 << 31)
        out.append(state >> 3)
    return out


def place(count: int, image_size: tuple[int, int] = (640, 480), **more: Any) -> dict[str, Any]:
    """Positions in eighths of a pixel; the last row stands where the first does."""
    width, height = image_size
    scattered = steps(2 * count)
    keypoints = [
        (scattered[2 * i] % (8 * width - 7) / 8, scattered[2 * i + 1] % (8 * height - 7) / 8)
        for i in range(count)
    ]
    if count > 2:
        keypoints[-1] = keypoints[0]
    array = np.array(keypoints, dtype=np.float32).reshape(count, 2)
    return {"keypoints": array, "image_size": image_size, "extractor": "sift", **more}


def values(shape: tuple[int, ...], dtype: Any, *, seed: int = 1) -> NDArray[Any]:
    scattered = np.array(steps(math.prod(shape), seed=seed), dtype=np.int64).reshape(shape)
    if dtype == np.uint8:
        return (scattered % 256).astype(np.uint8)
    return ((scattered % 4096 - 2048) / 256).astype(dtype)  # exact in float16


def word_rows(count: int, num_words: int, subset_size: int) -> NDArray[np.uint32]:
    """Strictly increasing rows; one begins with word 0, one ends with the last word."""
    rows = []
    for i in range(count):
        first = steps(1, seed=i)[0] % (num_words - subset_size + 1)
        rows.append([first + j for j in range(subset_size)])
    rows[0] = list(range(subset_size))
    rows[1] = list(range(num_words - subset_size, num_words))
    return np.array(rows, dtype=np.uint32)


def words(num_words: int, subset_size: int, epsilon: float = 10.0, **more: Any) -> WordRelease:
    return WordRelease(
        words=word_rows(5, num_words, subset_size),
        num_words=num_words,
        dictionary=FINGERPRINT,
        epsilon=epsilon,
        **{**place(5), **more},
    )


def bases(count: int, dimension: int, ambient: int, dtype: Any) -> NDArray[Any]:
    """Orthonormal rows (.6, .8) or (−.8, .6) in planes of their own, or unit vectors."""
    out = np.zeros((count, dimension, ambient))
    for i in range(count):
        for j in range(dimension):
            if 2 * dimension <= ambient:
                pair = (0.6, 0.8) if (i + j) % 2 else (-0.8, 0.6)
                out[i, j, 2 * j : 2 * j + 2] = pair
            else:
                out[i, j, (i + j) % ambient] = 1 if j % 2 else -1
    return out.astype(dtype)


def subspaces(dimension: int, ambient: int, dtype: Any, **more: Any) -> SubspaceRelease:
    return SubspaceRelease(
        offsets=values((4, ambient), dtype),
        bases=bases(4, dimension, ambient, dtype),
        **{**place(4), **more},
    )


def vectors(dimension: int, cap_bits: int, count: int = 3, **more: Any) -> VectorRelease:
    length = corner_length(dimension)
    bits = (values((count, length), np.uint8, seed=dimension) >> 3 & 1).astype(np.uint8)
    return VectorRelease(
        signs=bits,
        dimension=dimension,
        cap_bits=cap_bits,
        **{"epsilon": 10.0, "space": FINGERPRINT, **place(count), **more},
    )


def codes(num_values: int, num_positions: int, sent: list[int], **more: Any) -> CodeRelease:
    """Codes that contain the smallest and the largest value where there is room for both."""
    picked = [step % num_values for step in steps(len(sent))]
    picked[:2] = [num_values - 1, 0][: len(sent)]
    return CodeRelease(
        codes=np.array(picked, dtype=np.uint32),
        positions=np.array(sent, dtype=np.uint32),
        num_values=num_values,
        num_positions=num_positions,
        **{"epsilon": 0.5, "encoder": "pixels", **more},
    )


def cases() -> dict[str, Release]:
    """Every release that has a golden file, by the name of the file."""
    out: dict[str, Release] = {}
    whole = np.array([[0, 0, 255], [1, 0, 0], [0, 1, 0], [255, 255, 255], [0, 0, 254]], np.uint8)
    out["plain-uint8"] = PlainRelease(descriptors=whole, **place(5))
    line = np.array([[9.0, 3.0], [1.0, 3.0], [300.125, 3.0], [2.0, 2.0]], dtype=np.float32)
    out["plain-one-line"] = PlainRelease(  # one y: x decides, not the content
        descriptors=np.array([[2], [3], [1], [9]], np.uint8), **{**place(4), "keypoints": line}
    )
    out["plain-uint8-128"] = PlainRelease(descriptors=values((2, 128), np.uint8), **place(2))
    tricky = [[-0.0, 1e-45, 3.4e38], [1 / 3, -1.5, 0.1], [2.0, 0.0, -7.25]]
    out["plain-float32"] = PlainRelease(descriptors=np.array(tricky, np.float32), **place(3))
    out["plain-empty"] = PlainRelease(descriptors=np.zeros((0, 128), np.uint8), **place(0))
    out["plain-float32-empty"] = PlainRelease(descriptors=np.zeros((0, 7), np.float32), **place(0))
    one = values((1, 2), np.uint8)
    out["reproducible"] = PlainRelease(descriptors=one, **place(1, reproducible=True))
    for name in ("a", "abcdefghijklmnopqrstuvwx", "x9+_.-"):
        out[f"extractor-{len(name)}"] = PlainRelease(
            descriptors=one, **{**place(1), "extractor": name}
        )
    for size in ((1, 1), (8192, 3), (8193, 3), (3, 16_384), (16_385, 7), (65_536, 65_536)):
        out[f"picture-{size[0]}x{size[1]}"] = PlainRelease(
            descriptors=values((3, 2), np.uint8), **place(3, size)
        )
    for model, count in CAMERA_MODELS.items():
        camera = Camera(model, 640, 480, PARAMS[:count])
        out[f"camera-{model.lower()}"] = words(300, 2, camera=camera)
    for num_words in SIZES:
        for subset_size in (1, 2, 3):
            if subset_size < num_words and (subset_size < 3 or num_words in (5, 257, 16_384)):
                out[f"words-{num_words}-{subset_size}"] = words(num_words, subset_size)
    out["words-9-8"] = words(9, 8, 64.0)
    out["words-quantised"] = words(1000, 1, math.inf)
    out["words-tied"] = WordRelease(  # one position: the bytes of the rows decide, 256 before 1
        words=np.array([[1, 2], [256, 300], [0, 511], [65_536, 65_537]], dtype=np.uint32),
        num_words=70_000,
        dictionary=FINGERPRINT,
        epsilon=0.1,
        **{**place(4), "keypoints": np.full((4, 2), 7.125, dtype=np.float32)},
    )
    out["words-empty"] = WordRelease(
        words=np.zeros((0, 2), np.uint32),
        num_words=300,
        dictionary=FINGERPRINT,
        epsilon=1.0,
        **place(0),
    )
    for subset_size, dimension in ((1, 1), (2, 4), (3, 5)):
        rows = values((3, subset_size, dimension), np.uint8)
        rows[:, :, 0] = [[120 * i + 5 * j for j in range(subset_size)] for i in range(3)]
        out[f"candidates-{subset_size}-{dimension}"] = CandidateRelease(
            candidates=rows, epsilon=2.0, **place(3)
        )
    for half, dtype in (("float32", np.float32), ("float16", np.float16)):
        for dimension, ambient in ((1, 2), (2, 5), (3, 4), (4, 8)):
            name = f"subspaces-{half}-{dimension}-{ambient}"
            out[name] = subspaces(dimension, ambient, dtype)
    out["subspaces-camera"] = subspaces(
        1, 3, np.float32, camera=Camera("PINHOLE", 640, 480, PARAMS[:4])
    )
    for dimension, bits in ((2, 1), (16, 16), (17, 9), (128, 9), (1024, 62)):
        out[f"vectors-{dimension}-{bits}"] = vectors(dimension, bits)
    out["vectors-one"] = vectors(32, 3, 1, space="0" * 64, epsilon=0.5)
    out["vectors-empty"] = vectors(128, 9, 0)
    for num_values in (2, 3, 16, 17, 255, 256, 257, 65_537):
        out[f"codes-{num_values}"] = codes(num_values, 6, list(range(6)))
        out[f"codes-{num_values}-partial"] = codes(num_values, 100, [0, 7, 50, 98, 99])
    for num_positions in (1, 128, 129):
        out[f"codes-of-{num_positions}"] = codes(4, num_positions, [num_positions - 1])
    out["codes-none"] = codes(4, 100, [])
    for label in (0, (1 << 31) - 1):
        out[f"codes-label-{label}"] = codes(10, 20, [3, 5, 19], label=label)
    out["codes-clean"] = codes(10, 3, [0, 1, 2], epsilon=math.inf, label=7, reproducible=True)
    return out
