"""An inversion network that is trained for a few steps, small enough for a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.data import DataOptions, View
from sfumato.adversary.invert.train import TrainOptions, TrainReport, train_inversion
from sfumato.core.progress import silent


def train(folder: Path, run: Path, *, width: int = 4, **options: Any) -> TrainReport:
    settings: dict[str, Any] = {
        "steps": 7,
        "batch": 2,
        "perceptual": 0.0,
        "structure": 0.5,
        "adversarial_after_epoch": 1,
        "discriminator_width": 8,
        "checkpoint_every": 3,
        "validation_pictures": 2,
        "threads": 1,
    }
    progress = options.pop("progress", silent)
    start_from = options.pop("start_from", None)
    return train_inversion(
        folder,
        run,
        architecture=Architecture(width=width, depth=3, embedding=6, hidden=8),
        view=options.pop("view", View()),
        data=DataOptions(crop=64, variants=2),
        options=TrainOptions(**{**settings, **options}),
        start_from=start_from,
        progress=progress,
    )
