"""Checkpoints of a training run: whole or absent, checked, bound to one network and settings.

`<run>/step-00000500/` holds the network, its running average, and optimizers as safetensors, and
the losses of every step so far. The last two are kept; a damaged one is passed over for the one
before it. Both networks are kept like this; runs of the network for frames that were begun with
one file, `frames.safetensors`, are read too.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert import tensors
from sfumato.adversary.invert.architecture import FrameArchitecture, NetworkShape
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.files import parse_json
from sfumato.core.locks import lock_folder
from sfumato.core.storage import (
    MANIFEST,
    check_file,
    load_array,
    load_manifest,
    save_arrays,
)

PARTS = ("generator", "average", "state")
_KEPT = 2
_OLD_FRAMES = "frames.safetensors"

Arrays = dict[str, NDArray[Any]]
Shape = TypeVar("Shape", bound=NetworkShape)


@dataclass(frozen=True)
class Checkpoint(Generic[Shape]):
    """Everything a run needs to go on as if it had never stopped.

    parts   arrays by part: generator (the network as it is trained), average (what is exported),
            state (the rest)
    losses  (step, k) float64, one row per step done
    """

    step: int
    architecture: Shape
    settings: Mapping[str, Any]
    parts: Mapping[str, Arrays]
    losses: NDArray[np.float64]
    scores: Mapping[str, float]


def save_checkpoint(run: Path, checkpoint: Checkpoint[Shape]) -> Path:
    """Write one checkpoint and remove all but the last two."""
    path = run / f"step-{checkpoint.step:08d}"
    manifest = {
        "kind": checkpoint.architecture.CHECKPOINT,
        "step": checkpoint.step,
        "architecture": checkpoint.architecture.to_json(),
        "settings": dict(checkpoint.settings),
        "scores": dict(checkpoint.scores),
    }
    files = {
        f"{part}.safetensors": tensors.to_bytes(checkpoint.parts[part], {"part": part})
        for part in PARTS
    }
    try:
        save_arrays(path, {"losses": checkpoint.losses}, manifest, files=files, replace=True)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise InvalidInput(
            f"the disk is full, the checkpoint of step {checkpoint.step} was not written; the "
            "one before is whole: make room and repeat the call."
        ) from error
    for old in list_checkpoints(run)[:-_KEPT]:
        shutil.rmtree(old)
    return path


def list_checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted(path for path in Path(run).glob("step-*") if path.is_dir())


def load_checkpoint(path: str | Path, shape: type[Shape]) -> Checkpoint[Shape]:
    """Read and check one checkpoint of a network that has this kind of shape."""
    folder = Path(path)
    manifest = load_manifest(folder, kind=shape.CHECKPOINT)
    parts: dict[str, Arrays] = {}
    for part in PARTS:
        file = check_file(folder, f"{part}.safetensors", manifest)
        parts[part], _ = tensors.from_bytes(file.read_bytes())
    try:
        return Checkpoint(
            step=int(manifest["step"]),
            architecture=shape.from_json(manifest["architecture"]),
            settings=manifest["settings"],
            parts=parts,
            losses=np.array(load_array(folder, "losses", manifest), dtype=np.float64),
            scores=manifest["scores"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(f"{folder} is damaged: its manifest lacks {error}.") from None


def last_checkpoint(run: Path, shape: type[Shape]) -> Checkpoint[Shape] | None:
    """The newest whole checkpoint of a run; None where there is none."""
    for path in reversed(list_checkpoints(run)):
        try:
            return load_checkpoint(path, shape)
        except DamagedFile:
            continue
    if shape is FrameArchitecture and (run / _OLD_FRAMES).is_file():
        return _load_old_frames(run / _OLD_FRAMES, shape)
    return None


def find_checkpoint(path: str | Path, shape: type[Shape]) -> Checkpoint[Shape]:
    """The checkpoint at this path, or the newest whole one of the run at this path."""
    folder = Path(path)
    if (folder / MANIFEST).exists():
        return load_checkpoint(folder, shape)
    checkpoint = last_checkpoint(folder, shape)
    if checkpoint is None:
        raise InvalidInput(f"{folder} holds no whole checkpoint; train a network there first.")
    return checkpoint


def _load_old_frames(file: Path, shape: type[Shape]) -> Checkpoint[Shape]:
    """All parts in one file, and of the losses only the last."""
    arrays, metadata = tensors.from_bytes(file.read_bytes())
    parts: dict[str, Arrays] = {part: {} for part in PARTS}
    for name, array in arrays.items():
        owner, _, rest = name.partition(".")
        part = {"network": "generator", "average": "average"}.get(owner)
        parts[part or "state"][rest if part else name] = array
    try:
        run = parse_json(metadata["run"])
        step, settings = int(run["step"]), dict(run["settings"])
        losses = np.full((step, 1), np.nan)
        losses[-1:] = float(run["loss"])
        sizes = {k.removeprefix("shape."): v for k, v in settings.items() if k.startswith("shape.")}
    except (KeyError, TypeError, ValueError):
        raise DamagedFile(f"{file} is damaged: it does not say what it is of.") from None
    return Checkpoint(step, shape.from_json(sizes), settings, parts, losses, {})


def check_resumable(
    checkpoint: Checkpoint[Shape], architecture: Shape, settings: Mapping[str, Any]
) -> None:
    """Refuse to go on with another network or with other settings."""
    architecture.check_same(checkpoint.architecture)
    for name, value in settings.items():
        stored = checkpoint.settings.get(name)
        if stored != value:
            raise Mismatch(
                f"the run was started with {name} = {stored!r}, {value!r} is asked for; "
                "repeat its settings or choose another folder."
            )


class RunLock:
    """One process per run folder; the kernel drops the lock however the process ends."""

    def __init__(self, run: Path) -> None:
        self.run = run

    def __enter__(self) -> RunLock:
        self._lock = lock_folder(self.run, "training")
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
