"""ONNX written here: what onnxruntime computes of it is what numpy computes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.onnx_file import OnnxFile
from sfumato.features.networks.graph import Graph
from sfumato.features.networks.layers import Weights, cropped, padded, unit_length
from sfumato.features.networks.peaks import cut_to, find_peaks, refine


def run(graph: Graph, path: Path, **given: NDArray[Any]) -> list[NDArray[Any]]:
    path.write_bytes(graph.to_bytes({"about": "a test"}))
    file = OnnxFile(path)
    assert file.metadata == {"about": "a test"}
    return file.run(given)


def test_a_picture_is_padded_at_its_end_and_cut_again(tmp_path: Path) -> None:
    graph = Graph("padding")
    picture = graph.input("x", "float32", (1, 1, "h", "w"))
    whole = padded(graph, picture, 4)
    graph.output("whole", whole, "float32", (1, 1, "H", "W"))
    graph.output("again", cropped(graph, whole, picture), "float32", (1, 1, "h", "w"))
    for shape in ((3, 5), (4, 8)):
        values = np.random.default_rng(0).normal(size=(1, 1, *shape)).astype(np.float32)
        wider, again = run(graph, tmp_path / "net.onnx", x=values)
        right, below = -shape[1] % 4, -shape[0] % 4
        expected = np.pad(values, ((0, 0), (0, 0), (0, below), (0, right)), mode="edge")
        np.testing.assert_array_equal(wider, expected)
        np.testing.assert_array_equal(again, values)


def test_a_batch_norm_becomes_part_of_its_convolution(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    arrays = {
        "conv.weight": random.normal(size=(3, 2, 1, 1)),
        "bn.weight": random.normal(size=3),
        "bn.bias": random.normal(size=3),
        "bn.running_mean": random.normal(size=3),
        "bn.running_var": random.uniform(0.5, 2, size=3),
    }
    graph = Graph("norm")
    picture = graph.input("x", "float32", (1, 2, "h", "w"))
    weights = Weights(arrays)
    kernel, bias = weights.folded("conv", "bn", (3, 2, 1, 1))
    weights.check_all_taken()
    graph.output("y", graph.convolution(picture, kernel, bias), "float32", (1, 3, "h", "w"))
    values = random.normal(size=(1, 2, 5, 4)).astype(np.float32)
    plain = np.einsum("oc,chw->ohw", arrays["conv.weight"][:, :, 0, 0], values[0])
    spread = np.sqrt(arrays["bn.running_var"] + 1e-5)[:, None, None]
    centred = (plain - arrays["bn.running_mean"][:, None, None]) / spread
    expected = centred * arrays["bn.weight"][:, None, None] + arrays["bn.bias"][:, None, None]
    (found,) = run(graph, tmp_path / "net.onnx", x=values)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-5)


def peaks_by_hand(scores: NDArray[Any], limit: int) -> list[tuple[int, int]]:
    height, width = scores.shape
    found = []
    for y in range(3, height - 3):
        for x in range(3, width - 3):
            near = scores[y - 2 : y + 3, x - 2 : x + 3]
            if scores[y, x] == near.max() and scores[y, x] > 0.5:
                found.append((-scores[y, x], y, x))
    return [(x, y) for _, y, x in sorted(found)][:limit]


@pytest.mark.parametrize("limit", [1, 4, 1000])
def test_peaks_are_those_a_loop_finds(limit: int, tmp_path: Path) -> None:
    graph = Graph("peaks")
    scores = graph.input("scores", "float32", (1, 1, "h", "w"))
    most = graph.input("limit", "int64", (1,))
    peaks = find_peaks(graph, scores, most, radius=2, threshold=0.5, border=3)
    finer = refine(graph, scores, peaks, radius=2, temperature=0.1)
    places, finer = cut_to(graph, peaks.count, peaks.positions, finer)
    graph.output("places", places, "float32", ("n", 2))
    graph.output("finer", finer, "float32", ("n", 2))
    random = np.random.default_rng(3)
    for values in (random.random((1, 1, 20, 30)), random.random((1, 1, 9, 8)) / 3):
        values = values.astype(np.float32)
        limits = np.array([limit], dtype=np.int64)
        found_places, finer_places = run(graph, tmp_path / "net.onnx", scores=values, limit=limits)
        expected = peaks_by_hand(values[0, 0], limit)
        assert [tuple(place) for place in found_places.astype(int).tolist()] == expected
        for (x, y), found in zip(expected, finer_places, strict=True):
            near = np.exp(values[0, 0, y - 2 : y + 3, x - 2 : x + 3].astype(np.float64) / 0.1)
            step = np.arange(-2, 3)
            mean = (near.sum(axis=0) @ step, near.sum(axis=1) @ step) / near.sum()
            np.testing.assert_allclose(found, np.array([x, y]) + mean, atol=1e-4)


def test_nothing_has_no_direction(tmp_path: Path) -> None:
    graph = Graph("unit")
    rows = graph.input("x", "float32", ("n", 3))
    graph.output("y", unit_length(graph, rows, 1), "float32", ("n", 3))
    values = np.array([[3, 0, 4], [0, 0, 0]], dtype=np.float32)
    (found,) = run(graph, tmp_path / "net.onnx", x=values)
    np.testing.assert_allclose(found, np.array([[0.6, 0, 0.8], [0, 0, 0]]), atol=1e-6)


def test_the_same_constant_is_stored_once() -> None:
    graph = Graph("constants")
    assert graph.constant([1.0, 2.0]) == graph.constant([1, 2])
    assert graph.constant([1.0, 2.0]) != graph.constant([1, 2], "int64")
    assert graph.constant(1.0) != graph.constant([1.0])
