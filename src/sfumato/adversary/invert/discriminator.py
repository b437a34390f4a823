"""The critic of the painting network [reverse §3]. Imported only where torch is installed."""

from __future__ import annotations

from typing import Any

from torch import nn


class Discriminator(nn.Module):  # type: ignore[misc,unused-ignore]
    """Is this picture a photograph? Logits, several per picture; a sigmoid makes them odds.

    4×4 convolutions of stride 2 with width, width/2, … channels (256 to 4 in the paper),
    leaky ReLU .2, batch normalisation except in the first and last; the last has no
    activation. Seven layers leave 2×2 of a 256×256 picture; smaller ones get fewer.
    """

    def __init__(self, width: int = 256, side: int = 256) -> None:
        super().__init__()
        layers = max(2, min(7, side.bit_length() - 2))
        channels = [3, *(max(width >> i, 1) for i in range(layers))]
        parts: list[Any] = []
        for i in range(layers):
            first, last = i == 0, i == layers - 1
            plain = first or last
            parts.append(nn.Conv2d(channels[i], channels[i + 1], 4, stride=2, padding=1))
            if not plain:
                parts.append(nn.BatchNorm2d(channels[i + 1]))
            if not last:
                parts.append(nn.LeakyReLU(0.2))
        self.layers = nn.Sequential(*parts)

    def forward(self, pictures: Any) -> Any:
        return self.layers(pictures)
