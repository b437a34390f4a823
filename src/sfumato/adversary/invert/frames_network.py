"""The network for frames: keypoints vote on how their neighbours lie, a few times over.

Two descriptors and their distance say where one lies seen from the other, in the other's own
frame. Beside the true direction between them, this is a vote on how that frame is turned. From
the second round on the neighbours' guesses are known: a vote then also says how much two frames
differ. Votes are waves on the circle, added up, so a turned picture gets turned votes; only what
a descriptor and the border say by themselves knows an up. Imported only where torch is installed.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from sfumato.adversary.invert.architecture import FrameArchitecture
from sfumato.adversary.invert.keypoint_angles import BINS, COLUMNS

_WAVES = 8
#: Centres, in log2 pixels, of the bumps that tell a distance.
_DISTANCES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
_TYPICAL_SIZE = 2.0  # log2 of a diameter of 4 pixels: where sizes begin
_EDGE = 1 + len(_DISTANCES) + 8


class FrameGuesser(nn.Module):  # type: ignore[misc,unused-ignore]
    """Rows and neighbourhoods in, log-odds of directions and log2 of diameters out.

    rows, index, edges, border   see `Neighbourhood`; pictures may be laid end to end
    returns                      (N, BINS) and (N,)
    """

    def __init__(self, architecture: FrameArchitecture) -> None:
        super().__init__()
        a = self.architecture = architecture
        self.embed = nn.Sequential(
            nn.Linear(COLUMNS + 4, a.hidden),
            nn.ReLU(),
            nn.Linear(a.hidden, a.width),
            nn.ReLU(),
            nn.Linear(a.width, a.width),
        )
        self.rounds = nn.ModuleList(_Round(a) for _ in range(a.rounds))
        self.heads = nn.ModuleList(_Head(a.width) for _ in range(a.rounds + 1))
        turn = torch.arange(BINS)[:, None] * torch.arange(1, _WAVES + 1) * (2 * math.pi / BINS)
        self.register_buffer("circle", torch.cat([turn.cos(), turn.sin()], dim=1))

    def forward(self, rows: Any, index: Any, edges: Any, border: Any) -> Any:
        return self.guesses(rows, index, edges, border)[-1]

    def guesses(self, rows: Any, index: Any, edges: Any, border: Any) -> list[tuple[Any, Any]]:
        """What each round believes, the first from the descriptor alone."""
        state = self.embed(torch.cat([rows, border], dim=1))
        made = [self.heads[0](state)]
        waves, apart = _waves(edges), _bumps(edges)
        for ask, head in zip(self.rounds, list(self.heads)[1:], strict=True):
            logits, size = made[-1]
            # Mean waves of the guess: none are left where every direction is as likely.
            believed = functional.softmax(logits, dim=1) @ self.circle
            state, votes = ask(state, index, edges, waves, apart, believed, size)
            logits, size = head(state)
            made.append((logits + votes @ self.circle.T, size))
        return made


class _Round(nn.Module):  # type: ignore[misc,unused-ignore]
    """The neighbours' votes as waves (N, 2·WAVES), and what a keypoint has learned of them."""

    def __init__(self, a: FrameArchitecture) -> None:
        super().__init__()
        self.own = nn.Linear(a.width + 1, a.width)
        self.other = nn.Linear(a.width + 1, a.width, bias=False)
        self.way = nn.Linear(_EDGE, a.width, bias=False)
        self.votes = nn.Linear(a.width, 4 * _WAVES)
        self.update = nn.Sequential(
            nn.Linear(2 * a.width, a.width), nn.ReLU(), nn.Linear(a.width, a.width)
        )
        self.norm = nn.LayerNorm(a.width)

    def forward(
        self, state: Any, index: Any, edges: Any, waves: Any, apart: Any, believed: Any, size: Any
    ) -> tuple[Any, Any]:
        inputs = torch.cat([state, size[:, None] - _TYPICAL_SIZE], dim=1)
        there = edges[..., 3:4]
        other = _gather(believed, index)
        way = torch.cat([apart, _in_frames(index, edges, believed, other, size)], dim=2)
        seen = _gather(self.other(inputs), index)
        hidden = functional.relu(self.own(inputs)[:, None] + seen + self.way(way)) * there
        said = self.votes(hidden) * there
        by_place = _turned(said[..., : 2 * _WAVES], waves)
        by_frame = _turned(said[..., 2 * _WAVES :], other)
        votes = (by_place + by_frame).sum(dim=1)
        heard = hidden.sum(dim=1) / edges.shape[1]
        return self.norm(state + self.update(torch.cat([state, heard], dim=1))), votes


class _Head(nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.angle = nn.Linear(width, BINS)
        self.size = nn.Linear(width, 1)
        nn.init.constant_(self.size.bias, _TYPICAL_SIZE)

    def forward(self, state: Any) -> tuple[Any, Any]:
        return self.angle(state), self.size(state)[:, 0]


def _waves(edges: Any) -> Any:
    """(N, k, 2·WAVES): cosines, then sines, of multiples of the direction to a neighbour."""
    cos, sin = edges[..., 0], edges[..., 1]
    waves = [(cos, sin)]
    for _ in range(_WAVES - 1):
        c, s = waves[-1]
        waves.append((c * cos - s * sin, c * sin + s * cos))
    return torch.stack([c for c, _ in waves] + [s for _, s in waves], dim=2)


def _bumps(edges: Any) -> Any:
    """The distance, as numbers of order 1."""
    distance = edges[..., 2]
    bumps = [torch.exp(-((distance - centre) ** 2)) for centre in _DISTANCES]
    return torch.stack([(distance - 3) / 2, *bumps], dim=2)


def _turned(said: Any, waves: Any) -> Any:
    """Votes that were given in some frame, in that of the picture: a complex product."""
    a, b = said[..., :_WAVES], said[..., _WAVES:]
    c, s = waves[..., :_WAVES], waves[..., _WAVES:]
    return torch.cat([a * c - b * s, a * s + b * c], dim=2)


def _in_frames(index: Any, edges: Any, believed: Any, other: Any, size: Any) -> Any:
    """The way in the guessed frames of both ends, and the frames against each other."""
    cos, sin, distance = edges[..., 0], edges[..., 1], edges[..., 2]
    c, s = believed[:, None, 0], believed[:, None, _WAVES]
    oc, os = other[..., 0], other[..., _WAVES]
    other_size = _gather(size[:, None], index)[..., 0]
    parts = [
        cos * c + sin * s,
        sin * c - cos * s,
        cos * oc + sin * os,
        sin * oc - cos * os,
        oc * c + os * s,
        os * c - oc * s,
        distance - size[:, None],
        other_size - size[:, None],
    ]
    return torch.stack(parts, dim=2)


def _gather(table: Any, index: Any) -> Any:
    count, reach = index.shape
    return table.index_select(0, index.reshape(-1)).reshape(count, reach, table.shape[1])
