"""The training loop of the network for frames, and its one checkpoint file.

Whatever a step draws comes from (seed, step). Imported only where torch is installed.
"""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from sfumato.adversary.invert import tensors
from sfumato.adversary.invert.frames_data import FrameExample, FrameSource, Posed
from sfumato.adversary.invert.frames_network import FrameArchitecture, FrameGuesser
from sfumato.adversary.invert.frames_train import FrameTrainOptions, FrameTrainReport
from sfumato.adversary.invert.keypoint_angles import (
    BINS,
    find_neighbourhood,
    peak_angles,
    turn_errors,
)
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch, SfumatoError
from sfumato.core.progress import Progress
from sfumato.core.storage import write_file

CHECKPOINT = "frames.safetensors"
_WARMUP = 100
_FINAL_RATE = 0.02
#: Sharpness of the wanted distribution around the true direction: about ±10°.
_SHARPNESS = 30.0


class FrameTraining:
    """A run: network, its running average, optimizer, and where it stands."""

    def __init__(
        self,
        architecture: FrameArchitecture,
        options: FrameTrainOptions,
        source: FrameSource,
        settings: Mapping[str, Any],
        run: Path,
        progress: Progress,
    ) -> None:
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        self.options, self.source, self.settings = options, source, dict(settings)
        self.run, self.progress = run, progress
        torch.manual_seed(options.seed)
        self.network = FrameGuesser(architecture)
        self.average = copy.deepcopy(self.network).eval()
        self.adam = torch.optim.Adam(self.network.parameters(), options.learning_rate)
        self.step, self.loss = 0, float("nan")

    def run_all(self, held_out: Sequence[Posed]) -> FrameTrainReport:
        """Go on to the last step or the end of the time given."""
        options, begun = self.options, time.monotonic()
        while self.step < options.steps:
            self.train_step(self.source.batch(self.step, options.batch))
            self.progress(f"training: loss {self.loss:.3f}", self.step, options.steps)
            late = options.max_minutes is not None and (
                time.monotonic() - begun > 60 * options.max_minutes
            )
            if late or self.step % options.checkpoint_every == 0 or self.step == options.steps:
                self._save()
            if late:
                break
        return FrameTrainReport(self.step, options.steps, self.loss, score(self.average, held_out))

    def train_step(self, examples: Sequence[FrameExample]) -> None:
        """One update; every round is held to the truth, the last one most."""
        self._set_rate()
        posed = [example.posed for example in examples]
        counted = torch.from_numpy(np.concatenate([e.counted for e in examples]))
        turn = torch.from_numpy(np.deg2rad(np.concatenate([p.angles for p in posed])))
        sizes = torch.from_numpy(np.log2(np.concatenate([p.scales for p in posed])))
        wanted = functional.softmax(_SHARPNESS * torch.cos(turn[:, None] - _directions()), dim=1)
        made = self.network.guesses(*collate(examples))
        total = torch.zeros(())
        for rank, (logits, guess) in enumerate(made):
            angle = -(wanted * functional.log_softmax(logits, dim=1)).sum(dim=1)[counted].mean()
            size = (guess - sizes).abs()[counted].mean()
            share = 1.0 if rank == len(made) - 1 else 0.3
            total = total + share * (angle + self.options.size_weight * size)
        self.loss = float(total.detach())
        if not math.isfinite(self.loss):
            raise SfumatoError(
                f"training diverged at step {self.step}: the loss is no longer a number; lower "
                "learning_rate and begin anew in another folder."
            )
        self.adam.zero_grad(set_to_none=True)
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.adam.step()
        keep = min(self.options.average, (1 + self.step) / (10 + self.step))
        now = self.network.state_dict()
        with torch.no_grad():
            for name, value in self.average.state_dict().items():
                value.lerp_(now[name], 1 - keep)
        self.step += 1

    def _set_rate(self) -> None:
        done = min(self.step / self.options.steps, 1)
        factor = _FINAL_RATE + (1 - _FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2
        factor *= min(1, (self.step + 1) / _WARMUP)
        self.adam.param_groups[0]["lr"] = self.options.learning_rate * factor

    def _save(self) -> None:
        arrays = {f"network.{k}": v.numpy() for k, v in self.network.state_dict().items()}
        arrays |= {f"average.{k}": v.numpy() for k, v in self.average.state_dict().items()}
        for number, entry in self.adam.state_dict()["state"].items():
            arrays |= {f"adam.{number}.{key}": value.numpy() for key, value in entry.items()}
        told = {"step": self.step, "loss": self.loss, "settings": self.settings}
        write_file(self.run / CHECKPOINT, tensors.to_bytes(arrays, {"run": json.dumps(told)}))

    def restore(self) -> None:
        """Go on where the run's checkpoint stands, if there is one and it is of this run."""
        if not (self.run / CHECKPOINT).exists():
            return
        arrays, told = read_run(self.run)
        for name, value in self.settings.items():
            if told["settings"].get(name) != value:
                raise Mismatch(
                    f"the run was begun with {name} = {told['settings'].get(name)!r}, {value!r} "
                    "is asked for; repeat its settings or choose another folder."
                )
        self.network.load_state_dict(part_of(arrays, "network"))
        self.average.load_state_dict(part_of(arrays, "average"))
        entries: dict[int, dict[str, Any]] = {}
        for key, value in part_of(arrays, "adam").items():
            number, _, what = key.partition(".")
            entries.setdefault(int(number), {})[what] = value
        groups = self.adam.state_dict()["param_groups"]
        self.adam.load_state_dict({"state": entries, "param_groups": groups})
        self.step, self.loss = int(told["step"]), float(told["loss"])


def collate(examples: Sequence[FrameExample]) -> tuple[Any, Any, Any, Any]:
    """Examples as the network takes them: laid end to end, indices shifted."""
    starts = np.cumsum([0, *(len(example.posed) for example in examples[:-1])])
    index = [e.near.index + start for e, start in zip(examples, starts, strict=True)]
    arrays = (
        np.concatenate([e.posed.rows for e in examples]),
        np.concatenate(index),
        np.concatenate([e.near.edges for e in examples]),
        np.concatenate([e.near.border for e in examples]),
    )
    rows, places, edges, border = (torch.from_numpy(array) for array in arrays)
    return rows, places, edges, border


def score(network: Any, pictures: Sequence[Posed]) -> dict[str, float]:
    """Errors on held-out pictures: of the network, of its guess without neighbours (own), and
    of the one angle that suits these pictures best (constant), which no attacker knows."""
    if not any(len(posed) for posed in pictures):
        return {}
    first, last, octaves = [], [], []
    for posed in (posed for posed in pictures if len(posed)):
        near = find_neighbourhood(posed.keypoints, posed.size, network.architecture.neighbours)
        with torch.inference_mode():
            everything = np.ones(len(posed), dtype=np.bool_)
            made = network.guesses(*collate([FrameExample(posed, near, everything)]))
        first.append(peak_angles(made[0][0].numpy()))
        last.append(peak_angles(made[-1][0].numpy()))
        octaves.append(np.abs(made[-1][1].numpy() - np.log2(posed.scales)))
    truth = np.concatenate([posed.angles for posed in pictures])
    errors = {"": turn_errors(np.concatenate(last), truth)}
    errors["own_"] = turn_errors(np.concatenate(first), truth)
    constants = [turn_errors(np.full_like(truth, angle), truth) for angle in range(0, 360, 5)]
    errors["constant_"] = min(constants, key=lambda found: float(np.median(found)))
    scores = {"size_error_octaves": float(np.median(np.concatenate(octaves)))}
    for name, found in errors.items():
        scores[f"{name}median_deg"] = float(np.median(found))
        scores[f"{name}within_30"] = float((found < 30).mean())
    return scores


def read_run(run: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays, and step, loss and settings, of a run's checkpoint."""
    file = run / CHECKPOINT
    if not file.is_file():
        raise InvalidInput(f"{run} holds no network for frames; train one there first.")
    arrays, metadata = tensors.from_bytes(file.read_bytes())
    try:
        told = json.loads(metadata["run"])
        return arrays, {name: told[name] for name in ("step", "loss", "settings")}
    except (KeyError, TypeError, ValueError):
        raise DamagedFile(f"{file} is damaged: it does not say what it is of.") from None


def part_of(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, Any]:
    """The tensors of one part of a checkpoint."""
    begin = f"{part}."
    return {k[len(begin) :]: torch.from_numpy(v) for k, v in arrays.items() if k.startswith(begin)}


def _directions() -> Any:
    return torch.arange(BINS) * (2 * math.pi / BINS)
