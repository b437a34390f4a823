"""The generator [reverse §3], with the sparse input gathered, not stored.

The paper feeds an H×W×C map that is zero but for a few hundred pixels. Here every row is
embedded once, and blocks of 2×2 pixels gather the embeddings of their nearest keypoints and
add what they know of their place: a small function of (descriptor, offset). A U-Net on the
blocks does the rest, and its last layer gives each pixel of a block its own colour: descriptors
say little that is finer than a block, and a quarter of the work is left. Imported only where
torch is installed.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.patches import Patches
from sfumato.adversary.invert.sparse import STRIDE

#: Wavelengths of the waves that tell a pixel its place, in pixels and in diameters.
WAVES_PIXELS = (6.0, 16.0, 48.0)
WAVES_OWN = (1.5, 3.0, 8.0)


class Generator(nn.Module):  # type: ignore[misc,unused-ignore]
    """Rows and pixel maps in, RGB pictures in 0…1 out; batch items share one table of rows.

    rows     (R, C) float32; row 0 is the empty one, all zeros
    index    (B, k, H/2, W/2) int64 into rows
    offsets  (B, k, c, H/2, W/2) float32, see `sparse.PixelMap`
    returns  (B, 3, H, W)
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        a = self.architecture = architecture
        self.patches = Patches(a) if a.framed and a.patches else None
        #: Where the network learns who is around: patches say it at the first level.
        self.context_level = 0 if self.patches is None else 1
        self.embed = nn.Sequential(
            nn.Linear(a.channels, a.hidden), nn.ReLU(), nn.Linear(a.hidden, a.embedding)
        )
        places = 4 + 4 * len(WAVES_PIXELS) + (2 + 4 * len(WAVES_OWN) if a.framed else 0)
        self.place = nn.Conv2d(places, a.embedding, 1)
        levels = a.levels
        context = levels[self.context_level]
        self.mix = nn.Conv2d(a.neighbours * a.embedding, context, 1)
        inputs = [0, *levels[:-1]]
        if self.patches is not None:
            inputs[0] = a.width
        inputs[self.context_level] += context
        blocks = [1] + [a.blocks] * (a.depth - 1)
        self.down = nn.ModuleList(
            _Level(inputs[i], levels[i], blocks[i], a.norm) for i in range(a.depth)
        )
        self.bottom = _block(levels[-1], levels[-1], a.norm)
        # Channels are reduced before upsampling, where a pixel is a quarter of the work.
        self.reduce = nn.ModuleList(
            nn.Conv2d(levels[i + 1], levels[i], 1) for i in range(a.depth - 1)
        )
        self.up = nn.ModuleList(
            _Level(2 * levels[i], levels[i], blocks[i], a.norm) for i in range(a.depth - 1)
        )
        self.brightness = nn.Conv2d(a.width, STRIDE**2, 3, padding=1)
        self.colour = nn.Conv2d(levels[1], 2, 3, padding=1)

    def forward(self, rows: Any, index: Any, offsets: Any) -> Any:
        level, near = self.context_level, self.architecture.neighbours
        step = 1 << level
        context = functional.relu(
            self.mix(
                self._look_around(
                    rows, index[:, :near, ::step, ::step], offsets[:, :near, :, ::step, ::step]
                )
            )
        )
        x = context if self.patches is None else self.patches(rows, index, offsets)
        kept = []
        for i, block in enumerate(self.down):
            if i:
                x = functional.max_pool2d(x, 2)
            if i and i == level:
                x = torch.cat([x, context], dim=1)
            x = block(x)
            kept.append(x)
        x = colour = self.bottom(x)
        for i in reversed(range(len(self.up))):
            x = functional.interpolate(self.reduce[i](x), scale_factor=2.0, mode="nearest")
            x = self.up[i](torch.cat([x, kept[i]], dim=1))
            if i == 1:
                colour = x
        return self._as_rgb(self.brightness(x), self.colour(colour))

    def _as_rgb(self, brightness: Any, colour: Any) -> Any:
        """Brightness of every pixel, colour of 4×4 of them at once: eyes and JPEG do the same."""
        y = functional.pixel_shuffle(brightness, STRIDE)
        cb, cr = functional.interpolate(
            colour, scale_factor=2.0 * STRIDE, mode="bilinear", align_corners=False
        ).split(1, dim=1)
        rgb = [y + 1.402 * cr, y - 0.344 * cb - 0.714 * cr, y + 1.772 * cb]
        return torch.sigmoid(torch.cat(rgb, dim=1))

    def _look_around(self, rows: Any, index: Any, offsets: Any) -> Any:
        """(B, k·E, H/2, W/2): each block's keypoints, and its place relative to them."""
        slots = []
        table = self.embed(rows)
        for slot in range(self.architecture.neighbours):
            seen = functional.embedding(index[:, slot], table).permute(0, 3, 1, 2)
            place = self.place(self._waves(offsets[:, slot]))
            slots.append(functional.relu(seen + place))
        return torch.cat(slots, dim=1)

    def _waves(self, offsets: Any) -> Any:
        """Offsets, distance and presence, and the offsets as sines and cosines."""
        plain, there = offsets[:, :2], offsets[:, 2:3]
        distance = (plain * plain).sum(dim=1, keepdim=True).clamp_min(1e-12).sqrt()
        parts = [plain, distance, there]
        radius = self.architecture.radius
        parts += _sines(plain, [2 * math.pi * radius / wave for wave in WAVES_PIXELS])
        if self.architecture.framed:
            own = offsets[:, 3:5]
            parts += [own, *_sines(own, [2 * math.pi / wave for wave in WAVES_OWN])]
        return torch.cat(parts, dim=1)


def _sines(values: Any, frequencies: list[float]) -> list[Any]:
    return [wave(values * f) for f in frequencies for wave in (torch.sin, torch.cos)]


class _Level(nn.Module):  # type: ignore[misc,unused-ignore]
    """Convolutions of one level; from the second on each adds to what came before."""

    def __init__(self, inputs: int, outputs: int, blocks: int, norm: str) -> None:
        super().__init__()
        self.first = _block(inputs, outputs, norm)
        self.others = nn.ModuleList(_block(outputs, outputs, norm) for _ in range(blocks - 1))

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        for block in self.others:
            x = x + block(x)
        return x


def _block(inputs: int, outputs: int, norm: str) -> Any:
    """3×3 convolution, normalisation, ReLU."""
    layers: list[Any] = [nn.Conv2d(inputs, outputs, 3, padding=1, bias=norm == "none")]
    if norm == "batch":
        layers.append(nn.BatchNorm2d(outputs))
    elif norm == "group":
        # Groups of about eight channels: one silent channel alone would be blown up to noise.
        layers.append(nn.GroupNorm(math.gcd(outputs, max(outputs // 8, 1)), outputs, eps=1e-4))
    return nn.Sequential(*layers, nn.ReLU())
