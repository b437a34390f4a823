"""Pairs of photographs that see the same thing, by a map of all of them with known poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features
from sfumato.device.filters.spread import spread_order
from sfumato.device.filters.stable import stable_order, survivals
from sfumato.features import load_image
from sfumato.features.folder import list_images
from sfumato.server.mapping import Map, build_map_from_scenes, read_scene
from sfumato.server.mapping.extract_images import gather_features
from sfumato_papers.harness.work import show_progress

#: The reference map is made of all keypoints of this extractor, whatever is measured later.
REFERENCE = "sift"
#: [reverse, §5.2]: a pair counts from this many points on that both pictures see.
MIN_COVISIBLE = 20
#: Pairs of pictures of two scenes, which have nothing in common: what chance alone matches.
NUM_CONTROLS = 60


@dataclass(frozen=True)
class PosedPair:
    """Two images of the map by row; covisible is 0 for a control across scenes."""

    first: int
    second: int
    covisible: int
    is_control: bool = False


@dataclass(frozen=True, eq=False)
class PairSet:
    """Which pairs are asked about: chosen once, by the map, before any keypoint is dropped."""

    world: Map
    pairs: tuple[PosedPair, ...]
    num_possible: int  # pairs of one scene, before the threshold

    @property
    def names(self) -> tuple[str, ...]:
        return self.world.image_names

    @cached_property
    def points_of(self) -> list[NDArray[np.int32]]:
        """The point of each feature of every image, −1 for none."""
        seen = np.asarray(self.world.point_of_feature)
        return [seen[self.world.features_of(image)] for image in range(self.world.num_images)]


def scene_folders(data: Sequence[str | Path]) -> list[Path]:
    """Scenes, or the scenes inside a folder of them."""
    found: list[Path] = []
    for folder in map(Path, data):
        inside = sorted(path.parent for path in folder.glob("*/cameras.json"))
        found += [folder] if (folder / "cameras.json").is_file() or not inside else inside
    if not found:
        raise InvalidInput("give at least one scene: a folder of pictures with cameras.json.")
    return found


def open_pairs(
    folders: Sequence[str | Path], work: str | Path, *, min_covisible: int = MIN_COVISIBLE
) -> PairSet:
    """The pairs of all scenes; features and the map are kept in `work` for the next time."""
    names = set()
    for folder in folders:
        scene = read_scene(folder)
        if scene.cameras is None or scene.poses is None:
            raise InvalidInput(f"{scene.name} has no cameras.json with K, R and t of its pictures.")
        names |= {f"{scene.name}/{image}" for image in list_images(scene.images)}
    stored = Path(work) / "map"
    if not stored.exists():
        features = Path(work) / "features" / REFERENCE
        build_map_from_scenes(
            folders, extractor=REFERENCE, work=features, progress=show_progress
        ).save(stored)
    world = Map.load(stored)
    if set(world.image_names) != names:
        raise InvalidInput(f"{stored} is a map of other pictures; give another folder.")
    pairs, possible = choose_pairs(world, min_covisible)
    return PairSet(world, pairs, possible)


def choose_pairs(world: Map, min_covisible: int) -> tuple[tuple[PosedPair, ...], int]:
    """Pairs of one scene that share points enough, then controls across scenes, evenly spread."""
    seen = np.asarray(world.point_of_feature)
    points = []
    for image in range(world.num_images):
        here = seen[world.features_of(image)]
        points.append(np.unique(here[here >= 0]))
    scene = [name.split("/")[0] for name in world.image_names]
    inside, across = [], []
    for a, b in combinations(range(world.num_images), 2):
        if scene[a] == scene[b]:
            shared = np.intersect1d(points[a], points[b], assume_unique=True)
            inside.append(PosedPair(a, b, len(shared)))
        else:
            across.append(PosedPair(a, b, 0, is_control=True))
    chosen = [pair for pair in inside if pair.covisible >= min_covisible]
    if not chosen:
        raise InvalidInput(f"no two pictures share {min_covisible} points of the map.")
    rows = np.linspace(0, len(across) - 1, min(NUM_CONTROLS, len(across))).round().astype(int)
    return (*chosen, *(across[row] for row in rows)), len(inside)


@dataclass(frozen=True, eq=False)
class KeypointSource:
    """The keypoints of every picture of scenes, and which of them a device keeps first.

    work  what takes long is kept in this folder and not done again
    pool  only the strongest: for extractors that take minutes for all
    """

    folders: Sequence[str | Path]
    work: Path
    extractor: str = REFERENCE
    pool: int | None = None

    @property
    def is_reference(self) -> bool:
        """Whether the keypoints are those of the map."""
        return self.extractor == REFERENCE and self.pool is None

    @property
    def kind(self) -> str:
        return self.extractor if self.pool is None else f"{self.extractor}-{self.pool}"

    @cached_property
    def features(self) -> Mapping[str, Features]:
        """By "scene/picture"."""
        found: dict[str, Features] = {}
        for folder in self.folders:
            scene = read_scene(folder)
            made = gather_features(
                scene.images,
                extractor=self.extractor,
                max_keypoints=self.pool,
                work=self.work / "features" / self.kind / scene.name,
                progress=show_progress,
            )
            found |= {f"{scene.name}/{name}": item for name, item in made.features.items()}
        return found

    def order(self, name: str, keep_by: str, features: Features | None = None) -> NDArray[np.int64]:
        """All rows of a picture in the order in which a device keeps them."""
        found = self.features[name] if features is None else features
        return keep_order(
            found, keep_by, self._survivals(name, found) if keep_by == "stable" else None
        )

    def _survivals(self, name: str, features: Features) -> NDArray[np.int64]:
        stored = self.work / "survivals" / self.kind / f"{name}.npy"
        with suppress(OSError, ValueError, EOFError):  # missing or half a file: made again
            found = np.load(stored, allow_pickle=False)
            if found.shape == (len(features),):
                return np.asarray(found, dtype=np.int64)
        scene, picture = name.split("/", 1)
        images = {read_scene(folder).name: read_scene(folder).images for folder in self.folders}
        found = survivals(features, load_image(images[scene] / picture))
        stored.parent.mkdir(parents=True, exist_ok=True)
        np.save(stored, found)
        return found


def keep_order(
    features: Features, keep_by: str, survived: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """All rows in the order in which a device keeps them: any N is a beginning of it.

    survived  how many views each keypoint survives, which "stable" needs
    """
    if keep_by == "spread":
        return spread_order(features)
    if keep_by == "stable":
        if survived is None:
            raise InvalidInput("stable keypoints are chosen by the views they survive; count them.")
        return stable_order(features, survived)
    return np.asarray(np.argsort(-features.scores, kind="stable"), dtype=np.int64)
