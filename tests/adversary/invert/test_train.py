"""Training: the door's refusals everywhere, the rest where torch is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.checkpoints import last_checkpoint, list_checkpoints
from sfumato.adversary.invert.data import View
from sfumato.adversary.invert.train import TrainOptions
from sfumato.core.errors import InvalidInput, Mismatch, Missing
from small_training import train
from support import hide_packages


def test_without_torch_the_error_says_what_to_install(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_packages(monkeypatch, "torch")
    with pytest.raises(Missing, match=r"needs the train extra.*torch"):
        train(folder, tmp_path / "run")


def test_bad_options_are_refused() -> None:
    for name, value in {
        "steps": 0,
        "batch": 1.5,
        "perceptual": -1.0,
        "structure": float("nan"),
        "learning_rate": 0.0,
        "average": 1.0,
    }.items():
        with pytest.raises(InvalidInput, match=name):
            TrainOptions(**{name: value})  # type: ignore[arg-type]


def losses(run: Path) -> Any:
    found = last_checkpoint(run, Architecture)
    assert found is not None
    return found.losses


@pytest.mark.needs("train")
def test_a_run_stopped_anywhere_resumes_to_the_same_losses_and_weights(
    folder: Path, tmp_path: Path
) -> None:
    whole = train(folder, tmp_path / "whole")
    assert whole.finished
    assert losses(tmp_path / "whole").shape == (7, 7)

    class Stop(Exception):
        pass

    def stop_at(step: int) -> Any:
        def progress(stage: str, done: int, total: int) -> None:
            if done == step:
                raise Stop

        return progress

    for step in (1, 5):  # before the first checkpoint, and between two
        with pytest.raises(Stop):
            train(folder, tmp_path / "parts", progress=stop_at(step))
    assert train(folder, tmp_path / "parts").losses == whole.losses
    assert np.array_equal(losses(tmp_path / "parts"), losses(tmp_path / "whole"))
    one, other = (last_checkpoint(tmp_path / name, Architecture) for name in ("whole", "parts"))
    assert one is not None
    assert other is not None
    for part in one.parts:
        assert one.parts[part].keys() == other.parts[part].keys()
        for name, array in one.parts[part].items():
            if not name.startswith("clock."):
                assert np.array_equal(array, other.parts[part][name]), name


@pytest.mark.needs("train")
def test_kill_9_loses_at_most_the_steps_since_the_last_checkpoint(
    folder: Path, tmp_path: Path
) -> None:
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, sys\n"
        f"sys.path[:0] = {[p for p in sys.path if p]!r}\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from test_train import train\n"
        "def progress(stage, done, total):\n"
        "    if done == 5:\n"
        "        os.kill(os.getpid(), 9)\n"
        f"train(Path({str(folder)!r}), Path({str(tmp_path / 'run')!r}), progress=progress)\n"
    )
    killed = subprocess.run([sys.executable, str(script)], check=False, env=dict(os.environ))
    assert killed.returncode == -9
    found = last_checkpoint(tmp_path / "run", Architecture)
    assert found is not None
    assert found.step == 3
    train(folder, tmp_path / "run")
    train(folder, tmp_path / "whole")
    assert np.array_equal(losses(tmp_path / "run"), losses(tmp_path / "whole"))


@pytest.mark.needs("train")
def test_time_that_is_up_stops_with_a_checkpoint(folder: Path, tmp_path: Path) -> None:
    report = train(folder, tmp_path / "run", max_minutes=0.0)
    assert not report.finished
    assert report.steps == 1
    assert train(folder, tmp_path / "run").finished
    again = train(folder, tmp_path / "run")  # nothing left to do
    assert again.steps == 7


@pytest.mark.needs("train")
def test_checkpoints_come_with_scores_and_a_contact_sheet(folder: Path, tmp_path: Path) -> None:
    told: list[str] = []
    report = train(folder, tmp_path / "run", progress=lambda stage, done, total: told.append(stage))
    assert set(report.scores) == {"ssim", "mae"}
    assert report.checkpoint == list_checkpoints(tmp_path / "run")[-1]
    sheets = sorted((tmp_path / "run" / "sheets").iterdir())
    assert [sheet.name for sheet in sheets] == [f"step-{s:08d}.png" for s in (3, 6, 7)]
    with Image.open(sheets[0]) as sheet:
        assert sheet.size == (2 * 64 + 4, 2 * 64 + 4)
    assert "| steps | 7 of 2 crops |" in (tmp_path / "run" / "card.md").read_text()
    assert "l1" in told[0]
    assert "critic" not in told[0]
    assert "critic" in told[-1]


@pytest.mark.needs("train")
def test_slow_steps_are_kept_by_the_clock(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path / "run", steps=2, checkpoint_every=99, checkpoint_minutes=0.0)
    assert [path.name for path in list_checkpoints(tmp_path / "run")] == [
        "step-00000001",
        "step-00000002",
    ]


@pytest.mark.needs("train")
def test_the_networks_learn(folder: Path, tmp_path: Path) -> None:
    more = {"learning_rate": 4e-3, "adversarial_after_epoch": None, "checkpoint_every": 200}
    train(folder, tmp_path / "run", steps=150, width=8, **more)
    total = losses(tmp_path / "run")[:, 0]
    assert total[-10:].mean() < 0.85 * total[:10].mean()


@pytest.mark.needs("train")
@pytest.mark.parametrize(
    ("kind", "frames"), [("positions", "none"), ("raw", "given"), ("raw", "either")]
)
def test_other_inputs_train_too(kind: str, frames: str, folder: Path, tmp_path: Path) -> None:
    view = View(kind=kind, frames=frames)
    report = train(folder, tmp_path / "run", view=view, steps=1)
    found = last_checkpoint(tmp_path / "run", Architecture)
    assert found is not None
    assert report.finished
    assert found.architecture.channels == (131 if kind == "raw" else 1)


@pytest.mark.needs("train")
def test_a_run_of_another_network_or_other_settings_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    train(folder, tmp_path / "run", steps=1)
    with pytest.raises(Mismatch, match="its width is 4, 6 is asked for"):
        train(folder, tmp_path / "run", width=6)
    with pytest.raises(Mismatch, match="started with seed = 0"):
        train(folder, tmp_path / "run", seed=1)


@pytest.mark.needs("train")
def test_the_perceptual_loss_is_never_left_out_silently(folder: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent.ckpt"
    with pytest.raises(Missing, match="weights of VGG16"):
        train(folder, tmp_path / "run", perceptual=1.0, perceptual_weights=absent)


@pytest.mark.needs("train")
def test_mixed_precision_is_for_devices_that_have_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    with pytest.raises(InvalidInput, match="needs a device that computes with bfloat16"):
        train(folder, tmp_path / "run", steps=1, mixed_precision=True)


@pytest.mark.needs("train")
def test_colours_have_a_loss_of_their_own(folder: Path, tmp_path: Path) -> None:
    import torch

    from sfumato.adversary.invert.losses import colour_loss

    real = torch.rand(1, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    assert float(colour_loss(real, real)) == 0
    assert float(colour_loss(real + 0.1, real)) == pytest.approx(0, abs=1e-6)  # brighter only
    redder = real + torch.tensor([0.1, 0, 0]).view(1, 3, 1, 1)
    assert float(colour_loss(redder, real)) == pytest.approx(0.1 * (0.701 + 0.299), abs=1e-5)
    report = train(folder, tmp_path / "run", steps=1, colour=1.0)
    assert report.losses["colour"] > 0
