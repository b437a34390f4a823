"""ALIKED (BSD-3): descriptors of 64 or 128 columns, read where the network itself says. [aliked]

Four levels at 1, 1/2, 1/8 and 1/32 of the size, the last two with deformable convolutions; each
is brought to a quarter of the descriptor's width, and all are stacked at full size and made unit
length. At a keypoint a 3×3 patch of that says M places to look at, and what is there is mixed.

The stacked map is never made: it would take 800 MB for 1536×1024 pixels. A 1×1 convolution and
bilinear upsampling change places, and descriptors need the map at few pixels only.
Written from the paper and the sizes of its weights; no line is its authors'.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.features.networks.graph import Graph
from sfumato.features.networks.layers import Weights, cropped, padded, unit_length
from sfumato.features.networks.peaks import cut_to, find_peaks, refine

FAMILY = "aliked"
_MULTIPLE = 32
_THRESHOLD = 0.2
_NMS_RADIUS, _BORDER = 2, 2
_TEMPERATURE = 0.1
_UPSAMPLE = (1, 2, 8, 32)
_POOLS = (2, 4, 4)
_MAX_OFFSET = 0.25  # of the longer side


def is_aliked(weights: Weights) -> bool:
    return "desc_head.agg_weights" in weights.arrays


def name_of(weights: Weights) -> str:
    """aliked-n16, by the widths of the arrays; the rotated n16 has the same."""
    size = {64: "t", 128: "n"}.get(weights.width("desc_head.sf_conv.weight"), "x")
    return f"{FAMILY}-{size}{weights.width('desc_head.agg_weights')}"


def write(graph: Graph, weights: Weights, picture: str, limit: str) -> tuple[str, str, str, int]:
    """Keypoints, scores and descriptors of a picture, as values of the graph; and D."""
    whole = padded(graph, picture, _MULTIPLE)
    levels = _levels(graph, weights, whole)
    scores = cropped(graph, _scores(graph, weights, levels), picture)
    peaks = find_peaks(
        graph, scores, limit, radius=_NMS_RADIUS, threshold=_THRESHOLD, border=_BORDER
    )
    places = refine(graph, scores, peaks, radius=_NMS_RADIUS, temperature=_TEMPERATURE)
    stacked = _Stacked(graph, levels, picture, whole)
    described, dimension = _descriptors(graph, weights, stacked, places)
    places, found, rows = cut_to(graph, peaks.count, places, peaks.scores, described)
    return places, found, rows, dimension


def _levels(graph: Graph, weights: Weights, picture: str) -> list[str]:
    """The four levels, each at its own size, a quarter of the descriptor's width."""
    out = weights.width("block1.conv1.weight")
    value = graph.add("Selu", _plain(graph, weights, "block1", 1, picture, 3, out))
    value = graph.add("Selu", _plain(graph, weights, "block1", 2, value, out, out))
    levels = [_narrowed(graph, weights, 1, value, out)]
    for number, pool in enumerate(_POOLS, start=2):
        name, channels = f"block{number}", out
        out = weights.width(f"{name}.downsample.weight")
        value = graph.average(value, pool)
        layer = _plain if number == 2 else _deformed
        inner = graph.add("Selu", layer(graph, weights, name, 1, value, channels, out))
        inner = layer(graph, weights, name, 2, inner, out, out)
        kernel = weights.take(f"{name}.downsample.weight", out, channels, 1, 1)
        bias = weights.take(f"{name}.downsample.bias", out)
        skipped = graph.convolution(value, kernel, bias)
        value = graph.add("Selu", graph.add("Add", inner, skipped))
        levels.append(_narrowed(graph, weights, number, value, out))
    return levels


def _narrowed(graph: Graph, weights: Weights, number: int, value: str, channels: int) -> str:
    quarter = weights.width("desc_head.sf_conv.weight", 1) // len(_UPSAMPLE)
    kernel = weights.take(f"conv{number}.weight", quarter, channels, 1, 1)
    return graph.add("Selu", graph.convolution(value, kernel))


def _plain(
    graph: Graph, weights: Weights, block: str, number: int, value: str, channels: int, out: int
) -> str:
    shape = (out, channels, 3, 3)
    kernel, bias = weights.folded(f"{block}.conv{number}", f"{block}.bn{number}", shape)
    return graph.convolution(value, kernel, bias, padding=1)


def _deformed(
    graph: Graph, weights: Weights, block: str, number: int, value: str, channels: int, out: int
) -> str:
    """A 3×3 convolution whose nine places move: one more convolution says by how much, y then x.

    The nine are sampled as one picture of nine times the height; what was sampled is mixed by a
    1×1 convolution.
    """
    name = f"{block}.conv{number}"
    moves = graph.convolution(
        value,
        weights.take(f"{name}.offset_conv.weight", 18, channels, 3, 3),
        weights.take(f"{name}.offset_conv.bias", 18),
        padding=1,
    )
    height, width = (graph.side(value, axis) for axis in (2, 3))
    most = graph.add(
        "Mul", graph.number(graph.add("Max", height, width)), graph.constant(_MAX_OFFSET)
    )
    moves = graph.add("Max", graph.add("Min", moves, most), graph.add("Neg", most))
    # (9, 2, H, W): y and x of each of the nine.
    sides = graph.add("Concat", graph.integers(9, 2), height, width, axis=0)
    moves = graph.add("Reshape", moves, sides)
    zero, one = graph.constant(0, "int64"), graph.constant(1, "int64")
    steps = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    grid = []
    for axis, (length, shape) in enumerate(((height, (1, -1, 1)), (width, (1, 1, -1)))):
        end = graph.add("Squeeze", length, graph.integers(0))
        line = graph.number(graph.reshape(graph.add("Range", zero, end, one), *shape))
        away = graph.constant(np.array([step[axis] for step in steps]).reshape(9, 1, 1))
        moved = graph.add("Gather", moves, graph.constant(axis, "int64"), axis=1)
        place = graph.add("Add", graph.add("Add", moved, line), away)
        # −1 and 1 are the edges of the map: (2x + 1)/W − 1.
        doubled = graph.add("Mul", place, graph.constant(2.0))
        share = graph.add(
            "Div", graph.add("Add", doubled, graph.constant(1.0)), graph.number(length)
        )
        share = graph.add("Sub", share, graph.constant(1.0))
        grid.append(graph.add("Unsqueeze", share, graph.integers(3)))
    places = graph.add("Concat", grid[1], grid[0], axis=3)
    tall = graph.add("Mul", height, graph.integers(9))
    sides = graph.add("Concat", graph.integers(1), tall, width, graph.integers(2), axis=0)
    sampled = graph.add(
        "GridSample",
        value,
        graph.add("Reshape", places, sides),
        mode="bilinear",
        padding_mode="zeros",
        align_corners=0,
    )
    sides = graph.add("Concat", graph.integers(1, 9 * channels), height, width, axis=0)
    whole = (out, channels, 3, 3)
    kernel, bias = weights.folded(f"{name}.regular_conv", f"{block}.bn{number}", whole)
    kernel = kernel.reshape(out, 9 * channels, 1, 1)
    return graph.convolution(graph.add("Reshape", sampled, sides), kernel, bias)


def _scores(graph: Graph, weights: Weights, levels: list[str]) -> str:
    """(1, 1, H, W) between 0 and 1; the first layer is applied to each level before upsampling."""
    out, channels = (weights.width("score_head.0.weight", axis) for axis in (0, 1))
    kernel = weights.take("score_head.0.weight", out, channels, 1, 1)
    parts = []
    for part, level, times in zip(np.split(kernel, 4, axis=1), levels, _UPSAMPLE, strict=True):
        value = graph.convolution(level, part)
        parts.append(value if times == 1 else graph.upsample(value, times, align_corners=True))
    value = graph.add("Sum", *parts)
    for number in (2, 4, 6):
        channels, out = out, weights.width(f"score_head.{number}.weight")
        kernel = weights.take(f"score_head.{number}.weight", out, channels, 3, 3)
        value = graph.convolution(graph.add("Selu", value), kernel, padding=1)
    if out != 1:
        raise InvalidInput(f"its score_head.6.weight must give 1 channel, it gives {out}.")
    return graph.add("Sigmoid", value)


class _Stacked:
    """The stacked map of unit length, read at whole pixels without being made."""

    def __init__(self, graph: Graph, levels: list[str], picture: str, whole: str) -> None:
        self._graph, self._levels = graph, levels
        self.size = self._last(picture)
        self._span = graph.add("Sub", self._last(whole), graph.constant([1.0]))

    def _last(self, value: str) -> str:
        """Width and height as floats."""
        sides = [self._graph.number(self._graph.side(value, axis)) for axis in (3, 2)]
        return self._graph.add("Concat", *sides, axis=0)

    def at(self, places: str) -> str:
        """(1, C, N, P) at whole pixels (N, P, 2); zero outside of the picture."""
        graph = self._graph
        share = graph.add("Div", graph.add("Mul", places, graph.constant(2.0)), self._span)
        grid = graph.add("Sub", share, graph.constant(1.0))
        grid = graph.add("Unsqueeze", grid, graph.integers(0))
        parts = [
            graph.add(
                "GridSample",
                level,
                grid,
                mode="bilinear",
                padding_mode="border",
                align_corners=1,
            )
            for level in self._levels
        ]
        rows = unit_length(graph, graph.add("Concat", *parts, axis=1), 1)
        low = graph.add("GreaterOrEqual", places, graph.constant(0.0))
        high = graph.add("Less", places, self.size)
        inside = graph.number(graph.add("And", low, high))
        both = graph.add("ReduceMin", inside, axes=[2], keepdims=0)
        return graph.add("Mul", rows, both)


def _descriptors(graph: Graph, weights: Weights, stacked: _Stacked, places: str) -> tuple[str, int]:
    """(N, D) of unit length, at places (N, 2) between pixels."""
    number, channels, dimension = (
        weights.width("desc_head.agg_weights", axis) for axis in range(3)
    )
    centre = graph.add("Unsqueeze", places, graph.integers(1))
    around = [(dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    patch = stacked.at(graph.add("Add", graph.add("Floor", centre), graph.constant(around)))
    patch = graph.add("Transpose", graph.reshape(patch, channels, -1, 9), perm=[1, 0, 2])
    out = weights.width("desc_head.offset_conv.0.weight")
    moves = graph.convolution(
        graph.reshape(patch, -1, channels, 3, 3),
        weights.take("desc_head.offset_conv.0.weight", out, channels, 3, 3),
        weights.take("desc_head.offset_conv.0.bias", out),
    )
    moves = graph.convolution(
        graph.add("Selu", moves),
        weights.take("desc_head.offset_conv.2.weight", 2 * number, out, 1, 1),
        weights.take("desc_head.offset_conv.2.bias", 2 * number),
    )
    longer = graph.add("ReduceMax", stacked.size, axes=[0], keepdims=0)
    most = graph.add("Mul", longer, graph.constant(_MAX_OFFSET))
    moves = graph.add("Max", graph.add("Min", moves, most), graph.add("Neg", most))
    # All x, then all y.
    moves = graph.add("Transpose", graph.reshape(moves, -1, 2, number), perm=[0, 2, 1])
    looked_at = graph.add("Add", centre, moves)
    sampled = _between(graph, stacked, looked_at, number, channels)
    mixed = graph.convolution(
        sampled, weights.take("desc_head.sf_conv.weight", channels, channels, 1, 1)
    )
    mixed = graph.add("Transpose", graph.add("Selu", mixed), perm=[0, 2, 3, 1])
    kernel = weights.take("desc_head.agg_weights", number, channels, dimension)
    rows = graph.add(
        "MatMul",
        graph.reshape(mixed, -1, number * channels),
        graph.constant(kernel.reshape(number * channels, dimension)),
    )
    return unit_length(graph, rows, 1), dimension


def _between(graph: Graph, stacked: _Stacked, places: str, number: int, channels: int) -> str:
    """(1, C, N, M) at places (N, M, 2) between pixels: of the four around, weighed by nearness."""
    corner = graph.add("Floor", places)
    share = graph.add("Sub", places, corner)
    corners = graph.add("Unsqueeze", corner, graph.integers(2))
    corners = graph.add("Add", corners, graph.constant([(0, 0), (1, 0), (0, 1), (1, 1)]))
    values = stacked.at(graph.reshape(corners, -1, 4 * number, 2))
    # Along each axis 1 − s for the corner below and s for the one above: |1 − c − s|.
    away = graph.constant([(1, 1), (0, 1), (1, 0), (0, 0)])
    near = graph.add("Sub", away, graph.add("Unsqueeze", share, graph.integers(2)))
    weights = graph.add("ReduceProd", graph.add("Abs", near), axes=[3], keepdims=0)
    weighed = graph.add("Mul", graph.reshape(values, channels, -1, number, 4), weights)
    total = graph.add("ReduceSum", weighed, graph.integers(3), keepdims=0)
    return graph.add("Unsqueeze", total, graph.integers(0))
