"""Checkpoints are whole or absent, and know whose they are."""

from __future__ import annotations

import dataclasses
import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.adversary.invert import checkpoints, tensors
from sfumato.adversary.invert.architecture import Architecture, FrameArchitecture
from sfumato.adversary.invert.checkpoints import (
    Checkpoint,
    RunLock,
    check_resumable,
    find_checkpoint,
    last_checkpoint,
    list_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch


def made(step: int = 4) -> Checkpoint[Architecture]:
    weights = {"layer.weight": np.full((2, 2), step, dtype=np.float32)}
    parts = {"generator": weights, "average": weights, "state": {}}
    losses = np.arange(step * 2, dtype=np.float64).reshape(step, 2)
    return Checkpoint(step, Architecture(width=8), {"seed": 1}, parts, losses, {"ssim": 0.25})


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    found = load_checkpoint(save_checkpoint(tmp_path, made()), Architecture)
    assert found.step == 4
    assert found.architecture == Architecture(width=8)
    assert found.settings == {"seed": 1}
    assert found.scores == {"ssim": 0.25}
    assert np.array_equal(found.losses, made().losses)
    assert np.array_equal(found.parts["average"]["layer.weight"], np.full((2, 2), 4))


def test_the_last_two_are_kept_and_a_damaged_one_is_passed_over(tmp_path: Path) -> None:
    for step in (2, 4, 6):
        save_checkpoint(tmp_path, made(step))
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-00000004", "step-00000006"]
    file = tmp_path / "step-00000006" / "generator.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedFile):
        load_checkpoint(file.parent, Architecture)
    found = last_checkpoint(tmp_path, Architecture)
    assert found is not None
    assert found.step == 4


def test_another_network_or_another_setting_is_refused() -> None:
    check_resumable(made(), Architecture(width=8), {"seed": 1})
    with pytest.raises(Mismatch, match="its width is 8, 16 is asked for"):
        check_resumable(made(), Architecture(width=16), {"seed": 1})
    with pytest.raises(Mismatch, match="started with seed = 1, 2 is asked for"):
        check_resumable(made(), Architecture(width=8), {"seed": 2})


def test_a_checkpoint_of_the_other_network_is_no_checkpoint(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path, made())
    with pytest.raises(InvalidInput, match="holds a 'painter checkpoint', a 'frames checkpoint'"):
        load_checkpoint(path, FrameArchitecture)


def old_frames(run: Path, metadata: dict[str, str]) -> None:
    """What runs of the network for frames kept before both networks had one form."""
    values = np.arange(4, dtype=np.float32)
    arrays = dict.fromkeys(("network.a.b", "average.a.b", "adam.0.step"), values)
    (run / "frames.safetensors").write_bytes(tensors.to_bytes(arrays, metadata))


def test_a_run_of_one_file_is_read_and_replaced_by_what_follows(tmp_path: Path) -> None:
    shape = FrameArchitecture(width=16, rounds=2)
    settings = {"seed": 3, **{f"shape.{name}": v for name, v in shape.to_json().items()}}
    told = json.dumps({"step": 5, "loss": 1.5, "settings": settings})
    old_frames(tmp_path, {"run": told})
    found = find_checkpoint(tmp_path, FrameArchitecture)
    check_resumable(found, shape, {"seed": 3})
    assert (found.step, found.architecture) == (5, shape)
    assert found.losses.shape == (5, 1)
    assert found.losses[-1] == 1.5
    assert {part: list(arrays) for part, arrays in found.parts.items()} == {
        "generator": ["a.b"],
        "average": ["a.b"],
        "state": ["adam.0.step"],
    }
    save_checkpoint(tmp_path, dataclasses.replace(found, step=6))
    assert find_checkpoint(tmp_path, FrameArchitecture).step == 6
    assert last_checkpoint(tmp_path / "elsewhere", FrameArchitecture) is None


def test_a_run_of_one_damaged_file_is_refused(tmp_path: Path) -> None:
    old_frames(tmp_path, {"run": "{}"})
    with pytest.raises(DamagedFile, match="does not say what it is of"):
        find_checkpoint(tmp_path, FrameArchitecture)


def test_a_full_disk_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(tmp_path, made(2))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoints, "save_arrays", full)
    with pytest.raises(InvalidInput, match="the disk is full"):
        save_checkpoint(tmp_path, made(4))
    found = last_checkpoint(tmp_path, Architecture)
    assert found is not None
    assert found.step == 2


def test_one_process_trains_in_a_folder(tmp_path: Path) -> None:
    leftover = tmp_path / "run" / ".tmp-12"
    leftover.mkdir(parents=True)
    with RunLock(tmp_path / "run"):
        assert not leftover.exists()
        with pytest.raises(InvalidInput, match="another process"), RunLock(tmp_path / "run"):
            pass
    with RunLock(tmp_path / "run"):
        pass


def test_an_architecture_survives_json_and_refuses_nonsense() -> None:
    wanted = Architecture(width=12, frames="given", norm="batch")
    assert Architecture.from_json(wanted.to_json()) == wanted
    assert wanted.levels == (12, 36, 72, 144, 256)
    assert dataclasses.replace(wanted, max_channels=40).levels == (12, 36, 40, 40, 40)
    with pytest.raises(DamagedFile):
        Architecture.from_json({"width": 3})
    # A file from before patches tells nothing of them, and has none.
    older = {k: v for k, v in wanted.to_json().items() if k not in Architecture.LATER}
    assert Architecture.from_json(older).map_options.slots == 3
    assert Architecture.from_json(older).patches == 0
    with pytest.raises(InvalidInput, match="norm must be one of"):
        Architecture(norm="layer")
