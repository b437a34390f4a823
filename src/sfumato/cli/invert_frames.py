"""`sfumato invert frames`: the network that infers how each keypoint lay in the picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli import options as opt
from sfumato.cli.files import check_output
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit, long_work

ValidationOption = Annotated[
    Path | None, option("Other pictures, to give figures on.", metavar="FOLDER")
]


def run(
    data: Annotated[Path, option("Pictures to learn from.", metavar="FOLDER")],
    output: Annotated[Path, output("The network to write (.onnx).")],
    *,
    validation: ValidationOption = None,
    work: Annotated[
        Path | None, option("Where the run lives.", metavar="FOLDER", shown="OUTPUT.run")
    ] = None,
    steps: Annotated[int, option("Steps of training.")] = 10_000,
    batch: Annotated[int, option("Pictures per step.")] = 1,
    minutes: opt.Minutes = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """A release carries neither angle nor size of a keypoint; neighbouring descriptors give them
    away. Stopped at any moment, the same command goes on. Needs torch. Workers (--on, --workers)
    make the crops and their features before; the network learns in this process.

    Example: sfumato invert frames --data photos/ -o frames.onnx --validation others/
    """
    check_output(output, ".onnx")
    from sfumato.adversary.invert.export import check_export, export_frames
    from sfumato.adversary.invert.frames_train import FrameTrainOptions, train_frames

    check_export(output)
    options = FrameTrainOptions(
        steps=steps, batch=batch, max_minutes=minutes, seed=seed, threads=threads
    )
    folder = output.with_name(f"{output.name}.run") if work is None else work
    with long_work() as progress, running.started():
        report = train_frames(
            data, folder, validation=validation, options=options, progress=progress
        )
    export_frames(folder, output)
    facts = {
        "steps": report.steps,
        "of": report.total,
        "loss": report.losses["total"],
        **report.scores,
        "output": str(output),
    }
    shown = {
        name.replace("_", " "): f"{value:.3g}" if isinstance(value, float) else str(value)
        for name, value in facts.items()
    }
    title = "Network for frames" if report.finished else "Network, training unfinished"
    emit(as_json, {**facts, "finished": report.finished}, title, shown)
