"""Invented people for tests: embeddings in clusters, folders in the layouts of public datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from onnx_models import integers, node, write_model


def invented_people(
    num_people: int = 30, num_pictures: int = 6, dimension: int = 32, seed: int = 0
) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Embeddings of people who are easy to tell apart, and whose each is."""
    generator = np.random.default_rng(seed)
    people = generator.normal(size=(num_people, 1, dimension))
    noise = 0.25 * generator.normal(size=(num_people, num_pictures, dimension))
    vectors = (people + noise).reshape(-1, dimension).astype(np.float32)
    return vectors, tuple(f"s{i:02d}" for i in range(num_people) for _ in range(num_pictures))


def write_people(folder: Path, identities: tuple[str, ...], vectors: NDArray[Any]) -> Path:
    """An identity folder of gray pictures, and their embeddings beside it as .npz."""
    names = []
    for number, person in enumerate(identities):
        (folder / person).mkdir(parents=True, exist_ok=True)
        Image.new("L", (20, 20), number % 256).save(folder / person / f"{number}.png")
        names.append(f"{person}/{number}.png")
    file = folder.with_suffix(".npz")
    np.savez(file, names=np.array(names), embeddings=vectors)
    return file


def write_utkface(folder: Path, count: int = 240, seed: int = 0) -> None:
    """Pictures of no faces, in UTKFace's names: gender shows in the colours, race a little."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(seed)
    for number in range(count):
        gender, race = int(generator.integers(2)), int(generator.integers(3))
        picture = generator.normal(128, 40, (64, 64, 3))
        picture[:, :32, 0] += 12 * (2 * gender - 1)
        picture[:20, :, 1] += 6 * (race - 1)
        age = int(generator.integers(1, 90))
        name = f"{age}_{gender}_{race}_{20170109000000000 + number}.jpg"
        Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(folder / name, quality=95)


def pooling_model(path: Path, side: int = 64) -> Path:
    """A network that "embeds" a picture as the mean colours of its 8×8 blocks."""
    step = side // 8
    pool = node(
        "AveragePool",
        ["x"],
        "pooled",
        integers("kernel_shape", [step, step]),
        integers("strides", [step, step]),
    )
    return write_model(
        path,
        [pool, node("Flatten", ["pooled"], "out")],
        {"x": (1, 3, side, side)},
        {"out": (1, 192)},
    )
