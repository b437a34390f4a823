"""ALIKED's two own layers, against what their definitions say, computed plainly in numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.onnx_file import OnnxFile
from sfumato.features.networks import aliked
from sfumato.features.networks.graph import Graph
from sfumato.features.networks.layers import Weights, padded
from small_networks import aliked_weights

Doubles = NDArray[np.float64]


def selu(values: Doubles) -> Doubles:
    scale, slope = 1.0507009873554805, 1.6732632423543772
    return np.asarray(scale * np.where(values > 0, values, slope * np.expm1(np.minimum(values, 0))))


def bilinear(values: NDArray[Any], x: float, y: float) -> Doubles:
    """(C,) of a map (C, H, W), zero outside."""
    total = np.zeros(len(values))
    for row in (int(np.floor(y)), int(np.floor(y)) + 1):
        for column in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= row < values.shape[1] and 0 <= column < values.shape[2]:
                near = (1 - abs(y - row)) * (1 - abs(x - column))
                total += near * values[:, row, column]
    return total


@pytest.mark.parametrize("moves", ["none", "one down", "drawn"])
def test_a_deformable_convolution_samples_where_it_says(moves: str, tmp_path: Path) -> None:
    arrays = aliked_weights(3)
    name = "block3.conv2"
    if moves != "drawn":
        arrays[f"{name}.offset_conv.weight"][:] = 0
        arrays[f"{name}.offset_conv.bias"][:] = 0
    if moves == "one down":
        arrays[f"{name}.offset_conv.bias"][0::2] = 1  # y of each of the nine
    graph = Graph("deformed")
    value = graph.input("x", "float32", (1, 8, "h", "w"))
    weights = Weights(arrays)
    out = aliked._deformed(graph, weights, "block3", 2, value, 8, 8)
    graph.output("y", out, "float32", (1, 8, "h", "w"))
    (tmp_path / "net.onnx").write_bytes(graph.to_bytes({}))
    given = np.random.default_rng(0).normal(size=(1, 8, 6, 9)).astype(np.float32)
    (found,) = OnnxFile(tmp_path / "net.onnx").run({"x": given})

    kernel, bias = weights.folded(f"{name}.regular_conv", "block3.bn2", (8, 8, 3, 3))
    offsets = _convolved(
        given[0], arrays[f"{name}.offset_conv.weight"], arrays[f"{name}.offset_conv.bias"]
    )
    offsets = np.clip(offsets, -9 / 4, 9 / 4)
    expected = np.zeros((8, 6, 9))
    for y in range(6):
        for x in range(9):
            for k in range(9):
                dy, dx = offsets[2 * k : 2 * k + 2, y, x]
                seen = bilinear(given[0], x + k % 3 - 1 + dx, y + k // 3 - 1 + dy)
                expected[:, y, x] += kernel[:, :, k // 3, k % 3] @ seen
    expected += bias[:, None, None]
    np.testing.assert_allclose(found[0], expected, rtol=1e-3, atol=1e-4)


def _convolved(values: NDArray[Any], kernel: NDArray[Any], bias: NDArray[Any]) -> Doubles:
    wide = np.pad(values.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    height, width = values.shape[1:]
    parts = [
        np.einsum("oc,chw->ohw", kernel[:, :, i, j], wide[:, i : i + height, j : j + width])
        for i in range(3)
        for j in range(3)
    ]
    return np.asarray(sum(parts) + bias[:, None, None])


def test_descriptors_are_those_of_the_stacked_map_that_is_never_made(tmp_path: Path) -> None:
    arrays = aliked_weights(5)
    arrays["desc_head.offset_conv.2.bias"] *= 20  # looked at far off, and outside too
    weights = Weights(arrays)
    graph = Graph("descriptors")
    picture = graph.input("image", "float32", (1, 3, "h", "w"))
    places = graph.input("places", "float32", ("n", 2))
    whole = padded(graph, picture, 32)
    levels = aliked._levels(graph, weights, whole)
    stacked = aliked._Stacked(graph, levels, picture, whole)
    rows, _ = aliked._descriptors(graph, weights, stacked, places)
    graph.output("rows", rows, "float32", ("n", 16))
    for number, level in enumerate(levels):
        graph.output(f"level{number}", level, "float32", (1, 4, f"h{number}", f"w{number}"))
    (tmp_path / "net.onnx").write_bytes(graph.to_bytes({}))
    random = np.random.default_rng(2)
    given = random.random((1, 3, 40, 70)).astype(np.float32)
    keypoints = (random.random((12, 2)) * [66, 36] + 1.5).astype(np.float32)
    found, *maps = OnnxFile(tmp_path / "net.onnx").run({"image": given, "places": keypoints})

    full = np.concatenate([_upsampled(one[0], (64, 96)) for one in maps])[:, :40, :70]
    full /= np.linalg.norm(full, axis=0)
    for keypoint, row in zip(keypoints.astype(np.float64), found, strict=True):
        np.testing.assert_allclose(row, _described(full, arrays, keypoint), atol=2e-3)


def _upsampled(values: NDArray[Any], shape: tuple[int, int]) -> Doubles:
    """The corners stay where they are, and lines between are straight."""
    height, width = values.shape[1:]
    ys, xs = np.linspace(0, height - 1, shape[0]), np.linspace(0, width - 1, shape[1])
    tall = np.array([[np.interp(ys, range(height), line) for line in one.T] for one in values])
    tall = tall.transpose(0, 2, 1)
    return np.array([[np.interp(xs, range(width), line) for line in one] for one in tall])


def _described(full: Doubles, arrays: dict[str, Any], keypoint: Doubles) -> Doubles:
    x, y = np.floor(keypoint).astype(int)
    patch = np.array(
        [[bilinear(full, x + dx, y + dy) for dx in (-1, 0, 1)] for dy in (-1, 0, 1)]
    ).transpose(2, 0, 1)
    hidden = np.einsum("ochw,chw->o", arrays["desc_head.offset_conv.0.weight"], patch)
    hidden = selu(hidden + arrays["desc_head.offset_conv.0.bias"])
    moves = arrays["desc_head.offset_conv.2.weight"][:, :, 0, 0] @ hidden
    moves = np.clip(moves + arrays["desc_head.offset_conv.2.bias"], -70 / 4, 70 / 4)
    total = np.zeros(16)
    for place, (dx, dy) in enumerate(zip(moves[:4], moves[4:], strict=True)):
        seen = bilinear(full, keypoint[0] + dx, keypoint[1] + dy)
        mixed = selu(arrays["desc_head.sf_conv.weight"][:, :, 0, 0] @ seen)
        total += mixed @ arrays["desc_head.agg_weights"][place]
    return np.asarray(total / np.linalg.norm(total))
