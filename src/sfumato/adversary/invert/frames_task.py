"""What the network for frames learns: the angle and the size of every keypoint.

Imported only where torch is installed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from sfumato.adversary.invert.architecture import FrameArchitecture
from sfumato.adversary.invert.frames_data import FrameExample
from sfumato.adversary.invert.frames_network import FrameGuesser
from sfumato.adversary.invert.frames_train import FrameTrainOptions
from sfumato.adversary.invert.keypoint_angles import BINS, peak_angles, turn_errors
from sfumato.adversary.invert.loop import Learner

_WARM_UP = 100
#: Sharpness of the wanted distribution around the true direction: about ±10°.
_SHARPNESS = 30.0
#: Weight of the rounds before the last one.
_EARLY_ROUNDS = 0.3


class FrameTask:
    """Every round of the network is compared with the truth; the last one counts most."""

    loss_names = ("total",)
    final_rate = 0.02

    def __init__(
        self,
        architecture: FrameArchitecture,
        options: FrameTrainOptions,
        held_out: Sequence[FrameExample],
        device: Any,
    ) -> None:
        self.size_weight, self.device = options.size_weight, device
        self.held_out = [example for example in held_out if len(example.rows)]
        self.learner = Learner(FrameGuesser(architecture).to(device), options.learning_rate)
        self.others: dict[str, Learner] = {}

    def warm_up_steps(self, steps: int) -> int:
        return _WARM_UP

    def losses(self, examples: Sequence[FrameExample], step: int) -> dict[str, Any]:
        def tensor(arrays: list[Any]) -> Any:
            return torch.from_numpy(np.concatenate(arrays)).to(self.device)

        counted = tensor([e.counted for e in examples])
        turn = tensor([np.deg2rad(e.features.angles) for e in examples])
        sizes = tensor([np.log2(e.features.scales) for e in examples])
        directions = torch.arange(BINS, device=self.device) * (2 * math.pi / BINS)
        wanted = functional.softmax(_SHARPNESS * torch.cos(turn[:, None] - directions), dim=1)
        made = self.learner.network.guesses(*collate(examples, self.device))
        total = torch.zeros((), device=self.device)
        for rank, (logits, guess) in enumerate(made, start=1):
            angle = -(wanted * functional.log_softmax(logits, dim=1)).sum(dim=1)[counted].sum()
            size = (guess - sizes).abs()[counted].sum()
            share = 1.0 if rank == len(made) else _EARLY_ROUNDS
            total = total + share * (angle + self.size_weight * size)
        # A crop of sky has no keypoint: nothing to learn, and nothing to divide by.
        return {"total": total / max(int(counted.sum()), 1)}

    def score(self, network: Any, run: Path, step: int) -> dict[str, float]:
        """Errors of the network, of its guess without neighbours (own), and of the one angle that
        suits these pictures best (constant), which no attacker knows."""
        if not self.held_out:
            return {}
        first, last, octaves = [], [], []
        for example in self.held_out:
            with torch.inference_mode():
                made = network.guesses(*collate([example], self.device))
            first.append(peak_angles(made[0][0].cpu().numpy()))
            last.append(peak_angles(made[-1][0].cpu().numpy()))
            octaves.append(np.abs(made[-1][1].cpu().numpy() - np.log2(example.features.scales)))
        truth = np.concatenate([example.features.angles for example in self.held_out])
        constants = [turn_errors(np.full_like(truth, angle), truth) for angle in range(0, 360, 5)]
        errors = {
            "": turn_errors(np.concatenate(last), truth),
            "own_": turn_errors(np.concatenate(first), truth),
            "constant_": min(constants, key=lambda degrees: float(np.median(degrees))),
        }
        scores = {"size_error_octaves": float(np.median(np.concatenate(octaves)))}
        for name, degrees in errors.items():
            scores[f"{name}median_deg"] = float(np.median(degrees))
            scores[f"{name}within_30"] = float((degrees < 30).mean())
        return scores


def collate(examples: Sequence[FrameExample], device: Any = "cpu") -> tuple[Any, Any, Any, Any]:
    """Examples as the network takes them: laid end to end, indices shifted."""
    starts = np.cumsum([0, *(len(example.rows) for example in examples[:-1])])
    index = [e.near.index + start for e, start in zip(examples, starts, strict=True)]
    arrays = (
        np.concatenate([e.rows for e in examples]),
        np.concatenate(index),
        np.concatenate([e.near.edges for e in examples]),
        np.concatenate([e.near.border for e in examples]),
    )
    rows, places, edges, border = (torch.from_numpy(array).to(device) for array in arrays)
    return rows, places, edges, border
