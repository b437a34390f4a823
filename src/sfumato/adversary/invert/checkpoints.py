"""Checkpoints of a training run: whole or absent, checked, bound to one network and settings.

`<run>/step-00000500/` holds the generator, its running average, discriminator and optimizers
as safetensors, and the losses of every step so far. The last two are kept; a damaged one is
passed over for the one before it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert import tensors
from sfumato.adversary.invert.architecture import Architecture
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.storage import (
    MANIFEST,
    TEMPORARY,
    check_file,
    load_array,
    load_manifest,
    save_arrays,
)

KIND = "inversion checkpoint"
PARTS = ("generator", "average", "state")
_KEPT = 2

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Checkpoint:
    """Everything a run needs to go on as if it had never stopped.

    parts   arrays by part: generator, average (what is exported), state (the rest)
    losses  (step, k) float64, one row per step done
    """

    step: int
    architecture: Architecture
    settings: Mapping[str, Any]
    parts: Mapping[str, Arrays]
    losses: NDArray[np.float64]
    scores: Mapping[str, float]


def save_checkpoint(run: Path, checkpoint: Checkpoint) -> Path:
    """Write one checkpoint and remove all but the last two."""
    path = run / f"step-{checkpoint.step:08d}"
    manifest = {
        "kind": KIND,
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


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read and check one checkpoint."""
    folder = Path(path)
    manifest = load_manifest(folder, kind=KIND)
    parts: dict[str, Arrays] = {}
    for part in PARTS:
        file = check_file(folder, f"{part}.safetensors", manifest)
        parts[part], _ = tensors.from_bytes(file.read_bytes())
    try:
        return Checkpoint(
            step=int(manifest["step"]),
            architecture=Architecture.from_json(manifest["architecture"]),
            settings=manifest["settings"],
            parts=parts,
            losses=np.array(load_array(folder, "losses", manifest), dtype=np.float64),
            scores=manifest["scores"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(f"{folder} is damaged: its manifest lacks {error}.") from None


def last_checkpoint(run: Path) -> Checkpoint | None:
    """The newest whole checkpoint of a run; None where there is none."""
    for path in reversed(list_checkpoints(run)):
        try:
            return load_checkpoint(path)
        except DamagedFile:
            continue
    return None


def find_checkpoint(path: str | Path) -> Checkpoint:
    """The checkpoint at this path, or the newest whole one of the run at this path."""
    folder = Path(path)
    if (folder / MANIFEST).exists():
        return load_checkpoint(folder)
    found = last_checkpoint(folder)
    if found is None:
        raise InvalidInput(f"{folder} holds no whole checkpoint; train a network there first.")
    return found


def check_resumable(
    checkpoint: Checkpoint, architecture: Architecture, settings: Mapping[str, Any]
) -> None:
    """Refuse to go on with another network or with other settings."""
    architecture.check_same(checkpoint.architecture)
    for name, value in settings.items():
        found = checkpoint.settings.get(name)
        if found != value:
            raise Mismatch(
                f"the run was begun with {name} = {found!r}, {value!r} is asked for; "
                "repeat its settings or choose another folder."
            )


class RunLock:
    """One process per run folder; the kernel drops the lock however the process ends."""

    def __init__(self, run: Path) -> None:
        self.run = run

    def __enter__(self) -> RunLock:
        self.run.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.run, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise InvalidInput(
                f"another process is training in {self.run}; wait for it or stop it."
            ) from None
        for leftover in self.run.glob(f"{TEMPORARY}*"):  # of a process that was killed
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
