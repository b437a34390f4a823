"""What to recommend for a map: tried in the background on a few of its own images, kept beside it.

One process makes a plan: whoever holds the lock of the map's file. It recommends what localizes
well enough at the least E per picture. Fewer settings are tried than by `sfumato plan`: an answer
in a minute is worth more here than the last percent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.accounting import DELTA
from sfumato.core.errors import SfumatoError
from sfumato.core.locks import try_lock
from sfumato.core.progress import Progress
from sfumato.core.storage import write_file
from sfumato.core.types import NOT_PROTECTED
from sfumato.dictionary import Dictionary
from sfumato.privacy.plan import Plan, plan
from sfumato.privacy.plan_grid import Grid
from sfumato.privacy.rehearsal import Question
from sfumato.server.mapping.map import Map
from sfumato.service.errors import ServiceError
from sfumato.service.settings import Settings

STEP = 0.5
SMALLEST, LARGEST = 1.0, 16.0
_MAX_ANGLE_DEG = 2.0
_GRID = Grid(keypoints=(0, 1000, 300), subset_sizes=(1,))
_ANY_SHARE = 1e-9  # a share of 0 asks for nothing; the cheapest setting then reaches it


def rounded(epsilon: float | None) -> float | None:
    """ε of a plan, rounded down to a step: a plan never spends more than was asked for."""
    if epsilon is None:
        return None
    if not SMALLEST <= epsilon <= LARGEST:
        raise ServiceError(
            400, "invalid", f"epsilon must be from {SMALLEST:g} to {LARGEST:g} for a plan."
        )
    return math.floor(epsilon / STEP) * STEP


def plan_file(folder: Path, epsilon: float | None) -> Path:
    return folder / ("plan.json" if epsilon is None else f"plan-{epsilon:g}.json")


def stored_plan(folder: Path, epsilon: float | None) -> dict[str, Any] | None:
    """The plan, or None: not there yet."""
    try:
        content = json.loads(plan_file(folder, epsilon).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    assert isinstance(content, dict)
    return content


def make_plan(
    world: Map,
    dictionaries: list[Dictionary],
    folder: Path,
    epsilon: float | None,
    settings: Settings,
) -> None:
    """Make and store a plan, unless another process is at it or has done it."""
    with suppress(_Stopped), _only_one(folder) as first:
        if not first or stored_plan(folder, epsilon) is not None:
            return
        watch = _Watch(folder)
        try:
            content = _best(world, dictionaries, epsilon, settings, watch)
        except SfumatoError as error:
            content = {"failed": str(error)}
        watch("storing", 0, 1)
        write_file(plan_file(folder, epsilon), json.dumps(content).encode())


class _Stopped(Exception):
    """The map is gone; nobody needs its plan."""


@dataclass(frozen=True)
class _Watch:
    """Progress that nobody sees, and that stops the work once nobody needs it."""

    folder: Path

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self.folder.is_dir():
            raise _Stopped


@contextmanager
def _only_one(folder: Path) -> Iterator[bool]:
    try:
        lock = (folder / "plan.lock").open("wb")
    except FileNotFoundError:
        yield False
        return
    with lock:
        yield try_lock(lock.fileno())


def _best(
    world: Map,
    dictionaries: list[Dictionary],
    epsilon: float | None,
    settings: Settings,
    progress: Progress,
) -> dict[str, Any]:
    if not dictionaries:
        return {"failed": "this service has no dictionary of the map's extractor."}
    question = Question(max_distance=_tolerance(world), max_angle_deg=_MAX_ANGLE_DEG)
    least, most = min(settings.plan_epsilons), max(settings.plan_epsilons)
    made = plan(
        world,
        dictionaries,
        share=max(settings.plan_share, _ANY_SHARE),
        epsilon=least if epsilon is None and least == most else epsilon,
        epsilons=(least, most),
        num_trials=settings.plan_images,
        grid=_GRID,
        question=question,
        progress=progress,
    )
    return _describe(made, dictionaries[made.recommended.setting.dictionary])


def _tolerance(world: Map) -> float:
    """A trial succeeds within 2 % of how far the map's images lie apart: its unit is unknown."""
    rotations, translations = np.asarray(world.rotations), np.asarray(world.translations)
    centers = -np.einsum("nji,nj->ni", rotations, translations)
    apart = float(np.linalg.norm(np.ptp(centers, axis=0)))
    spread = float(np.linalg.norm(np.ptp(np.asarray(world.points), axis=0)))
    return max(0.02 * apart, 0.005 * spread, 1e-9)


def _describe(made: Plan, dictionary: Dictionary) -> dict[str, Any]:
    choice, setting = made.recommended, made.recommended.setting
    return {
        "epsilon": choice.epsilon,
        "epsilon_per_picture": choice.price.total,
        "exact_epsilon_per_picture": choice.price.picture,
        "delta": DELTA,
        "num_words": setting.num_words,
        "subset_size": setting.subset_size,
        "max_keypoints": setting.max_keypoints,
        "dictionary": dictionary.fingerprint_at(setting.num_words),
        "share_localized": choice.share,
        "share_interval_95": list(choice.interval),
        "trials": choice.trials,
        "max_distance": made.question.max_distance,
        "max_angle_deg": made.question.max_angle_deg,
        "not_protected": list(NOT_PROTECTED),
    }
