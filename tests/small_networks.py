"""Weights of EdgePoint2's and ALIKED's layout, random and small, as safetensors files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[np.float32]]


class _Draw:
    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.arrays: Arrays = {}

    def weight(self, name: str, *shape: int) -> None:
        spread = np.sqrt(2 / np.prod(shape[1:]))
        self.arrays[f"{name}.weight"] = self._normal(shape) * np.float32(spread)

    def bias(self, name: str, length: int) -> None:
        self.arrays[f"{name}.bias"] = self._normal((length,)) * np.float32(0.1)

    def norm(self, name: str, length: int) -> None:
        self.arrays[f"{name}.weight"] = 1 + self._normal((length,)) * np.float32(0.1)
        self.bias(name, length)
        self.arrays[f"{name}.running_mean"] = self._normal((length,)) * np.float32(0.1)
        self.arrays[f"{name}.running_var"] = 1 + np.abs(self._normal((length,)))

    def array(self, name: str, *shape: int) -> None:
        spread = np.sqrt(1 / np.prod(shape[:-1]))
        self.arrays[name] = self._normal(shape) * np.float32(spread)

    def _normal(self, shape: tuple[int, ...]) -> NDArray[np.float32]:
        return self._random.normal(size=shape).astype(np.float32)


def edgepoint2_weights(seed: int = 0, *, dimension: int = 32) -> Arrays:
    """4, 8, 16 and 24 channels: groups of 16 divide the 48 that are stacked."""
    made = _Draw(seed)
    first, second, third, fourth, scores = 4, 8, 16, 24, 4
    made.weight("block1.0.layer.0", first, 1, 4, 4)
    made.norm("block1.0.layer.1", first)
    made.weight("block1.1.layer.0", second, first, 3, 3)
    made.norm("block1.1.layer.1", second)
    for block, channels, out in (
        ("block1.2", second, second), ("block2", second, third), ("block3", third, fourth)
    ):  # fmt: skip
        made.weight(f"{block}.layer.0", out, channels, 3, 3)
        made.norm(f"{block}.layer.1", out)
        made.weight(f"{block}.layer.3", out, out, 3, 3)
        made.norm(f"{block}.layer.4", out)
        if channels != out:
            made.weight(f"{block}.skip", out, channels, 1, 1)
            made.bias(f"{block}.skip", out)
    for number, channels in ((1, second), (2, third), (3, fourth)):
        made.weight(f"conv{number}", scores, channels, 1, 1)
        made.bias(f"conv{number}", scores)
    for number, out in ((0, scores), (2, scores), (4, 4)):
        made.weight(f"score_head.{number}", out, scores, 3, 3)
        made.bias(f"score_head.{number}", out)
    stacked = second + third + fourth
    made.weight("desc_head.0", stacked, stacked, 1, 1)
    made.bias("desc_head.0", stacked)
    made.weight("desc_head.1.layer.0", stacked, 16, 3, 3)
    made.norm("desc_head.1.layer.1", stacked)
    made.weight("desc_head.2", dimension, stacked, 1, 1)
    made.bias("desc_head.2", dimension)
    return made.arrays


def aliked_weights(seed: int = 0, *, places: int = 4, dimension: int = 16) -> Arrays:
    """Descriptors of `dimension` columns, looked up at `places` places."""
    made = _Draw(seed)
    widths = (4, 4, 8, 8)
    made.weight("block1.conv1", widths[0], 3, 3, 3)
    made.weight("block1.conv2", widths[0], widths[0], 3, 3)
    for number in (2, 3, 4):
        channels, out = widths[number - 2 : number]
        block = f"block{number}"
        for layer, inside in ((1, channels), (2, out)):
            name = f"{block}.conv{layer}"
            if number == 2:
                made.weight(name, out, inside, 3, 3)
            else:
                made.weight(f"{name}.offset_conv", 18, inside, 3, 3)
                made.bias(f"{name}.offset_conv", 18)
                made.weight(f"{name}.regular_conv", out, inside, 3, 3)
        made.weight(f"{block}.downsample", out, channels, 1, 1)
        made.bias(f"{block}.downsample", out)
    for number, out in enumerate(widths, start=1):
        for layer in (1, 2):
            made.norm(f"block{number}.bn{layer}", out)
        made.weight(f"conv{number}", dimension // 4, out, 1, 1)
    made.weight("score_head.0", 8, dimension, 1, 1)
    made.weight("score_head.2", 4, 8, 3, 3)
    made.weight("score_head.4", 4, 4, 3, 3)
    made.weight("score_head.6", 1, 4, 3, 3)
    made.weight("desc_head.offset_conv.0", 2 * places, dimension, 3, 3)
    made.bias("desc_head.offset_conv.0", 2 * places)
    made.weight("desc_head.offset_conv.2", 2 * places, 2 * places, 1, 1)
    made.bias("desc_head.offset_conv.2", 2 * places)
    made.weight("desc_head.sf_conv", dimension, dimension, 1, 1)
    made.array("desc_head.agg_weights", places, dimension, dimension)
    return made.arrays


WEIGHTS = {"edgepoint2": edgepoint2_weights, "aliked": aliked_weights}


def save_weights(path: Path, arrays: Arrays, **change: Any) -> Path:
    """The arrays as safetensors; `change` replaces what the table says of one of them."""
    table: dict[str, Any] = {}
    body = b""
    for name, array in arrays.items():
        data = array.tobytes()
        ends = [len(body), len(body) + len(data)]
        table[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": ends}
        body += data
    table.update(change)
    text = json.dumps(table).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)
    return path
