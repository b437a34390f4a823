"""A descriptor as a patch of the picture, turned and scaled into its place.

Imported only where torch is installed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from sfumato.adversary.invert.architecture import Architecture

#: Cells of a patch a side, half of SIFT's; it ends so many diameters from the keypoint.
PATCH_SIDE = 8
PATCH_REACH = 3.2
PATCH_HIDDEN = 256


class Patches(nn.Module):  # type: ignore[misc,unused-ignore]
    """Each row as a small patch in the keypoint's own frame, read where a pixel lies in it.

    A descriptor tells of 4×4 cells around its keypoint. Laid out as a patch, turned and scaled
    into place, what it says of a pixel stands at that pixel. Channels are scalars (brightness,
    how sharp, how certain), which do not change when a patch is turned.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.channels = architecture.patches
        self.decode = nn.Sequential(
            nn.Linear(architecture.channels, PATCH_HIDDEN),
            nn.ReLU(),
            nn.Linear(PATCH_HIDDEN, PATCH_SIDE**2 * self.channels),
        )
        # Beside what is read: the place in the own frame, how near, and whether inside.
        width = self.channels + 4
        self.slot = nn.Linear(width, width)
        self.mix = nn.Linear(architecture.map_options.slots * width, architecture.width)

    def forward(self, rows: Any, index: Any, offsets: Any) -> Any:
        """(B, width, H/2, W/2): what the keypoints of each block say of it, mixed."""
        there, own = offsets[:, :, 2], offsets[:, :, 3:5]
        inside = there * (own.abs().amax(dim=2) < PATCH_REACH)
        cells = ((own / PATCH_REACH).clamp(-1, 1) + 1) * (PATCH_SIDE / 2) - 0.5
        low = cells.floor()
        part = cells - low
        corners, weights = [], []
        for step_y in (0, 1):
            for step_x in (0, 1):
                x, y = low[:, :, 0] + step_x, low[:, :, 1] + step_y
                wx = part[:, :, 0] if step_x else 1 - part[:, :, 0]
                wy = part[:, :, 1] if step_y else 1 - part[:, :, 1]
                x, y = (value.clamp(0, PATCH_SIDE - 1).long() for value in (x, y))
                corners.append((index * PATCH_SIDE + y) * PATCH_SIDE + x)
                weights.append(wx * wy * inside)
        table = self.decode(rows).reshape(-1, self.channels).to(offsets.dtype)
        seen = _weighted_rows(table, torch.stack(corners, -1), torch.stack(weights, -1))
        near = torch.exp(-own.square().sum(dim=2)) * there
        place = torch.stack([own[:, :, 0], own[:, :, 1], near, inside], dim=-1)
        slots = functional.relu(self.slot(torch.cat([seen, place], dim=-1)))
        side_by_side = slots.permute(0, 2, 3, 1, 4).flatten(3)
        return functional.relu(self.mix(side_by_side)).permute(0, 3, 1, 2)


def _weighted_rows(table: Any, index: Any, weights: Any) -> Any:
    """(…, C): rows of a table at the last axis of the index, weighted and added."""
    if torch.onnx.is_in_onnx_export():
        return (functional.embedding(index, table) * weights.unsqueeze(-1)).sum(dim=-2)
    # The same in one pass, several times as fast; ONNX does not have it.
    flat = functional.embedding_bag(
        index.reshape(-1, index.shape[-1]),
        table,
        per_sample_weights=weights.reshape(-1, index.shape[-1]),
        mode="sum",
    )
    return flat.reshape(*index.shape[:-1], -1)
