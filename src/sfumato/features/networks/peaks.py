"""Which pixels become keypoints: peaks of a score map, strongest first, as operators of a graph."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.features.networks.graph import Graph

_LOW = -1e9  # below every score


@dataclass(frozen=True)
class Peaks:
    """Values of a graph, for N peaks, or one that is none where there are none.

    No runtime need then know layers of no rows; who asks cuts what comes out to `count`.

    count      (1,) how many there are
    rows       (N,) places in the flattened map
    positions  (N, 2) x, y as floats
    scores     (N,)
    """

    count: str
    rows: str
    positions: str
    scores: str


def find_peaks(
    graph: Graph, scores: str, limit: str, *, radius: int, threshold: float, border: int
) -> Peaks:
    """Pixels not below any within `radius` rows and columns, above a threshold, the first `limit`.

    scores  (1, 1, H, W); none is nearer to the border than `border` pixels
    limit   (1,) whole number; ties go to the pixel that is read first
    """
    side = 2 * radius + 1
    highest = graph.add("MaxPool", scores, kernel_shape=[side, side], pads=[radius] * 4)
    is_peak = graph.add("Equal", highest, scores)
    low = graph.constant(_LOW)
    raised = graph.add("Where", is_peak, scores, low)
    inner = graph.add(
        "Slice",
        raised,
        graph.integers(border, border),
        graph.integers(-border, -border),
        graph.integers(2, 3),
    )
    pads = graph.integers(0, 0, border, border, 0, 0, border, border)
    flat = graph.reshape(graph.add("Pad", inner, pads, low, mode="constant"), -1)
    above = graph.whole(graph.add("Greater", flat, graph.constant(threshold)))
    count = graph.add("ReduceSum", above, graph.integers(0), keepdims=1)
    count = graph.add("Min", count, limit)
    values, rows = graph.add_many("TopK", 2, flat, graph.add("Max", count, graph.integers(1)))
    width = graph.side(scores, 3)
    x, y = graph.add("Mod", rows, width), graph.add("Div", rows, width)
    columns = [graph.add("Unsqueeze", graph.number(one), graph.integers(1)) for one in (x, y)]
    return Peaks(count, rows, graph.add("Concat", *columns, axis=1), values)


def cut_to(graph: Graph, count: str, *values: str) -> list[str]:
    """The first `count` rows of each."""
    zero = graph.integers(0)
    return [graph.add("Slice", value, zero, count, zero) for value in values]


def refine(graph: Graph, scores: str, peaks: Peaks, *, radius: int, temperature: float) -> str:
    """Positions (N, 2) between pixels: the mean of the neighbours, weighed by e^(score / T).

    Every neighbour must lie in the map: the border of `find_peaks` is at least `radius`.
    """
    reach = range(-radius, radius + 1)
    steps = [(dx, dy) for dy in reach for dx in reach]
    width = graph.side(scores, 3)
    down = graph.add("Mul", graph.integers(*(dy for _, dy in steps)), width)
    around = graph.add("Add", down, graph.integers(*(dx for dx, _ in steps)))
    rows = graph.add("Add", graph.add("Unsqueeze", peaks.rows, graph.integers(1)), around)
    near = graph.add("Gather", graph.reshape(scores, -1), rows, axis=0)
    weights = graph.add("Softmax", graph.add("Div", near, graph.constant(temperature)), axis=-1)
    return graph.add("Add", peaks.positions, graph.add("MatMul", weights, graph.constant(steps)))
