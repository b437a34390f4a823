"""`sfumato invert frames`: the network that infers how each keypoint lay in the picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_facts, emit_json, progress_bar
from sfumato.core.errors import InvalidInput


def run(
    data: Annotated[Path, typer.Option(help="A folder of pictures to learn from.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The network to write (.onnx).")],
    validation: Annotated[
        Path | None, typer.Option(help="A folder of other pictures, to give figures on.")
    ] = None,
    work: Annotated[
        Path | None, typer.Option(help="Where the run lives; OUTPUT.run if not given.")
    ] = None,
    steps: Annotated[int, typer.Option(help="Steps of training.")] = 10_000,
    batch: Annotated[int, typer.Option(help="Pictures per step.")] = 1,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after this long; the same command goes on.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of crops, order and first weights.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Of torch; its own choice if left out.")] = (
        None
    ),
    as_json: JsonFlag = False,
) -> None:
    """Train the network that infers angle and size of SIFT keypoints, and export it.

    A release carries neither; neighbouring descriptors give them away. Stopped at any moment,
    the same command goes on. Needs torch.

    Example: sfumato invert frames --data photos/ -o frames.onnx --validation others/
    """
    if output.suffix != ".onnx":
        raise InvalidInput(f"--output must end in .onnx, got {output.name!r}.")
    from sfumato.adversary.invert.export import check_export, export_frames
    from sfumato.adversary.invert.frames_train import FrameTrainOptions, train_frames

    check_export(output)
    options = FrameTrainOptions(
        steps=steps, batch=batch, max_minutes=minutes, seed=seed, threads=threads
    )
    folder = output.with_name(f"{output.name}.run") if work is None else work
    with progress_bar(quiet=as_json) as progress:
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
    if as_json:
        emit_json({**facts, "finished": report.finished})
        return
    shown = {
        name.replace("_", " "): f"{value:.3g}" if isinstance(value, float) else str(value)
        for name, value in facts.items()
    }
    emit_facts("Network for frames" if report.finished else "Network, training unfinished", shown)
