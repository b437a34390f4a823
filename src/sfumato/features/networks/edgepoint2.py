"""EdgePoint2 (MIT): a small network whose descriptors have 32 or 64 columns.

    A  half size      kernel 4 and stride 2, a convolution, a residual
    B  quarter        A averaged
    C  eighth         B averaged, a residual
    D  thirty-second  C averaged, a residual
    descriptors at quarter size of B, C and D; scores at full size of A, C and D

Written from the sizes of its weights and a description in words; no line is its authors'.
"""

from __future__ import annotations

from sfumato.features.networks.graph import Graph
from sfumato.features.networks.layers import Weights, cropped, padded, unit_length
from sfumato.features.networks.peaks import cut_to, find_peaks

FAMILY = "edgepoint2"
_MULTIPLE = 32
_GROUP = 16
_NORM_FLOOR = 1e-5
_THRESHOLD = -5.0  # of the score before the sigmoid
_NMS_RADIUS, _BORDER = 2, 4
#: Channels of the widest level tell the size: T, S, M or E.
_SIZES = {24: "t", 32: "s", 48: "m", 64: "e"}


def is_edgepoint2(weights: Weights) -> bool:
    return "block1.0.layer.0.weight" in weights.arrays


def name_of(weights: Weights) -> str:
    """edgepoint2-t32, by the widths of the arrays."""
    size = _SIZES.get(weights.width("conv3.weight", 1), "x")
    return f"{FAMILY}-{size}{weights.width('desc_head.2.weight')}"


def write(graph: Graph, weights: Weights, picture: str, limit: str) -> tuple[str, str, str, int]:
    """Keypoints, scores and descriptors of a picture, as values of the graph; and D."""
    gray = graph.add("ReduceMean", picture, axes=[1], keepdims=1)
    even = graph.add(
        "InstanceNormalization",
        gray,
        graph.constant([1.0]),
        graph.constant([0.0]),
        epsilon=_NORM_FLOOR,
    )
    whole = padded(graph, even, _MULTIPLE)
    level_a, level_b, level_c, level_d = _levels(graph, weights, whole)
    logits = cropped(graph, _scores(graph, weights, (level_a, level_c, level_d)), picture)
    peaks = find_peaks(
        graph, logits, limit, radius=_NMS_RADIUS, threshold=_THRESHOLD, border=_BORDER
    )
    described, dimension = _descriptors(graph, weights, (level_b, level_c, level_d))
    # x pixels of the picture are (2x + 1)/W − 1 where −1 and 1 are its edges.
    sides = [graph.number(graph.side(whole, axis)) for axis in (3, 2)]
    size = graph.add("Concat", *sides, axis=0)
    doubled = graph.add("Mul", peaks.positions, graph.constant([2.0]))
    share = graph.add("Div", graph.add("Add", doubled, graph.constant([1.0])), size)
    grid = graph.add("Sub", share, graph.constant([1.0]))
    grid = graph.add("Unsqueeze", grid, graph.integers(0, 1))
    sampled = graph.add(
        "GridSample", described, grid, mode="bilinear", padding_mode="border", align_corners=0
    )
    rows = graph.add("Transpose", graph.reshape(sampled, dimension, -1), perm=[1, 0])
    scores = graph.add("Sigmoid", peaks.scores)
    found = (peaks.positions, scores, unit_length(graph, rows, 1))
    places, scores, rows = cut_to(graph, peaks.count, *found)
    return places, scores, rows, dimension


#: A map, and how many channels it has.
Level = tuple[str, int]


def _levels(graph: Graph, weights: Weights, picture: str) -> tuple[Level, Level, Level, Level]:
    first = weights.width("block1.0.layer.0.weight")
    second = weights.width("block1.1.layer.0.weight")
    kernel, bias = weights.folded("block1.0.layer.0", "block1.0.layer.1", (first, 1, 4, 4))
    stem = graph.add("Relu", graph.convolution(picture, kernel, bias, stride=2, padding=1))
    stem = _unit(graph, weights, "block1.1", stem, first, second)
    level_a = _residual(graph, weights, "block1.2", stem, second, second)
    level_b = graph.average(level_a, 2)
    third = weights.width("block2.layer.0.weight")
    level_c = _residual(graph, weights, "block2", graph.average(level_b, 2), second, third)
    fourth = weights.width("block3.layer.0.weight")
    level_d = _residual(graph, weights, "block3", graph.average(level_c, 4), third, fourth)
    return (level_a, second), (level_b, second), (level_c, third), (level_d, fourth)


def _unit(
    graph: Graph, weights: Weights, name: str, value: str, channels: int, out: int, groups: int = 1
) -> str:
    shape = (out, channels // groups, 3, 3)
    kernel, bias = weights.folded(f"{name}.layer.0", f"{name}.layer.1", shape)
    return graph.add("Relu", graph.convolution(value, kernel, bias, padding=1, groups=groups))


def _residual(
    graph: Graph, weights: Weights, name: str, value: str, channels: int, out: int
) -> str:
    inner = _unit(graph, weights, name, value, channels, out)
    kernel, bias = weights.folded(f"{name}.layer.3", f"{name}.layer.4", (out, out, 3, 3))
    changed = graph.convolution(inner, kernel, bias, padding=1)
    if f"{name}.skip.weight" in weights.arrays:
        value = _pointwise(graph, weights, f"{name}.skip", value, channels, out)
    return graph.add("Relu", graph.add("Add", changed, value))


def _pointwise(
    graph: Graph, weights: Weights, name: str, value: str, channels: int, out: int
) -> str:
    kernel = weights.take(f"{name}.weight", out, channels, 1, 1)
    return graph.convolution(value, kernel, weights.take(f"{name}.bias", out))


def _descriptors(
    graph: Graph, weights: Weights, levels: tuple[Level, Level, Level]
) -> tuple[str, int]:
    (quarter, first), (eighth, second), (coarse, third) = levels
    stacked = graph.add(
        "Concat",
        quarter,
        graph.upsample(eighth, 2, align_corners=False),
        graph.upsample(coarse, 8, align_corners=False),
        axis=1,
    )
    channels = first + second + third
    dimension = weights.width("desc_head.2.weight")
    mixed = _pointwise(graph, weights, "desc_head.0", stacked, channels, channels)
    groups = max(channels // _GROUP, 1)
    mixed = _unit(graph, weights, "desc_head.1", mixed, channels, channels, groups)
    return _pointwise(graph, weights, "desc_head.2", mixed, channels, dimension), dimension


def _scores(graph: Graph, weights: Weights, levels: tuple[Level, Level, Level]) -> str:
    """(1, 1, H, W), before any sigmoid."""
    channels = weights.width("score_head.0.weight")
    parts = []
    for number, ((level, width), times) in enumerate(zip(levels, (1, 4, 16), strict=True), start=1):
        part = _pointwise(graph, weights, f"conv{number}", level, width, channels)
        parts.append(part if times == 1 else graph.upsample(part, times, align_corners=False))
    value = graph.add("Sum", *parts)
    for number, out in ((0, channels), (2, channels), (4, 4)):
        kernel = weights.take(f"score_head.{number}.weight", out, channels, 3, 3)
        bias = weights.take(f"score_head.{number}.bias", out)
        value = graph.convolution(value, kernel, bias, padding=1)
        value = value if number == 4 else graph.add("Relu", value)
    return graph.add("DepthToSpace", value, blocksize=2, mode="CRD")
