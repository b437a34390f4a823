"""Networks in files: run if they can be, refused in one sentence if not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onnx_models import brightness_model, constant_model
from sfumato.core import onnx_file
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.onnx_file import OnnxFile
from support import hide_packages


def test_a_network_is_described_and_run(tmp_path: Path) -> None:
    answer = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    path = constant_model(tmp_path / "n.onnx", [answer], metadata={"names": "x"})
    network = OnnxFile(path, threads=1)
    assert network.inputs[0].name == "images"
    assert network.inputs[0].shape == (1, 3, 64, 64)
    assert network.metadata == {"names": "x"}
    (made,) = network.run({"images": np.zeros((1, 3, 64, 64), np.float32)})
    assert np.array_equal(made, answer)


def test_without_onnxruntime_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = brightness_model(tmp_path / "n.onnx")
    hide_packages(monkeypatch, "onnxruntime")
    with pytest.raises(Missing, match="needs the detectors extra"):
        OnnxFile(path)


def test_running_a_network_leaves_no_trace_for_its_maker(tmp_path: Path) -> None:
    path = constant_model(tmp_path / "n.onnx", [np.zeros((1, 2), np.float32)])
    (tmp_path / "home").mkdir()
    program = f"from sfumato.core.onnx_file import OnnxFile; OnnxFile({str(path)!r}, threads=1)"
    kept = {key: value for key, value in os.environ.items() if key != "ORT_DISABLE_TELEMETRY"}
    places = dict.fromkeys(["HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"], str(tmp_path / "home"))
    subprocess.run([sys.executable, "-c", program], env={**kept, **places}, check=True)
    assert list((tmp_path / "home").rglob("*")) == []


def test_lengths_that_are_open_are_none(tmp_path: Path) -> None:
    network = OnnxFile(brightness_model(tmp_path / "n.onnx"), threads=1)
    assert network.inputs[0].shape == (1, 3, None, None)


@pytest.mark.parametrize("damage", ["truncated", "text", "noise"])
def test_what_is_no_network_is_refused_with_its_name(tmp_path: Path, damage: str) -> None:
    path = constant_model(tmp_path / "bad.onnx", [np.zeros((1, 900), np.float32)])
    data = path.read_bytes()
    noise = np.random.default_rng(0).integers(0, 256, 500, dtype=np.uint8).tobytes()
    path.write_bytes({"truncated": data[:300], "text": b"hello", "noise": noise}[damage])
    with pytest.raises(InvalidInput, match=r"bad\.onnx is not a network") as refused:
        OnnxFile(path)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


def test_missing_empty_and_enormous_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Missing, match="there is no file"):
        OnnxFile(tmp_path / "none.onnx")
    with pytest.raises(InvalidInput, match="it is a folder"):
        OnnxFile(tmp_path)
    (tmp_path / "empty.onnx").write_bytes(b"")
    with pytest.raises(InvalidInput, match="it has 0"):
        OnnxFile(tmp_path / "empty.onnx")
    path = constant_model(tmp_path / "n.onnx", [np.zeros(3, np.float32)])
    monkeypatch.setattr(onnx_file, "MAX_BYTES", 10)
    with pytest.raises(InvalidInput, match="1 to 10 bytes"):
        OnnxFile(path)


def test_a_picture_of_the_wrong_shape_is_refused(tmp_path: Path) -> None:
    network = OnnxFile(constant_model(tmp_path / "n.onnx", [np.zeros(3, np.float32)]), threads=1)
    with pytest.raises(InvalidInput, match="could not be run"):
        network.run({"images": np.zeros((1, 3, 8, 8), np.float32)})
    with pytest.raises(InvalidInput, match="threads"):
        OnnxFile(tmp_path / "n.onnx", threads=0)
