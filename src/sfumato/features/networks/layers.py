"""What both networks are made of: weights by name, and convolutions with their batch norm inside.

A batch norm after a convolution is linear, so that it becomes part of it:
w′ = w·γ/√(σ² + 10⁻⁵),  b′ = β − μ·γ/√(σ² + 10⁻⁵).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.features.networks.graph import Graph

_BATCH_NORM_FLOOR = 1e-5


@dataclass
class Weights:
    """The arrays of a state dict; each is taken with the shape it must have."""

    arrays: Mapping[str, NDArray[Any]]
    taken: set[str] = field(default_factory=set)

    def width(self, name: str, axis: int = 0) -> int:
        """The length of an axis of an array: what tells how large a network is."""
        array = self._find(name)
        if array.ndim <= axis:
            raise InvalidInput(f"its {name} has {array.ndim} axes, {axis + 1} are needed.")
        return int(array.shape[axis])

    def take(self, name: str, *shape: int) -> NDArray[np.float32]:
        array = self._find(name)
        if array.shape != shape:
            raise InvalidInput(f"its {name} must have the shape {shape}, it has {array.shape}.")
        if not np.isfinite(array).all():
            raise InvalidInput(f"its {name} has values that are not finite.")
        self.taken.add(name)
        return np.asarray(array, dtype=np.float32)

    def check_all_taken(self) -> None:
        """Refuse what the network has no place for: it is another one then."""
        left = [
            name
            for name in self.arrays
            if name not in self.taken and not name.endswith("num_batches_tracked")
        ]
        if left:
            raise InvalidInput(f"it has {len(left)} arrays too many, {left[0]} is the first.")

    def folded(
        self, convolution: str, norm: str, shape: tuple[int, int, int, int]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """A convolution without bias and the batch norm behind it, as one convolution."""
        weight = self.take(f"{convolution}.weight", *shape)
        scale, shift, mean, variance = (
            self.take(f"{norm}.{part}", shape[0]).astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        if variance.min() < 0:
            raise InvalidInput(f"its {norm}.running_var has negative values.")
        factor = scale / np.sqrt(variance + _BATCH_NORM_FLOOR)
        folded = (weight * factor[:, None, None, None]).astype(np.float32)
        return folded, (shift - mean * factor).astype(np.float32)

    def _find(self, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise InvalidInput(f"it has no {name}.")
        return self.arrays[name]


def padded(graph: Graph, picture: str, multiple: int) -> str:
    """A picture (1, C, H, W) whose sides are made multiples, by repeating its last row and column.

    Added at the right and below, so that positions stay what they are.
    """
    ends = []
    for axis in (2, 3):
        side = graph.side(picture, axis)
        over = graph.add("Mod", side, graph.integers(multiple))
        short = graph.add("Sub", graph.integers(multiple), over)
        ends.append(graph.add("Mod", short, graph.integers(multiple)))
    pads = graph.add("Concat", graph.integers(*[0] * 6), *ends, axis=0)
    return graph.add("Pad", picture, pads, mode="edge")


def cropped(graph: Graph, padded_map: str, picture: str) -> str:
    """A map (1, C, H′, W′), cut to the sides of a picture."""
    ends = graph.add("Concat", graph.side(picture, 2), graph.side(picture, 3), axis=0)
    return graph.add("Slice", padded_map, graph.integers(0, 0), ends, graph.integers(2, 3))


def unit_length(graph: Graph, rows: str, axis: int) -> str:
    """v / |v|, and zero where |v| is."""
    squares = graph.add("ReduceSumSquare", rows, axes=[axis], keepdims=1)
    length = graph.add("Max", graph.add("Sqrt", squares), graph.constant([1e-12]))
    return graph.add("Div", rows, length)
