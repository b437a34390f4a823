"""How far a reconstruction is from the picture: pixels, structure, what VGG16 sees, a critic.

L1 + α·perceptual + β·adversarial [reverse §3], and as options of ours γ·(1 − SSIM) and colour.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from sfumato.adversary.invert.vgg16 import activations, load_vgg16

#: VGG16 is seen at ReLU 1_1, 2_2 and 3_3: after these of its first convolutions.
_SEEN_AFTER = (0, 3, 6)
_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as VGG16 expects


class Perceptual:
    """Mean squared difference of VGG16's activations at ReLU 2, 9 and 16; weights are frozen."""

    def __init__(self, weights: str | Path, device: Any = "cpu") -> None:
        layers, _ = load_vgg16(weights, _SEEN_AFTER[-1] + 1)
        self.layers = [(kernel.to(device), bias.to(device)) for kernel, bias in layers]
        mean, spread = (torch.tensor(row).view(1, 3, 1, 1) for row in (_MEAN, _SPREAD))
        self.mean, self.spread = mean.to(device), spread.to(device)

    def __call__(self, made: Any, real: Any) -> Any:
        with torch.no_grad():
            wanted = self.see(real)
        pairs = zip(self.see(made), wanted, strict=True)
        return sum(functional.mse_loss(a, b) for a, b in pairs) / len(wanted)

    def see(self, pictures: Any) -> list[Any]:
        return activations((pictures - self.mean) / self.spread, self.layers, _SEEN_AFTER)


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


def colour_loss(made: Any, real: Any, side: int = 8) -> Any:
    """Mean absolute difference of blue and red to the brightness, over squares of pixels.

    Colours are an eighth of what L1 sees of a picture; alone, they are worth learning too.
    """
    a, b = (functional.avg_pool2d(x, side) for x in (made, real))
    (r, g, blue), (r2, g2, blue2) = (x.unbind(dim=1) for x in (a, b))
    y, y2 = 0.299 * r + 0.587 * g + 0.114 * blue, 0.299 * r2 + 0.587 * g2 + 0.114 * blue2
    return ((r - y) - (r2 - y2)).abs().mean() + ((blue - y) - (blue2 - y2)).abs().mean()


def critic_loss(real: Any, made: Any) -> Any:
    """Binary cross-entropy of the discriminator: photographs are 1, reconstructions 0."""
    return (
        functional.binary_cross_entropy_with_logits(real, torch.ones_like(real))
        + functional.binary_cross_entropy_with_logits(made, torch.zeros_like(made))
    ) / 2


def fooling_loss(made: Any) -> Any:
    """Small when the discriminator takes the reconstructions for photographs."""
    return functional.binary_cross_entropy_with_logits(made, torch.ones_like(made))
