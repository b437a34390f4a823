"""The training loop: one state that can be stored, restored, and stepped.

Nothing random outlives a step: whatever a step draws comes from (seed, step), so the number
of the step is all the random state there is. Imported only where torch is installed.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.checkpoints import (
    Checkpoint,
    check_resumable,
    last_checkpoint,
    list_checkpoints,
    save_checkpoint,
)
from sfumato.adversary.invert.data import Example, ExampleSource
from sfumato.adversary.invert.losses import (
    Perceptual,
    critic_loss,
    find_vgg16,
    fooling_loss,
    structure_loss,
)
from sfumato.adversary.invert.network import Discriminator, Generator
from sfumato.adversary.invert.sheet import score, write_sheet
from sfumato.adversary.invert.start_from import Start
from sfumato.adversary.invert.train import TrainOptions, TrainReport
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.progress import Progress

LOSSES = ("total", "l1", "perceptual", "structure", "adversarial", "critic")
_WARMUP = 200
_FINAL_RATE = 0.05


class Training:
    """A run: networks, optimizers, and where it stands."""

    def __init__(
        self,
        architecture: Architecture,
        options: TrainOptions,
        source: ExampleSource,
        shown: ExampleSource,
        settings: Mapping[str, Any],
        run: Path,
        progress: Progress,
        start: Start | None = None,
    ) -> None:
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        self.architecture, self.options, self.settings = architecture, options, settings
        self.source, self.run, self.progress = source, run, progress
        self.device = _device(options)
        torch.manual_seed(options.seed)
        # Channels last is a fifth faster on a CPU; the numbers stored are the same.
        generator = Generator(architecture).to(self.device)
        if start is not None:
            load_weights(generator, start.fill(architecture, _arrays(generator.state_dict())))
        self.generator = generator.to(memory_format=torch.channels_last)
        self.average = copy.deepcopy(self.generator).eval()
        critic = Discriminator(options.discriminator_width, source.options.crop)
        self.critic = critic.to(self.device)
        # The paper's Adam; its betas are torch's defaults.
        self.adam = torch.optim.Adam(self.generator.parameters(), options.learning_rate)
        self.critic_adam = torch.optim.Adam(self.critic.parameters(), options.discriminator_rate)
        self.perceptual = None
        if options.perceptual > 0:
            weights = options.perceptual_weights or find_vgg16()
            self.perceptual = Perceptual(weights).to(self.device)
        self.step = 0
        self.losses: list[tuple[float, ...]] = []
        self.scores: dict[str, float] = {}
        self.epoch_steps = math.ceil(len(source.pictures.paths) / options.batch)
        count = min(options.validation_pictures, len(shown.pictures.paths))
        # Spread over the folder: neighbours in a list of names are often alike.
        chosen = np.linspace(0, len(shown.pictures.paths) - 1, count).round().astype(int)
        self.validation = [shown.centre(int(number)) for number in chosen]

    def run_all(self) -> TrainReport:
        """Go on from the last checkpoint to the last step or the end of the time given."""
        options = self.options
        found = last_checkpoint(self.run)
        if found is not None:
            check_resumable(found, self.architecture, self.settings)
            self._restore(found)
        begun, saved = time.monotonic(), self.step if found is not None else -1
        with ThreadPoolExecutor(1, thread_name_prefix="sfumato-examples") as pool:
            coming = pool.submit(self.source.batch, self.step, options.batch)
            while self.step < options.steps:
                examples = coming.result()
                if self.step + 1 < options.steps:
                    coming = pool.submit(self.source.batch, self.step + 1, options.batch)
                self.train_step(examples)
                self.progress(self._tell(), self.step, options.steps)
                late = options.max_minutes is not None and (
                    time.monotonic() - begun > 60 * options.max_minutes
                )
                if late or self.step % options.checkpoint_every == 0:
                    self._save()
                    saved = self.step
                if late:
                    break
        if saved != self.step:
            self._save()
        last = dict(zip(LOSSES, self.losses[-1], strict=True)) if self.losses else {}
        path = list_checkpoints(self.run)[-1]
        return TrainReport(self.step, options.steps, path, last, self.scores)

    def train_step(self, examples: list[Example]) -> None:
        """One update of the generator, and of the discriminator once it takes part."""
        o, rng = self.options, np.random.default_rng([self.options.seed, 4, self.step])
        self._set_rates()
        inputs = collate(examples, self.device)
        real = torch.from_numpy(np.stack([e.picture for e in examples])).to(self.device)
        real = real.permute(0, 3, 1, 2).float() / 255
        with torch.autocast(self.device.type, torch.bfloat16, enabled=o.mixed_precision):
            made = self.generator(*inputs)
        made = made.float()
        zero = torch.zeros(())
        parts = dict.fromkeys(LOSSES, zero)
        parts["l1"] = (made - real).abs().mean()
        total = parts["l1"]
        if o.structure > 0:
            parts["structure"] = structure_loss(made, real)
            total = total + o.structure * parts["structure"]
        if self.perceptual is not None:
            window = _window(real.shape[-2:], o.perceptual_crop, rng)
            parts["perceptual"] = self.perceptual(made[window], real[window])
            total = total + o.perceptual * parts["perceptual"]
        fighting = (
            o.adversarial_after_epoch is not None
            and self.step >= o.adversarial_after_epoch * self.epoch_steps
        )
        if fighting:
            parts["critic"] = critic_loss(self.critic(real), self.critic(made.detach()))
            _update(self.critic_adam, parts["critic"], self.critic)
            parts["adversarial"] = fooling_loss(self.critic(made))
            total = total + o.adversarial * parts["adversarial"]
        parts["total"] = total
        values = tuple(float(parts[name].detach()) for name in LOSSES)
        if not all(map(math.isfinite, values)):
            raise SfumatoError(
                f"training diverged at step {self.step}: a loss is no longer a number; lower "
                "learning_rate and begin anew in another folder."
            )
        _update(self.adam, total, self.generator)
        self._remember()
        self.losses.append(values)
        self.step += 1

    def _set_rates(self) -> None:
        """A short warm-up, then a cosine down to 5 %; a function of the step alone."""
        done = min(self.step / self.options.steps, 1)
        factor = _FINAL_RATE + (1 - _FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2
        factor *= min(1, (self.step + 1) / min(_WARMUP, 1 + self.options.steps // 20))
        self.adam.param_groups[0]["lr"] = self.options.learning_rate * factor
        self.critic_adam.param_groups[0]["lr"] = self.options.discriminator_rate * factor

    def _remember(self) -> None:
        keep = min(self.options.average, (1 + self.step) / (10 + self.step))
        now = self.generator.state_dict()
        with torch.no_grad():
            for name, value in self.average.state_dict().items():
                if value.dtype.is_floating_point:
                    value.lerp_(now[name], 1 - keep)
                else:
                    value.copy_(now[name])

    def _tell(self) -> str:
        used = zip(LOSSES, self.losses[-1], strict=True)
        told = ", ".join(f"{name} {value:.4f}" for name, value in used if value)
        valid = f"; validation SSIM {self.scores['ssim']:.4f}" if "ssim" in self.scores else ""
        return f"training: {told}{valid}"

    def _save(self) -> None:
        if self.validation:
            made = [self.reconstruct(example) for example in self.validation]
            real = [example.picture for example in self.validation]
            self.scores = score(real, made)
            write_sheet(self.run / "sheets" / f"step-{self.step:08d}.png", real, made)
        state = {f"critic.{k}": v for k, v in _arrays(self.critic.state_dict()).items()}
        for name, adam in (("adam", self.adam), ("critic_adam", self.critic_adam)):
            for number, entry in adam.state_dict()["state"].items():
                tensors = {f"{name}.{number}.{key}": value for key, value in entry.items()}
                state.update(_arrays(tensors))
        parts = {
            "generator": _arrays(self.generator.state_dict()),
            "average": _arrays(self.average.state_dict()),
            "state": state,
        }
        losses = np.array(self.losses, dtype=np.float64).reshape(-1, len(LOSSES))
        found = Checkpoint(self.step, self.architecture, self.settings, parts, losses, self.scores)
        save_checkpoint(self.run, found)

    def _restore(self, found: Checkpoint) -> None:
        load_weights(self.generator, found.parts["generator"])
        load_weights(self.average, found.parts["average"])
        state = found.parts["state"]
        load_weights(self.critic, {k[7:]: v for k, v in state.items() if k.startswith("critic.")})
        for name, adam in (("adam", self.adam), ("critic_adam", self.critic_adam)):
            entries: dict[int, dict[str, Any]] = {}
            for key, value in state.items():
                owner, _, rest = key.partition(".")
                if owner == name:
                    number, _, what = rest.partition(".")
                    entries.setdefault(int(number), {})[what] = torch.from_numpy(value)
            groups = adam.state_dict()["param_groups"]
            adam.load_state_dict({"state": entries, "param_groups": groups})
        self.step, self.scores = found.step, dict(found.scores)
        self.losses = [tuple(map(float, row)) for row in found.losses]

    def reconstruct(self, example: Example) -> NDArray[np.float32]:
        """The averaged network's picture (H, W, 3) in 0…1."""
        with torch.inference_mode():
            made = self.average(*collate([example], self.device))[0]
        return np.asarray(example.pixels.crop(made.permute(1, 2, 0).cpu().numpy()))


def _device(options: TrainOptions) -> Any:
    """The device asked for, refused where it is not there or cannot do what is asked."""
    try:
        device = torch.device(options.device)
    except RuntimeError:
        raise InvalidInput(f"device must be cpu or cuda, got {options.device!r}.") from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise InvalidInput("device 'cuda' needs a CUDA device, there is none here; use cpu.")
        if options.mixed_precision and not torch.cuda.is_bf16_supported():
            raise InvalidInput("mixed_precision needs bfloat16, which this CUDA device lacks.")
    return device


def collate(examples: list[Example], device: Any) -> tuple[Any, Any, Any]:
    """Examples as the generator takes them: one table of rows, indices shifted into it."""
    width = examples[0].encoded.rows.shape[1]
    rows = [np.zeros((1, width), dtype=np.float32)]
    index = []
    begin = 0
    for example in examples:
        own = example.pixels.index
        index.append(np.where(own > 0, own + begin, 0))
        rows.append(example.encoded.rows)
        begin += len(example.encoded)
    offsets = np.stack([example.pixels.offsets for example in examples])
    arrays = (np.concatenate(rows), np.stack(index), offsets)
    table, places, away = (torch.from_numpy(array).to(device) for array in arrays)
    return table, places, away


def load_weights(module: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Fill a network; the checkpoint's architecture was compared before."""
    module.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})


def _arrays(state: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    return {name: value.detach().cpu().numpy() for name, value in state.items()}


def _update(adam: Any, loss: Any, module: Any) -> None:
    adam.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    adam.step()


def _window(size: Any, side: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random square of this side inside (H, W), the same for the whole batch."""
    height, width = size
    if side == 0 or side >= min(height, width):
        return (slice(None),)
    top, left = int(rng.integers(height - side + 1)), int(rng.integers(width - side + 1))
    return (slice(None), slice(None), slice(top, top + side), slice(left, left + side))
