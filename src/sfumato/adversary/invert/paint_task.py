"""What the painting network learns: pixels, structure, what VGG16 sees, and to fool a critic.

Imported only where torch is installed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.data import Example
from sfumato.adversary.invert.discriminator import Discriminator
from sfumato.adversary.invert.loop import Learner, load_weights
from sfumato.adversary.invert.losses import (
    Perceptual,
    colour_loss,
    critic_loss,
    fooling_loss,
    structure_loss,
)
from sfumato.adversary.invert.network import Generator
from sfumato.adversary.invert.sheet import score, write_sheet
from sfumato.adversary.invert.start_from import Start
from sfumato.adversary.invert.train import TrainOptions
from sfumato.adversary.invert.vgg16 import find_vgg16
from sfumato.core.errors import InvalidInput

_WARM_UP = 200
#: Photographs whose colours differ by less than this on average are black and white.
_GREY = 0.02


class PaintTask:
    """Generator, and a discriminator that takes part after some epochs [reverse §3]."""

    loss_names = ("total", "l1", "perceptual", "structure", "colour", "adversarial", "critic")
    final_rate = 0.05

    def __init__(
        self,
        architecture: Architecture,
        options: TrainOptions,
        side: int,
        num_pictures: int,
        validation: Sequence[Example],
        start: Start | None,
        device: Any,
    ) -> None:
        if options.mixed_precision:
            _check_bfloat16(device)
        self.options, self.device, self.validation = options, device, validation
        generator = Generator(architecture).to(device)
        if start is not None:
            blank = {name: value.cpu().numpy() for name, value in generator.state_dict().items()}
            load_weights(generator, start.fill(architecture, blank))
        # Channels last is a fifth faster on a CPU; the numbers stored are the same.
        generator = generator.to(memory_format=torch.channels_last)
        self.learner = Learner(generator, options.learning_rate)
        critic = Discriminator(options.discriminator_width, side).to(device)
        self.others = {"critic": Learner(critic, options.discriminator_rate)}
        self.perceptual = None
        if options.perceptual > 0:
            weights = options.perceptual_weights or find_vgg16()
            self.perceptual = Perceptual(weights, device)
        epoch_steps = math.ceil(num_pictures / options.batch)
        epoch = options.adversarial_after_epoch
        self.critic_from_step = math.inf if epoch is None else epoch * epoch_steps

    def warm_up_steps(self, steps: int) -> int:
        return min(_WARM_UP, 1 + steps // 20)

    def losses(self, examples: Sequence[Example], step: int) -> dict[str, Any]:
        o = self.options
        real = torch.from_numpy(np.stack([e.picture for e in examples])).to(self.device)
        real = real.permute(0, 3, 1, 2).float() / 255
        with torch.autocast(self.device.type, torch.bfloat16, enabled=o.mixed_precision):
            made = self.learner.network(*collate(examples, self.device))
        made = without_colour(made.float(), real)
        parts: dict[str, Any] = dict.fromkeys(self.loss_names, torch.zeros(()))
        total = parts["l1"] = (made - real).abs().mean()
        if o.structure > 0:
            parts["structure"] = structure_loss(made, real)
            total = total + o.structure * parts["structure"]
        if o.colour > 0:
            parts["colour"] = colour_loss(made, real)
            total = total + o.colour * parts["colour"]
        if self.perceptual is not None:
            rng = np.random.default_rng([o.seed, 4, step])
            window = _window(real.shape[-2:], o.perceptual_crop, rng)
            parts["perceptual"] = self.perceptual(made[window], real[window])
            total = total + o.perceptual * parts["perceptual"]
        if step >= self.critic_from_step:
            critic = self.others["critic"]
            parts["critic"] = critic_loss(critic.network(real), critic.network(made.detach()))
            critic.update(parts["critic"])
            parts["adversarial"] = fooling_loss(critic.network(made))
            total = total + o.adversarial * parts["adversarial"]
        return {**parts, "total": total}

    def score(self, network: Any, run: Path, step: int) -> dict[str, float]:
        """SSIM and mean absolute error, and a contact sheet to look at."""
        if not self.validation:
            return {}
        made = [self._paint(network, example) for example in self.validation]
        real = [example.picture for example in self.validation]
        write_sheet(run / "sheets" / f"step-{step:08d}.png", real, made)
        return score(real, made)

    def _paint(self, network: Any, example: Example) -> NDArray[np.float32]:
        """The picture (H, W, 3) in 0…1."""
        with torch.inference_mode():
            made = network(*collate([example], self.device))[0]
        return np.asarray(example.pixels.crop(made.permute(1, 2, 0).cpu().numpy()))


def _check_bfloat16(device: Any) -> None:
    """Refuse a device that does not compute with bfloat16: slow at best, and some crash."""
    if device.type == "cuda":
        supported = torch.cuda.is_bf16_supported()
    else:
        able = torch.cpu.get_capabilities()
        supported = bool(able.get("avx512_bf16") or able.get("amx_bf16"))
    if not supported:
        raise InvalidInput(
            f"mixed_precision needs a device that computes with bfloat16, this {device.type} does "
            "not; leave it out."
        )


def collate(examples: Sequence[Example], device: Any) -> tuple[Any, Any, Any]:
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


def without_colour(made: Any, real: Any) -> Any:
    """Reconstructions in grey where the photograph is: it says nothing about colours."""
    spread = (real.amax(dim=1) - real.amin(dim=1)).mean(dim=(1, 2))
    grey = (spread < _GREY).view(-1, 1, 1, 1)
    return torch.where(grey, made.mean(dim=1, keepdim=True), made) if bool(grey.any()) else made


def _window(size: Any, side: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random square of this side inside (H, W), the same for the whole batch."""
    height, width = size
    if side == 0 or side >= min(height, width):
        return (slice(None),)
    top, left = int(rng.integers(height - side + 1)), int(rng.integers(width - side + 1))
    return (slice(None), slice(None), slice(top, top + side), slice(left, left + side))
