"""Training and exporting the network for frames, where torch is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from skimage import data

from commands import sfumato, sfumato_json
from sfumato.adversary.invert.architecture import FrameArchitecture
from sfumato.adversary.invert.checkpoints import find_checkpoint
from sfumato.adversary.invert.crops import fit_square
from sfumato.adversary.invert.export import export_frames
from sfumato.adversary.invert.frames_data import FrameDataOptions, FrameRecipe
from sfumato.adversary.invert.frames_train import FrameTrainOptions, train_frames
from sfumato.adversary.invert.keypoint_angles import FrameNetwork, peak_angles, turn_errors
from sfumato.core.errors import InvalidInput, Mismatch, Missing
from sfumato.execution import started
from sfumato.features import extract
from support import hide_packages


def photograph(side: int) -> NDArray[np.uint8]:
    pictures: Any = data
    return fit_square(pictures.astronaut(), side)


@pytest.mark.needs("train")
def test_training_resumes_to_the_same_network_and_onnx_agrees(folder: Path, tmp_path: Path) -> None:
    small = FrameDataOptions(smallest=64, largest=80, variants=2, min_keypoints=5)

    def train(run: str, steps: int, width: int = 16) -> Any:
        try:
            return train_frames(
                folder,
                tmp_path / run,
                architecture=FrameArchitecture(width, hidden=24, rounds=2, neighbours=6),
                data=small,
                options=FrameTrainOptions(steps=6, batch=2, checkpoint_every=1, threads=1),
                progress=_Stop(steps),
            )
        except KeyboardInterrupt:
            return None

    assert train("whole", 99).finished
    assert train("parts", 3) is None
    assert train("parts", 99).finished
    with started("local", workers=2):  # they make the crops
        assert train("spread", 99).finished
    for run in ("whole", "parts", "spread"):
        export_frames(tmp_path / run, tmp_path / f"{run}.onnx")
        assert (tmp_path / "whole.onnx").read_bytes() == (tmp_path / f"{run}.onnx").read_bytes()
    with pytest.raises(InvalidInput, match="does not exist; make it first"):
        export_frames(tmp_path / "whole", tmp_path / "absent" / "net.onnx")
    with pytest.raises(InvalidInput, match="holds no whole checkpoint"):
        export_frames(tmp_path, tmp_path / "net.onnx")
    with pytest.raises(Mismatch, match=r"its width is 16, 20 is asked for"):
        train("whole", 99, width=20)


@pytest.mark.needs("train")
def test_a_picture_without_keypoints_does_not_end_the_training(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number in range(2):
        sky = np.full((96, 96, 3), 40 * number + 90, dtype=np.uint8)
        Image.fromarray(sky).save(pictures / f"{number}.png")
    small = FrameDataOptions(smallest=64, largest=80, variants=1, min_keypoints=5)
    options = FrameTrainOptions(steps=2, threads=1)
    report = train_frames(pictures, tmp_path / "run", data=small, options=options)
    assert report.finished


@pytest.mark.needs("train")
def test_torch_and_onnx_agree(folder: Path, tmp_path: Path) -> None:
    import torch

    from sfumato.adversary.invert.frames_network import FrameGuesser
    from sfumato.adversary.invert.frames_task import collate
    from sfumato.adversary.invert.loop import load_weights

    train_frames(
        folder,
        tmp_path / "run",
        data=FrameDataOptions(smallest=64, largest=80, variants=1, min_keypoints=5),
        options=FrameTrainOptions(steps=3, threads=1),
    )
    export_frames(tmp_path / "run", tmp_path / "net.onnx")
    checkpoint = find_checkpoint(tmp_path / "run", FrameArchitecture)
    network = FrameGuesser(checkpoint.architecture).eval()
    load_weights(network, checkpoint.parts["average"])
    recipe = FrameRecipe(FrameDataOptions(), checkpoint.architecture.neighbours)
    astronaut = extract(photograph(256), max_keypoints=1000)
    for count in (1, 5, 200):
        some = astronaut.take(np.arange(count))
        with torch.inference_mode():
            example = recipe.surrounded(some, np.ones(count, bool))
            logits, sizes = network(*collate([example]))
        found = FrameNetwork(tmp_path / "net.onnx", threads=1)
        made_sizes, made_angles = found.infer(example.rows, some.keypoints, some.image_size)
        assert np.abs(np.log2(made_sizes) - sizes.numpy()).max() < 1e-4
        assert turn_errors(made_angles, peak_angles(logits.numpy())).max() < 0.05


def test_training_without_torch_says_what_to_do(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_packages(monkeypatch, "torch")
    with pytest.raises(Missing, match="training a network for frames needs the train extra"):
        train_frames(folder, tmp_path / "run")
    with pytest.raises(Missing, match="exporting to ONNX needs the train extra"):
        export_frames(tmp_path / "run", tmp_path / "net.onnx")


def test_the_command_refuses_another_kind_of_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("invert", "frames", "--data", tmp_path, "-o", tmp_path / "net.bin") == 2
    assert "must end in .onnx" in capsys.readouterr().err


@pytest.mark.needs("train")
def test_the_command_trains_writes_and_gives_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    Image.fromarray(photograph(330)).save(pictures / "upright.png")
    Image.fromarray(photograph(324)[::-1]).save(pictures / "mirrored.png")
    words = ("--data", pictures, "--validation", pictures, "-o", tmp_path / "net.onnx")
    made = sfumato_json("invert", capsys, "frames", *words, "--steps", 2, "--threads", 1)
    assert made["finished"]
    assert made["steps"] == 2
    assert 0 <= made["within_30"] <= 1
    assert 0 <= made["median_deg"] <= 180
    assert {"own_median_deg", "constant_median_deg", "size_error_octaves"} <= set(made)
    sizes, _ = FrameNetwork(tmp_path / "net.onnx").infer(np.ones((9, 128)), np.eye(9, 2), (50, 40))
    assert len(sizes) == 9


class _Stop:
    """Progress that breaks the run off after some steps, as Ctrl-C would."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, stage: str, done: int, total: int) -> None:
        if done > self.after:
            raise KeyboardInterrupt
