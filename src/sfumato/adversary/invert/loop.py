"""The training loop of both networks: one state that can be stored, restored, and stepped.

Nothing random outlives a step: whatever a step draws comes from (seed, step), so the number
of the step is all the random state there is. Imported only where torch is installed.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.adversary.invert.checkpoints import (
    Arrays,
    Checkpoint,
    Shape,
    check_resumable,
    last_checkpoint,
    list_checkpoints,
    save_checkpoint,
)
from sfumato.adversary.invert.crops import CropSource
from sfumato.adversary.invert.train import RunOptions, TrainReport
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.progress import Progress

_HOURS = "clock.cpu_hours"


class Learner:
    """A network and the optimizer that updates it."""

    def __init__(self, network: Any, rate: float) -> None:
        self.network, self.rate = network, rate
        # The paper's Adam; its betas are torch's defaults.
        self.adam = torch.optim.Adam(network.parameters(), rate)

    def set_rate(self, factor: float) -> None:
        self.adam.param_groups[0]["lr"] = self.rate * factor

    def update(self, loss: Any) -> None:
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.adam.step()

    def optimizer_arrays(self) -> Arrays:
        return {
            f"{number}.{name}": value.detach().cpu().numpy()
            for number, entry in self.adam.state_dict()["state"].items()
            for name, value in entry.items()
        }

    def restore_optimizer(self, arrays: Arrays) -> None:
        entries: dict[int, dict[str, Any]] = {}
        for key, value in arrays.items():
            number, _, name = key.partition(".")
            entries.setdefault(int(number), {})[name] = torch.from_numpy(value)
        groups = self.adam.state_dict()["param_groups"]
        self.adam.load_state_dict({"state": entries, "param_groups": groups})


class Task(Protocol):
    """What a network learns: the part in which the two trainings differ.

    learner     the network that is averaged and exported
    others      networks that only help it to learn, by name
    loss_names  "total" first
    final_rate  share of the learning rate that is left at the last step
    """

    @property
    def learner(self) -> Learner: ...
    @property
    def others(self) -> Mapping[str, Learner]: ...
    @property
    def loss_names(self) -> tuple[str, ...]: ...
    @property
    def final_rate(self) -> float: ...

    def warm_up_steps(self, steps: int) -> int:
        """Steps in which the learning rate grows, of so many in all."""

    def losses(self, examples: Sequence[Any], step: int) -> Mapping[str, Any]:
        """By name; "total" is what the learner is updated by. Updates the others."""

    def score(self, network: Any, run: Path, step: int) -> dict[str, float]:
        """Figures of the averaged network on pictures it does not learn from."""


class Training(Generic[Shape]):
    """A run: task, running average of the network, and where it stands.

    tell  called with step, CPU hours and scores at each checkpoint
    """

    def __init__(
        self,
        make_task: Callable[[Any], Task],
        architecture: Shape,
        options: RunOptions,
        source: CropSource[Any],
        settings: Mapping[str, Any],
        run: Path,
        progress: Progress,
        tell: Callable[[int, float, Mapping[str, float]], None] | None = None,
    ) -> None:
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        self.architecture, self.options, self.settings = architecture, options, settings
        self.source, self.run, self.progress, self.tell = source, run, progress, tell
        device = _device(options.device)
        torch.manual_seed(options.seed)
        self.task = make_task(device)
        self.average = copy.deepcopy(self.task.learner.network).eval()
        self.step = 0
        self.cpu_hours_before = 0.0
        self.begun_cpu = time.process_time()
        self.losses: list[tuple[float, ...]] = []
        self.scores: dict[str, float] = {}

    def run_all(self) -> TrainReport:
        """Go on from the last checkpoint to the last step or the end of the time given."""
        options = self.options
        checkpoint = last_checkpoint(self.run, type(self.architecture))
        if checkpoint is not None:
            check_resumable(checkpoint, self.architecture, self.settings)
            self._restore(checkpoint)
        begun = kept = time.monotonic()
        saved = -1
        with ThreadPoolExecutor(1, thread_name_prefix="sfumato-examples") as pool:
            coming = pool.submit(self.source.batch, self.step, options.batch)
            while self.step < options.steps:
                examples = coming.result()
                if self.step + 1 < options.steps:
                    coming = pool.submit(self.source.batch, self.step + 1, options.batch)
                self._train_step(examples)
                self.progress(self._stage(), self.step, options.steps)
                now = time.monotonic()
                late = options.max_minutes is not None and now - begun > 60 * options.max_minutes
                due = now - kept > 60 * options.checkpoint_minutes
                if late or due or self.step % options.checkpoint_every == 0:
                    self._save()
                    saved, kept = self.step, time.monotonic()
                if late:
                    break
        if saved != self.step:
            self._save()
        last = dict(zip(self.task.loss_names, self.losses[-1], strict=True)) if self.losses else {}
        path = list_checkpoints(self.run)[-1]
        return TrainReport(self.step, options.steps, path, last, self.scores)

    def _train_step(self, examples: Sequence[Any]) -> None:
        self._set_rates()
        losses = self.task.losses(examples, self.step)
        values = tuple(float(losses[name].detach()) for name in self.task.loss_names)
        if not all(map(math.isfinite, values)):
            raise SfumatoError(
                f"training diverged at step {self.step}: a loss is no longer a number; lower "
                "learning_rate and begin anew in another folder."
            )
        self.task.learner.update(losses["total"])
        self._update_average()
        self.losses.append(values)
        self.step += 1

    def _set_rates(self) -> None:
        """A short warm-up, then a cosine down to the final rate; a function of the step alone."""
        steps, last = self.options.steps, self.task.final_rate
        factor = last + (1 - last) * (1 + math.cos(math.pi * min(self.step / steps, 1))) / 2
        factor *= min(1, (self.step + 1) / self.task.warm_up_steps(steps))
        for learner in (self.task.learner, *self.task.others.values()):
            learner.set_rate(factor)

    def _update_average(self) -> None:
        keep = min(self.options.average, (1 + self.step) / (10 + self.step))
        now = self.task.learner.network.state_dict()
        with torch.no_grad():
            for name, value in self.average.state_dict().items():
                if value.dtype.is_floating_point:
                    value.lerp_(now[name], 1 - keep)
                else:
                    value.copy_(now[name])

    def _stage(self) -> str:
        used = zip(self.task.loss_names, self.losses[-1], strict=True)
        text = ", ".join(f"{name} {value:.4f}" for name, value in used if value)
        valid = f"; validation SSIM {self.scores['ssim']:.4f}" if "ssim" in self.scores else ""
        return f"training: {text}{valid}"

    def _save(self) -> None:
        self.scores = self.task.score(self.average, self.run, self.step)
        learner = self.task.learner
        state = _prefixed("adam", learner.optimizer_arrays())
        for name, other in self.task.others.items():
            state |= _prefixed(name, _arrays(other.network))
            state |= _prefixed(f"{name}_adam", other.optimizer_arrays())
        hours = self.cpu_hours_before + (time.process_time() - self.begun_cpu) / 3600
        state[_HOURS] = np.array([hours])
        parts = {
            "generator": _arrays(learner.network),
            "average": _arrays(self.average),
            "state": state,
        }
        losses = np.array(self.losses, dtype=np.float64).reshape(-1, len(self.task.loss_names))
        save_checkpoint(
            self.run,
            Checkpoint(self.step, self.architecture, self.settings, parts, losses, self.scores),
        )
        if self.tell is not None:
            self.tell(self.step, hours, self.scores)

    def _restore(self, checkpoint: Checkpoint[Shape]) -> None:
        state = checkpoint.parts["state"]
        load_weights(self.task.learner.network, checkpoint.parts["generator"])
        load_weights(self.average, checkpoint.parts["average"])
        self.task.learner.restore_optimizer(_below("adam", state))
        for name, other in self.task.others.items():
            load_weights(other.network, _below(name, state))
            other.restore_optimizer(_below(f"{name}_adam", state))
        self.step, self.scores = checkpoint.step, dict(checkpoint.scores)
        self.losses = [tuple(map(float, row)) for row in checkpoint.losses]
        if _HOURS in state:  # older runs did not count them
            self.cpu_hours_before = float(state[_HOURS][0])


def load_weights(network: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Fill a network; the checkpoint's architecture was compared before."""
    network.load_state_dict({name: torch.from_numpy(value) for name, value in arrays.items()})


def _arrays(network: Any) -> Arrays:
    return {name: value.detach().cpu().numpy() for name, value in network.state_dict().items()}


def _prefixed(owner: str, arrays: Arrays) -> Arrays:
    return {f"{owner}.{name}": array for name, array in arrays.items()}


def _below(owner: str, arrays: Arrays) -> Arrays:
    start = f"{owner}."
    return {k.removeprefix(start): array for k, array in arrays.items() if k.startswith(start)}


def _device(name: str) -> Any:
    """The device asked for, refused where it is not there."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InvalidInput(f"device must be cpu or cuda, got {name!r}.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device 'cuda' needs a CUDA device, there is none here; use cpu.")
    return device
