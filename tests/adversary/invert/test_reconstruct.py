"""Export and reconstruction: the refusals everywhere, agreement where the packages are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onnx_bytes import save_painter
from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.checkpoints import Checkpoint, find_checkpoint, save_checkpoint
from sfumato.adversary.invert.export import export_onnx
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.core.errors import InvalidInput, Mismatch, Missing
from sfumato.features import extract
from support import hide_packages


def untrained(run: Path, **change: Any) -> Any:
    """A checkpoint of a network as it was born, and that network."""
    import torch

    from sfumato.adversary.invert.network import Generator

    torch.manual_seed(1)
    network = Generator(Architecture(width=8, depth=4, **change)).eval()
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    parts: dict[str, Any] = {"generator": weights, "average": weights, "state": {}}
    save_checkpoint(run, Checkpoint(1, network.architecture, {}, parts, np.zeros((1, 6)), {}))
    return network


@pytest.mark.needs("train")
@pytest.mark.parametrize("norm", ["group", "batch"])
@pytest.mark.parametrize("frames", ["none", "given"])
def test_onnx_and_torch_agree_at_any_size(
    norm: str, frames: str, picture: NDArray[np.uint8], tmp_path: Path
) -> None:
    import torch

    from sfumato.adversary.invert.data import Example
    from sfumato.adversary.invert.encoders import encode
    from sfumato.adversary.invert.paint_task import collate
    from sfumato.adversary.invert.sparse import map_pixels

    channels = 131 if frames == "given" else 128
    network = untrained(tmp_path / "run", norm=norm, frames=frames, channels=channels)
    a = export_onnx(tmp_path / "run", tmp_path / "net.onnx")
    assert a == network.architecture
    export_onnx(tmp_path / "run", tmp_path / "small.onnx", compact=True)
    inverter = Inverter(tmp_path / "net.onnx", threads=1)
    small = Inverter(tmp_path / "small.onnx", threads=1)
    assert inverter.architecture == a
    for cut in (picture, picture[:64, :48]):
        features = extract(np.ascontiguousarray(cut))
        assert len(features)
        seen = encode(features, "raw", frames=frames)
        pixels = map_pixels(
            seen.keypoints, seen.image_size, a.map_options, scales=seen.scales, angles=seen.angles
        )
        with torch.inference_mode():
            made = network(*collate([Example(cut, seen, pixels)], "cpu"))[0]
        expected = pixels.crop(made.permute(1, 2, 0).numpy())
        found = inverter.reconstruct(features, one_look=True)
        assert found.picture.shape == cut.shape
        assert found.num_keypoints == len(features)
        assert np.abs(found.picture - expected).max() < 1e-4
        assert np.abs(small.reconstruct(features, one_look=True).picture - expected).max() < 1e-2
    sizes = [(tmp_path / name).stat().st_size for name in ("small.onnx", "net.onnx")]
    assert sizes[0] < 0.7 * sizes[1]


def test_no_keypoints_give_a_blank_picture_and_say_so(tmp_path: Path) -> None:
    inverter = Inverter(save_painter(tmp_path / "net.onnx"), threads=1)
    made = inverter.reconstruct(extract(np.full((40, 50, 3), 90, dtype=np.uint8)))
    assert made.picture.shape == (40, 50, 3)
    assert np.ptp(made.picture) == 0
    assert made.num_keypoints == 0
    assert "no keypoints" in made.remark


def test_one_keypoint_is_enough_for_a_picture(picture: NDArray[np.uint8], tmp_path: Path) -> None:
    inverter = Inverter(save_painter(tmp_path / "net.onnx"), threads=1)
    made = inverter.reconstruct(extract(picture, max_keypoints=1))
    assert made.picture.shape == picture.shape
    assert made.num_keypoints == 1
    assert made.remark == ""


def test_what_the_network_was_not_trained_for_is_refused(
    picture: NDArray[np.uint8], tmp_path: Path
) -> None:
    inverter = Inverter(save_painter(tmp_path / "net.onnx"), threads=1)
    with pytest.raises(Mismatch, match="trained on sift, these are rootsift"):
        inverter.reconstruct(extract(picture, "rootsift"))
    narrow = Inverter(save_painter(tmp_path / "net.onnx", Architecture(channels=9)), threads=1)
    with pytest.raises(Mismatch, match="takes rows of 9 numbers, got 128"):
        narrow.reconstruct(extract(picture))


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_packages(monkeypatch, "torch", "onnx")
    with pytest.raises(Missing, match=r"needs the train extra.*: torch, onnx"):
        export_onnx(tmp_path, tmp_path / "net.onnx")


def test_a_folder_without_a_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no whole checkpoint"):
        find_checkpoint(tmp_path, Architecture)
