"""A descriptor's patch is read where a pixel lies in the keypoint's own frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.sparse import map_pixels

pytestmark = pytest.mark.needs("train")


def reader(values: np.ndarray[Any, np.dtype[np.float32]]) -> Any:
    """Patches of one channel that show these cells whatever the row, and pass them through."""
    import torch

    from sfumato.adversary.invert.patches import Patches

    a = Architecture(channels=2, frames="given", patches=1, width=2, neighbours=1, covering=0)
    patches = Patches(a)
    with torch.no_grad():
        for weight in patches.parameters():
            weight.zero_()
        patches.decode[2].bias.copy_(torch.from_numpy(values.ravel()))
        patches.slot.weight.copy_(torch.eye(5))
        patches.mix.weight[0, 0] = 1  # what was read
        patches.mix.weight[1, 4] = 1  # whether inside
    return patches


def read(patches: Any, angle: float) -> Any:
    import torch

    options = Architecture(channels=2, frames="given", neighbours=1, covering=0).map_options
    point, size = np.array([[31.5, 31.5]]), np.array([8.0])
    pixels = map_pixels(point, (64, 64), options, scales=size, angles=np.array([angle]))
    rows = torch.zeros(2, 2)
    with torch.inference_mode():
        made = patches(
            rows, torch.from_numpy(pixels.index)[None], torch.from_numpy(pixels.offsets)[None]
        )
    return made[0].numpy()


def test_a_patch_lies_in_the_picture_turned_by_its_angle() -> None:
    from sfumato.adversary.invert.patches import PATCH_REACH, PATCH_SIDE

    # Each cell holds its own x in diameters, plus 4 to stay positive.
    middle = (np.arange(PATCH_SIDE) + 0.5) / PATCH_SIDE * 2 - 1
    across = np.tile(PATCH_REACH * middle + 4, (PATCH_SIDE, 1)).astype(np.float32)
    patches = reader(across)
    x = (np.arange(32) * 2 + 0.5 - 31.5) / 8
    inner = slice(6, 26)  # not beyond the middle of the outermost cells
    upright, turned = read(patches, 0.0), read(patches, 90.0)
    assert upright[0, inner, inner] == pytest.approx(np.tile(x[inner] + 4, (20, 1)), abs=1e-5)
    # Turned by 90° clockwise the patch's x points down.
    assert turned[0, inner, inner] == pytest.approx(np.tile(x[inner, None] + 4, (1, 20)), abs=1e-5)


def test_outside_its_window_a_patch_says_nothing() -> None:
    from sfumato.adversary.invert.patches import PATCH_REACH, PATCH_SIDE

    made = read(reader(np.full((PATCH_SIDE, PATCH_SIDE), 7, np.float32)), 0.0)
    x = np.abs((np.arange(32) * 2 + 0.5 - 31.5) / 8)
    inside = (x[:, None] < PATCH_REACH) & (x[None] < PATCH_REACH)
    assert 0 < inside.mean() < 1
    assert made[0] == pytest.approx(7 * inside, abs=1e-5)
    assert made[1] == pytest.approx(inside.astype(float))
