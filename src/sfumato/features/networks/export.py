"""Weights of a learned extractor → one ONNX file that any runtime runs: no torch, no onnx.

Inputs: image (1, 3, H, W) float32, RGB from 0 to 1, of any size; limit (1,) int64.
Outputs: keypoints (N, 2), scores (N,), descriptors (N, D), strongest first, N ≤ limit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import check_extractor_name
from sfumato.core.storage import write_file
from sfumato.features.networks import aliked, edgepoint2
from sfumato.features.networks.graph import Graph
from sfumato.features.networks.layers import Weights
from sfumato.features.networks.weights_file import read_weights

#: The key of the file's own account of itself.
METADATA = "sfumato.extractor"


@dataclass(frozen=True)
class Exported:
    """What was written: the extractor's name, its descriptors' columns, its size."""

    name: str
    family: str
    dimension: int
    parameters: int
    bytes: int


def export_network(weights: str | Path, output: str | Path, *, name: str | None = None) -> Exported:
    """Write the network whose weights these are, EdgePoint2 or ALIKED, told by their shapes.

    name  what its features are called; by default the family and the sizes
    """
    given = Weights(read_weights(weights))
    data, exported = make_network(given, str(weights), name)
    write_file(Path(output), data)
    return exported


def make_network(weights: Weights, what: str, name: str | None = None) -> tuple[bytes, Exported]:
    """The bytes of the file; `what` names the weights in errors."""
    family: ModuleType
    if edgepoint2.is_edgepoint2(weights):
        family = edgepoint2
    elif aliked.is_aliked(weights):
        family = aliked
    else:
        raise InvalidInput(
            f"{what} holds the weights of another network; EdgePoint2 and ALIKED are known."
        )
    try:
        called = check_extractor_name(name or family.name_of(weights))
        graph = Graph(called)
        picture = graph.input("image", "float32", (1, 3, "height", "width"))
        limit = graph.input("limit", "int64", (1,))
        places, scores, rows, dimension = family.write(graph, weights, picture, limit)
        weights.check_all_taken()
    except InvalidInput as error:
        raise InvalidInput(
            f"{what} does not hold the weights of {family.FAMILY}: {error}"
        ) from None
    graph.output("keypoints", places, "float32", ("number", 2))
    graph.output("scores", scores, "float32", ("number",))
    graph.output("descriptors", rows, "float32", ("number", dimension))
    told = {"name": called, "family": family.FAMILY, "dimension": dimension}
    data = graph.to_bytes({METADATA: json.dumps(told)})
    parameters = sum(weights.arrays[one].size for one in weights.taken)
    return data, Exported(called, family.FAMILY, dimension, parameters, len(data))
