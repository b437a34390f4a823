"""LDP-FEAT, Fig. S1; affine embeddings, Table 2: structure from motion on private releases.

Every picture of a scene becomes a release; the server sees nothing else. Releases are drawn with
known seeds so that every figure can be made again: reproducible, not for sending. What was
reconstructed goes to disk, one JSON file for each scene, setting and seed, and is judged later.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import project
from sfumato.core.releases import KeypointRelease
from sfumato.core.storage import write_file
from sfumato.core.types import Camera, Features, Pose
from sfumato.device.mechanisms import Plain, SubsetMechanism
from sfumato.device.mechanisms.lifting import SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.server.mapping.assemble import SparseModel
from sfumato.server.mapping.complete import cameras_of, track_lengths
from sfumato.server.mapping.extract_images import gather_features
from sfumato.server.mapping.releases import reconstruct_releases
from sfumato.server.mapping.scenes import Scene, read_scene
from sfumato_papers.harness.options import Checked, folders, option
from sfumato_papers.harness.work import seeded, show_progress
from sfumato_papers.ldp_feat.poses import pose_numbers

FORMAT = 1
STRATEGY = "sub-hybrid"
_FACTS = ("accepted_pairs", "points_by_matches", "long_tracks_by_matches", "long_tracks_by_chance")
#: |K|/ω is kept near e^ε over this: the true word is then sent in five cases of six.
WORDS_BELOW_ODDS = 5.0


@dataclass(frozen=True)
class Setting:
    """What one row of the table is about.

    method      raw, lifted or words
    dimension   of the subspaces, None for others
    epsilon     per descriptor, None where there is no guarantee; with num_words (|K|) and
                subset_size (ω)
    """

    method: str
    dimension: int | None = None
    epsilon: float | None = None
    num_words: int | None = None
    subset_size: int | None = None
    max_keypoints: int | None = None

    @property
    def slug(self) -> str:
        """A name for files."""
        parts = [self.method]
        if self.dimension is not None:
            parts.append(f"m{self.dimension}")
        if self.epsilon is not None:
            parts.append(f"e{self.epsilon:g}-k{self.num_words}-w{self.subset_size}")
        if self.max_keypoints is not None:
            parts.append(f"n{self.max_keypoints}")
        return "-".join(parts)


@dataclass(frozen=True)
class Settings(Checked):
    """Reconstruct scenes from private releases alone: raw, lifted and words.

    Each reconstruction is written to OUTPUT/predictions; the same command goes on where it was
    stopped. Releases are reproducible, not for sending.

    Example: sfumato experiment sfm --data strecha/fountain-P11 strecha/Herz-Jesus-P25
    """

    data: tuple[Path, ...] = folders(
        "A scene with cameras.json; repeat for more scenes.",
        "predictions",
        further="Further scenes.",
    )
    dimensions: tuple[int, ...] = option(
        (2, 4), "m of lifted releases, several; none for no such row.", "--dimension", low=2
    )
    epsilons: tuple[float, ...] = option(
        (12.0, 10.0, 8.0),
        "ε per descriptor, several; none for no such row.",
        "--epsilon",
        epsilon=True,
    )
    words: int | None = option(None, "|K|: a level of the dictionary; near ω·e^ε/5 by default.")
    subset_size: int = option(1, "ω, words per descriptor.", low=1)
    dictionary: str = option("bsds-16k", "A dictionary's folder or name.")
    max_keypoints: int | None = option(None, "Send only the N strongest of each picture.", low=1)
    num_seeds: int = option(1, "Draws of each setting.", "--seeds", low=1)
    has_raw: bool = option(True, "Also reconstruct from raw descriptors.", "--raw/--no-raw")


def rule_words(levels: Sequence[int], epsilon: float, subset_size: int) -> int:
    """|K| by rule: the level nearest to ω·e^ε/5, in ratio."""
    wanted = epsilon + math.log(subset_size / WORDS_BELOW_ODDS)
    return min(sorted(levels), key=lambda level: abs(math.log(level) - wanted))


def settings_of(settings: Settings, dictionary: Dictionary) -> list[Setting]:
    """Every setting once, without noise first."""
    base = Setting("raw", max_keypoints=settings.max_keypoints)
    found = [base] if settings.has_raw else []
    found += [replace(base, method="lifted", dimension=m) for m in settings.dimensions]
    levels, size = sorted({*dictionary.levels, dictionary.num_words}), settings.subset_size
    for epsilon in settings.epsilons:
        count = settings.words or rule_words(levels, epsilon, size)
        words = replace(base, method="words", epsilon=epsilon, num_words=count, subset_size=size)
        found.append(words)
    return list(dict.fromkeys(found))


def run_sfm(
    folders: Sequence[str | Path], settings: Settings, dictionary: Dictionary, predictions: Path
) -> list[Path]:
    """Reconstruct every scene under every setting that is not on disk yet; all files, in order."""
    if not folders:
        raise InvalidInput("give at least one scene: a folder of pictures with cameras.json.")
    scenes = [read_scene(folder) for folder in folders]
    if len({scene.name for scene in scenes}) != len(scenes):
        raise InvalidInput("folders of scenes must have different names; rename one.")
    for scene in scenes:
        if scene.cameras is None:
            raise InvalidInput(f"{scene.name} has no cameras.json with K of every picture.")
    files = []
    for scene in scenes:
        features: Mapping[str, Features] | None = None
        for setting in settings_of(settings, dictionary):
            for seed in range(settings.num_seeds if setting.method != "raw" else 1):
                path = predictions / f"{scene.name}-{setting.slug}-{seed}.json"
                files.append(path)
                if path.exists():
                    continue
                if features is None:
                    work = predictions.parent / "features" / scene.name
                    features = gather_features(
                        scene.images, work=work, progress=show_progress
                    ).features
                found = predict(scene, features, setting, dictionary, seed)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, json.dumps(found, ensure_ascii=False).encode())
    return files


def predict(
    scene: Scene,
    features: Mapping[str, Features],
    setting: Setting,
    dictionary: Dictionary,
    seed: int,
) -> dict[str, Any]:
    """One reconstruction, in figures that can be judged without the pictures."""
    cameras, truth = scene.cameras or {}, scene.poses or {}
    missing = sorted(set(features) - set(cameras))
    if missing:
        raise InvalidInput(f"the cameras.json of {scene.name} lacks K of {len(missing)} pictures.")
    releases = make_releases(features, cameras, setting, dictionary, f"{scene.name}|{seed}")
    counts = [len(one) for one in releases.values()]
    line: dict[str, Any] = {
        "format": FORMAT,
        "scene": scene.name,
        "setting": asdict(setting),
        "seed": seed,
        "dictionary": None if setting.method == "raw" else dictionary.manifest["provenance"],
        "images": sorted(features),
        "truth": {name: pose_numbers(truth[name]) for name in sorted(features) if name in truth},
        "mean_keypoints": float(np.mean(counts)),
        "poses": {},
        "reason": None,
    }
    start = time.perf_counter()
    try:
        model, facts = reconstruct_releases(releases, seed=seed, progress=show_progress)
    except InvalidInput as error:
        return line | {"reason": str(error), "seconds": time.perf_counter() - start}
    lengths = track_lengths(model)
    keypoints = [releases[name].keypoints for name in model.image_names]
    return line | {
        "seconds": time.perf_counter() - start,
        "poses": {
            name: pose_numbers(pose)
            for name, pose in zip(model.image_names, model.poses, strict=True)
        },
        "tracks": np.bincount(lengths).tolist(),  # how many points have 0, 1, 2, … images
        "mean_reprojection_error_px": mean_reprojection_error(model, keypoints),
        **{name: facts[name] for name in _FACTS},
    }


def make_releases(
    features: Mapping[str, Features],
    cameras: Mapping[str, Camera],
    setting: Setting,
    dictionary: Dictionary,
    drawn: str,
) -> dict[str, KeypointRelease]:
    """What the devices would send, each picture with randomness of its own."""
    mechanism: Plain | SubspaceLifting | SubsetMechanism
    if setting.method == "raw":
        mechanism = Plain()
    elif setting.method == "lifted":
        mechanism = SubspaceLifting(STRATEGY, setting.dimension or 2, dictionary)
    else:
        level = dictionary.at(setting.num_words or dictionary.num_words)
        mechanism = SubsetMechanism(setting.epsilon or np.inf, setting.subset_size or 1, level)
    found: dict[str, KeypointRelease] = {}
    for name, item in sorted(features.items()):
        rng = seeded(drawn, name, setting.slug)
        kept = item
        if setting.max_keypoints is not None and len(item) > setting.max_keypoints:
            kept = item.take(np.arange(setting.max_keypoints))  # the strongest come first
        found[name] = mechanism.release(kept, rng=rng, camera=cameras[name])
    return found


def mean_reprojection_error(model: SparseModel, keypoints: Sequence[NDArray[np.float32]]) -> float:
    """Over all observations, in pixels."""
    errors = [np.empty(0)]
    cameras = cameras_of(model)
    for row, seen in enumerate(model.point_of_feature):
        pose: Pose = model.poses[row]
        inside = np.flatnonzero(seen >= 0)
        pixels = project(cameras[row], pose.apply(model.points[seen[inside]]))
        errors.append(np.linalg.norm(pixels - keypoints[row][inside], axis=1))
    return float(np.concatenate(errors).mean())
