"""Train the network for frames on a folder of pictures; stopped at any moment, it goes on.

No torch here: options, checks and the door. `loop.py` does the work, `frames_task.py` says what
is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.adversary.invert.architecture import FrameArchitecture, check_torch
from sfumato.adversary.invert.checkpoints import RunLock
from sfumato.adversary.invert.crops import CropSource, find_pictures
from sfumato.adversary.invert.frames_data import SCORED_SIDE, FrameDataOptions, FrameRecipe
from sfumato.adversary.invert.train import RunOptions, TrainReport
from sfumato.core.progress import Progress, silent
from sfumato.execution import current


@dataclass(frozen=True, kw_only=True)
class FrameTrainOptions(RunOptions):
    """How the network for frames learns.

    size_weight  of the error in log2 of the diameter, beside that of the angle
    """

    steps: int = 10_000
    batch: int = 1
    learning_rate: float = 2e-3
    size_weight: float = 0.3
    average: float = 0.995
    checkpoint_every: int = 250

    WEIGHTS: ClassVar[tuple[str, ...]] = ("size_weight",)


def train_frames(
    folders: str | Path | Sequence[str | Path],
    run: str | Path,
    *,
    validation: str | Path | None = None,
    architecture: FrameArchitecture | None = None,
    data: FrameDataOptions | None = None,
    options: FrameTrainOptions | None = None,
    cache: str | Path | None = None,
    progress: Progress = silent,
) -> TrainReport:
    """Train on the pictures of these folders; the run lives in `run`.

    validation  a folder of other pictures, for the figures; None gives none
    cache       where features of crops are kept; None is `run`/cache

    Killed at any moment, the same call goes on from the last checkpoint. Where work is spread
    over workers they make the crops and their features first.
    """
    check_torch("training a network for frames")
    from sfumato.adversary.invert.frames_task import FrameTask
    from sfumato.adversary.invert.loop import Training

    data, options = data or FrameDataOptions(), options or FrameTrainOptions()
    wanted, folder = architecture or FrameArchitecture(), Path(run)
    pictures = find_pictures(folders, data.largest)
    held_out = None if validation is None else find_pictures(validation, SCORED_SIDE)
    recipe = FrameRecipe(data, wanted.neighbours)
    kept = (folder / "cache" if cache is None else Path(cache)).resolve()
    source = CropSource(pictures, recipe, options.seed, kept)

    def make_task(device: Any) -> FrameTask:
        shown = None if held_out is None else CropSource(held_out, recipe, options.seed)
        examples = [] if shown is None else [shown.whole(number) for number in range(len(shown))]
        return FrameTask(wanted, options, examples, device)

    settings = options.fixed(data, pictures)
    with RunLock(folder):
        training = Training(make_task, wanted, options, source, settings, folder, progress)
        if current().is_spread:
            source.prepare(options.steps, options.batch, progress)
        return training.run_all()
