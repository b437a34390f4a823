"""Ours: does a pose know how far it is off? `sfumato experiment accuracy`.

Pictures that are not in the map are localized; the stated error is compared with the true one. The
same again with focal lengths that are wrong: a pose must then be corrected, doubted or refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.cli.values import names
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.lens import focal_lengths, with_focal
from sfumato.core.types import Camera, Features, Pose
from sfumato.datasets import load_gallery, map_scene
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.features.folder import list_images
from sfumato.features.h5 import read_features
from sfumato.server.localize import localize
from sfumato.server.mapping import Map, build_map_from_scenes, moved, read_scene
from sfumato.server.pose_fit import radii
from sfumato_papers.harness.options import Checked, folders, option
from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.work import seeded, show_progress, worked_through

GALLERY = "gallery"
Query = tuple[str, Features, Camera, Pose]


def _factors(text: str) -> tuple[float, ...]:
    return tuple(float(one) for one in names(text))


@dataclass(frozen=True)
class Settings(Checked):
    """Compare the error a pose states with the true one, also where the focal length is wrong.

    Releases are reproducible, not for sending.

    Example: sfumato experiment accuracy --data rooms/tum_desk strecha/Herz-Jesus-P25 gallery
    """

    data: tuple[Path, ...] = folders(
        "A scene with cameras.json, or the word gallery; repeat for more.",
        "a file of outcomes",
        further="Further scenes.",
    )
    block: int | None = option(
        None,
        "Pictures in blocks of so many; every third block is not in the map.",
        low=1,
        shown="1, or 10 of a video of 100 and more",
    )
    dictionary: str = option(DEFAULT_DICTIONARY, "Name or folder of a dictionary.")
    words: int = option(16384, "|K|, a level of it.", low=2)
    epsilons: tuple[float, ...] = option(
        (12.0, 10.0, 8.0), "ε per descriptor, several.", "--epsilon", epsilon=True
    )
    factors: tuple[float, ...] = option(
        (0.65, 0.9, 1.1, 1.5), "Wrong focal lengths, as factors.", "--focal", parse=_factors
    )
    num_seeds: int = option(2, "Releases drawn of each query.", "--seeds", low=1)


@dataclass(frozen=True)
class Outcome:
    """One answer. Errors in the scene's unit and degrees; variances along the axes of the region.

    fitted   focal length the pose was computed with, over the true one
    """

    data: str
    epsilon: float
    factor: float
    seed: int
    query: str
    localized: bool
    num_inliers: int
    position_error: float | None = None
    rotation_error: float | None = None
    position_variances: tuple[float, ...] = ()
    rotation_variances: tuple[float, ...] = ()
    fitted: float | None = None
    warning: str | None = None

    @property
    def key(self) -> tuple[str, float, float, int, str]:
        return self.data, self.epsilon, self.factor, self.seed, self.query

    def is_inside(self, part: str, level: float = 0.9) -> bool:
        """Whether the true position or rotation lies in the region of this level."""
        return bool(getattr(self, f"{part}_error") <= self.radius(part, level))

    def radius(self, part: str, level: float = 0.9) -> float:
        return float(radii(getattr(self, f"{part}_variances"), level))


JOURNAL = Journal("accuracy", "the accuracy experiment", Outcome)


def run_accuracy(settings: Settings, path: Path) -> None:
    dictionary = Dictionary.load(settings.dictionary).at(settings.words)
    about = {"dictionary": dictionary.fingerprint, "words": settings.words}
    kept = JOURNAL.begin(path, about, "outcomes of other settings")
    for folder in settings.data:
        name = folder.name
        world, queries = _open(folder, settings.block, path.parent / name)
        world.word_index(dictionary)
        work = [
            (epsilon, factor, seed, query)
            for epsilon in (math.inf, *settings.epsilons)
            for factor in (1.0, *settings.factors)
            for seed in range(settings.num_seeds if epsilon < math.inf and factor == 1 else 1)
            for query in queries
            if (name, epsilon, factor, seed, query[0]) not in kept
        ]
        stage = f"localizing in {name}"
        for outcome in worked_through(_outcome, work, stage, name, world, dictionary):
            kept.add(outcome)


def _open(folder: Path, block: int | None, work: Path) -> tuple[Map, list[Query]]:
    """A map and the pictures that are not in it, with their true poses."""
    stored = work / "map"
    if folder.name == GALLERY and not folder.is_dir():
        room = load_gallery(progress=show_progress)
        if not stored.exists():
            map_scene(room, progress=show_progress).save(stored)
        asked = [(view.name, extract(view.image), view.camera, view.pose) for view in room.queries]
        return Map.load(stored), asked
    scene = read_scene(folder)
    pictures = list_images(scene.images)
    size = block or (10 if len(pictures) >= 100 else 1)
    held = [name for number, name in enumerate(pictures) if number // size % 3 == 2]
    if not stored.exists():
        full = {f"{scene.name}/{name}" for name in held}
        build_map_from_scenes(
            [folder], hold_out=full.__contains__, work=work / "features", progress=show_progress
        ).save(stored)
    world = Map.load(stored)
    offset = world.facts["scenes"][0]["offset"]
    cameras, poses = scene.cameras or {}, scene.poses or {}
    file = work / "features" / scene.name / "features.h5"
    return world, [
        (name, read_features(file, name), cameras[name], moved(poses[name], offset))
        for name in held
    ]


def _outcome(
    data: str,
    world: Map,
    dictionary: Dictionary,
    asked: tuple[float, float, int, Query],
) -> Outcome:
    epsilon, factor, seed, (name, features, camera, truth) = asked
    rng = seeded(seed, name, dictionary.num_words, epsilon)
    given = with_focal(camera, factor)
    mechanism = Plain() if epsilon == math.inf else SubsetMechanism(epsilon, 1, dictionary)
    release = mechanism.release(features, rng=rng, camera=given)
    found = localize(release, world, dictionary=None if epsilon == math.inf else dictionary)
    made: dict[str, Any] = {
        "data": data,
        "epsilon": epsilon,
        "factor": factor,
        "seed": seed,
        "query": name,
    }
    if found.pose is None or found.error is None:
        warning = found.reason if found.reason and "focal" in found.reason else None
        return Outcome(**made, localized=False, num_inliers=found.num_inliers, warning=warning)
    distance, degrees = found.pose.error_to(truth)
    variances = found.error.covariance
    used = focal_lengths(found.camera or given)[0] / focal_lengths(camera)[0]
    return Outcome(
        **made,
        localized=True,
        num_inliers=found.num_inliers,
        position_error=distance,
        rotation_error=degrees,
        position_variances=tuple(np.linalg.eigvalsh(variances[3:, 3:]).tolist()),
        rotation_variances=tuple(
            (np.linalg.eigvalsh(variances[:3, :3]) * math.degrees(1) ** 2).tolist()
        ),
        fitted=used,
        warning=found.warning,
    )
