"""Train the network for frames on a folder of pictures, and export it; stopped, it goes on.

No torch here: options, checks and the door. `frames_loop.py` does the work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfumato.adversary.invert.architecture import check_torch
from sfumato.adversary.invert.checkpoints import RunLock
from sfumato.adversary.invert.data import find_pictures
from sfumato.adversary.invert.frames_data import FrameDataOptions, FrameSource, whole_pictures
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import need
from sfumato.core.progress import Progress, silent

#: Pictures the figures are made on are squares of this side.
SCORED_SIDE = 256


@dataclass(frozen=True)
class FrameTrainOptions:
    """How the network learns.

    steps             of `batch` pictures each; the learning rate falls to 2 % over them
    size_weight       of the error in log2 of the diameter, beside that of the angle
    average           weights that are exported are a running average with this memory
    checkpoint_every  steps; a killed run loses at most these
    max_minutes       stop with a checkpoint after this long; the same call goes on
    threads           of torch; None leaves its choice
    """

    steps: int = 10_000
    batch: int = 1
    learning_rate: float = 2e-3
    size_weight: float = 0.3
    average: float = 0.995
    checkpoint_every: int = 250
    max_minutes: float | None = None
    seed: int = 0
    threads: int | None = None

    #: May differ between a run and its continuation.
    FREE = ("steps", "checkpoint_every", "max_minutes", "threads")

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "checkpoint_every"):
            check_count(name, getattr(self, name), low=1)
        check_count("seed", self.seed, low=0)
        if not 0 < self.learning_rate < 1:
            raise InvalidInput(
                f"learning_rate must lie between 0 and 1, got {self.learning_rate!r}."
            )
        if not 0 <= self.size_weight < float("inf"):
            raise InvalidInput(f"size_weight must be at least 0, got {self.size_weight!r}.")
        if not 0 <= self.average < 1:
            raise InvalidInput(f"average must be at least 0 and below 1, got {self.average!r}.")

    def decides(self) -> dict[str, Any]:
        """The settings a continued run may not change."""
        return {name: value for name, value in asdict(self).items() if name not in self.FREE}


@dataclass(frozen=True)
class FrameTrainReport:
    """What a call has done: steps of total, and figures on pictures that were held out."""

    steps: int
    total: int
    loss: float
    scores: dict[str, float] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return self.steps >= self.total


def train_frames(
    folders: str | Path | Sequence[str | Path],
    run: str | Path,
    *,
    validation: str | Path | None = None,
    shape: dict[str, int] | None = None,
    data: FrameDataOptions | None = None,
    options: FrameTrainOptions | None = None,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> FrameTrainReport:
    """Train on the pictures of these folders; the run lives in `run`.

    validation  a folder of other pictures, for the figures; None gives none
    shape       fields of `frames_network.FrameArchitecture` that differ from its defaults
    cache       where features of crops are kept; None is `run`/cache

    Killed at any moment, the same call goes on from the last checkpoint.
    """
    check_torch("training a network for frames")
    from sfumato.adversary.invert.frames_loop import FrameTraining
    from sfumato.adversary.invert.frames_network import FrameArchitecture

    data, options = data or FrameDataOptions(), options or FrameTrainOptions()
    architecture = FrameArchitecture(**(shape or {}))
    if isinstance(folders, str | Path):
        folders = [folders]
    pictures = find_pictures(folders, data.largest)
    held_out = () if validation is None else find_pictures([validation], SCORED_SIDE).paths
    folder = Path(run)
    kept = folder / "cache" if cache is None else Path(cache)
    source = FrameSource(pictures, data, architecture.neighbours, options.seed, kept)
    settings = {
        **options.decides(),
        **{f"data.{name}": value for name, value in asdict(data).items()},
        **{f"shape.{name}": value for name, value in architecture.to_json().items()},
        "pictures": hashlib.sha256("\n".join(pictures.names).encode()).hexdigest(),
    }
    with RunLock(folder):
        training = FrameTraining(architecture, options, source, settings, folder, progress)
        training.restore()
        return training.run_all(whole_pictures(held_out, SCORED_SIDE, data.max_keypoints))


def check_export(output: str | Path) -> None:
    """Refuse what could not be exported in the end, before hours of training."""
    need("train", "exporting to ONNX", "torch", "onnx")
    if not Path(output).parent.is_dir():
        raise InvalidInput(f"the folder {Path(output).parent} does not exist; make it first.")


def export_frames(run: str | Path, output: str | Path) -> None:
    """Write the averaged network of a run as an ONNX file."""
    check_export(output)
    from sfumato.adversary.invert.frames_export import write_onnx

    write_onnx(run, output)
