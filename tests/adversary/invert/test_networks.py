"""Networks are found by name; a missing one names the command that makes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnx_bytes import save_painter
from sfumato.adversary.invert import networks
from sfumato.adversary.invert.networks import find_network, has_network, network_file
from sfumato.core.errors import InvalidInput, Missing


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "shipped"
    path.mkdir()
    monkeypatch.setattr(networks, "SHIPPED", path)
    return path


def test_a_folder_of_ones_own_comes_before_what_is_shipped(tmp_path: Path, shipped: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    packaged = save_painter(shipped / "sift-raw.onnx")
    assert find_network() == find_network(folder=own) == packaged
    mine = save_painter(own / "sift-raw.onnx")
    assert find_network(folder=own) == mine
    assert find_network() == packaged


def test_a_missing_network_names_the_commands_that_make_it(tmp_path: Path, shipped: Path) -> None:
    assert not has_network("freak", "raw")
    with pytest.raises(Missing, match=r"sfumato ships none.*invert train .*--extractor freak"):
        find_network("freak")
    with pytest.raises(Missing, match=r"holds no vgg-words\.onnx.*invert export"):
        find_network("vgg", "words", tmp_path)


def test_names_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    assert network_file("sift", "raw") == "sift-raw.onnx"
    with pytest.raises(InvalidInput, match="input kind must be one of"):
        network_file("sift", "dots")
    with pytest.raises(InvalidInput, match="nothing paints from features of"):
        find_network("../sift")
    with pytest.raises(InvalidInput, match="networks must be a folder"):
        find_network(folder=tmp_path / "absent")
