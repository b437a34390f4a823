"""Networks that refer to anything outside their file are refused before they run."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from hostile_files import NETWORKS_OUTSIDE, network, plain_network
from onnx_models import _tensor, message, node
from sfumato.core import onnx_inside
from sfumato.core.errors import InvalidInput
from sfumato.core.onnx_file import OnnxFile

SECRET = [7.25, -1.5, 3.0, 11.0]


@pytest.mark.parametrize("kind", NETWORKS_OUTSIDE)
def test_numbers_in_another_file_are_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("key").write_bytes(struct.pack("<4f", *SECRET))
    path = tmp_path / "n.onnx"
    path.write_bytes(NETWORKS_OUTSIDE[kind]("key"))
    with pytest.raises(InvalidInput, match=r"n\.onnx is not a network that .*in another file"):
        OnnxFile(path, threads=1)


def test_the_same_network_with_its_own_numbers_runs(tmp_path: Path) -> None:
    (tmp_path / "n.onnx").write_bytes(plain_network())
    (made,) = OnnxFile(tmp_path / "n.onnx", threads=1).run({})
    assert made.tolist() == [0, 1, 2, 3]


def test_functions_of_the_file_itself_run(tmp_path: Path) -> None:
    value = message((1, "value"), (5, _tensor("", np.arange(4))), (20, 4))
    opset = message((1, ""), (2, 13))
    constant = node("Constant", [], "w", value)
    body = message((1, "Own"), (5, "w"), (7, constant), (9, opset), (10, "own"))
    call = node("Own", [], "w") + message((7, "own"))
    (tmp_path / "n.onnx").write_bytes(network(nodes=(call,), more=message((25, body))))
    (made,) = OnnxFile(tmp_path / "n.onnx", threads=1).run({})
    assert made.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("domain", ["com.microsoft", "own", "ai.onnx.contrib"])
def test_operators_outside_the_standard_are_refused(tmp_path: Path, domain: str) -> None:
    call = node("EPContext", [], "w") + message((7, domain))
    (tmp_path / "n.onnx").write_bytes(network(nodes=(call,)))
    with pytest.raises(InvalidInput, match=f"operators of '{domain}', which may reach outside"):
        OnnxFile(tmp_path / "n.onnx", threads=1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00\x00\x00\x00ORTM" + bytes(40), "own format is not read"),
        (b"\x3a\xff\xff\xff\xff\x0f", "not those of an ONNX file"),
        (b"\x3a\x80", "not those of an ONNX file"),
        (b"\x3b\x3c", "not those of an ONNX file"),
        (b"\x08" + b"\xff" * 20, "not those of an ONNX file"),
    ],
)
def test_bytes_that_are_no_network_are_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "n.onnx").write_bytes(data)
    with pytest.raises(InvalidInput, match=reason):
        OnnxFile(tmp_path / "n.onnx", threads=1)


def test_nesting_and_the_number_of_parts_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = b""
    for _ in range(2000):
        graph = message((1, message((5, message((6, graph))))))
    (tmp_path / "n.onnx").write_bytes(message((7, graph)))
    with pytest.raises(InvalidInput, match="64 levels deep"):
        OnnxFile(tmp_path / "n.onnx", threads=1)
    monkeypatch.setattr(onnx_inside, "_MAX_FIELDS", 50)
    (tmp_path / "n.onnx").write_bytes(message((7, message(*[(5, b"")] * 60))))
    with pytest.raises(InvalidInput, match="more than 50 parts"):
        OnnxFile(tmp_path / "n.onnx", threads=1)
