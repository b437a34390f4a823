"""What is localized where: a map, its queries, and the truth about them where it is known."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera, Features, Pose
from sfumato.datasets.layouts.choose import read_layout
from sfumato.datasets.query_rule import QueryRule
from sfumato.features.extractors import Extractor, extractor_name
from sfumato.features.folder import extract_folder
from sfumato.features.h5 import read_features
from sfumato.server.mapping import Map, build_map_from_scenes, moved, read_scene
from sfumato.server.mapping.pairs import read_pairs
from sfumato.server.mapping.scenes import Scene
from sfumato.server.upright import WorldGravity


@dataclass(frozen=True, eq=False)
class Query:
    """One photograph that is not in the map; truth is None where it is secret (Aachen)."""

    name: str
    scene: str
    features: Features
    camera: Camera
    truth: Pose | None


@dataclass(frozen=True, eq=False)
class Problem:
    """A map and what is to be found in it.

    data     how tables name the data
    scenes   scenes of the map; names of their images begin with "scene/"
    rule     how queries were chosen, as text
    foreign  a map of other places, in which every pose is wrong; None where there is none
    skipped  how many pictures of the data were left out, by the reason
    """

    data: str
    world: Map
    queries: tuple[Query, ...]
    scenes: tuple[str, ...]
    rule: str = ""
    foreign: Map | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Of the map and the queries: predictions of two problems are not mixed."""
        digest = hashlib.sha256()
        world = self.world
        for array in (world.points, world.feature_start, world.point_of_feature):
            digest.update(np.ascontiguousarray(array).data)
        for query in self.queries:
            digest.update(f"|{query.name}|{len(query.features)}".encode())
        return digest.hexdigest()

    @property
    def has_control(self) -> bool:
        """Whether there is a map in which the queries cannot be found."""
        return self.foreign is not None or len(self.scenes) > 1

    def control_map(self, scene: str) -> Map:
        """The foreign map, or this one without the queries' own scene."""
        return self.without_scene(scene) if self.foreign is None else self.foreign

    def without_scene(self, scene: str) -> Map:
        """The map as if this scene had never been photographed: the control."""
        seen = np.array(self.world.point_of_feature)
        for image, name in enumerate(self.world.image_names):
            if name.startswith(f"{scene}/"):
                seen[self.world.features_of(image)] = -1
        return replace(self.world, point_of_feature=seen, _indices={}, sidecars=None)

    def gravity(self, query: Query, error_deg: float = 0.0, seed: int = 0) -> WorldGravity:
        """What an IMU with this error would say: made from the true pose of the query.

        Down in the world is the mean of what is down in the map's images. error_deg: standard
        deviation of the angle, whose direction is drawn.
        """
        if query.truth is None:
            raise InvalidInput("gravity is made from true poses, and these queries have none.")
        down = np.asarray(self.world.rotations)[:, 1].sum(axis=0)
        down /= np.linalg.norm(down)
        inside = query.truth.rotation @ down
        generator = np.random.default_rng(seed)
        aside = np.cross(inside, generator.normal(size=3))
        angle = np.radians(error_deg) * generator.normal()
        inside = np.cos(angle) * inside + np.sin(angle) * aside / np.linalg.norm(aside)
        return WorldGravity(_three(inside), _three(down), error_deg)

    def shortlists(self, pairs: str | Path) -> dict[str, NDArray[np.int64]]:
        """Images of the map for each query, from hloc's pairs.txt; a query may have none."""
        number = {name: image for image, name in enumerate(self.world.image_names)}
        shortlists: dict[str, list[int]] = {query.name: [] for query in self.queries}
        for query, image in read_pairs(pairs):
            if query not in shortlists:
                continue  # lists for all of a dataset are common
            if image not in number:
                raise InvalidInput(
                    f"the list of pairs names {image!r}, which is not in the map; "
                    "the query comes first, then the image of the map."
                )
            shortlists[query].append(number[image])
        if not any(shortlists.values()):
            raise InvalidInput(f"the list of pairs at {pairs} names none of the queries.")
        return {name: np.array(images, dtype=np.int64) for name, images in shortlists.items()}


def open_scenes(
    folders: Sequence[str | Path | Scene],
    work: str | Path,
    *,
    queries: QueryRule | None = None,
    distractors: Sequence[str | Path | Scene] = (),
    foreign: Sequence[str | Path | Scene] = (),
    extractor: str | Extractor = "sift",
    progress: Progress = silent,
) -> Problem:
    """All scenes in one map; the pictures that are queries stay out of it.

    work         a folder in which features and the map are kept for the next time
    queries      which pictures are queries; without it every fourth
    distractors  further scenes in the map, which no query shows
    foreign      scenes of a second map, in which no query may be found
    """
    rule = queries or QueryRule("step")
    scenes = {scene.name: scene for scene in _read(folders)}
    others = {scene.name: scene for scene in _read(distractors)}
    asked = {name: _choose(rule, scene) for name, scene in scenes.items()}
    held = {f"{one.name}/{picture}" for source, one, pictures in asked.values()
            if source is None for picture in pictures}  # fmt: skip
    features = Path(work) / "features"
    build = partial(build_map_from_scenes, extractor=extractor, work=features, progress=progress)
    world = _kept_map(
        Path(work) / "map",
        partial(build, [*scenes.values(), *others.values()], hold_out=held.__contains__),
        _names_of([*scenes.values(), *others.values()]) - held,
        extractor,
    )
    offsets = _offsets(world.facts)
    found: list[Query] = []
    for name, (source, scene, pictures) in asked.items():
        place = features / name
        if source is not None:
            place = Path(work) / "queries" / name
            place.mkdir(parents=True, exist_ok=True)
            extract_folder(scene.images, place / "features.h5", extractor=extractor,
                           progress=progress, names=pictures)  # fmt: skip
        found += [
            _query(scene, picture, name, place / "features.h5", offsets[name])
            for picture in pictures
        ]
    if not found:
        raise InvalidInput(f"the rule {rule} makes no picture a query; choose another.")
    elsewhere = [*_read(foreign)]
    foreign_map = None
    if elsewhere:
        foreign_map = _kept_map(
            Path(work) / "foreign", partial(build, elsewhere), _names_of(elsewhere), extractor
        )
    skipped = Counter[str]()
    for scene in (*scenes.values(), *others.values(), *elsewhere):
        skipped.update(scene.skipped)
    return Problem(
        " + ".join(scenes),
        world,
        tuple(found),
        (*scenes, *others),
        rule=str(rule),
        foreign=foreign_map,
        skipped=dict(skipped),
    )


def _read(folders: Sequence[str | Path | Scene]) -> Iterator[Scene]:
    for one in folders:
        scene = one if isinstance(one, Scene) else read_layout(one)
        if scene.cameras is None or scene.poses is None:
            raise InvalidInput(f"{scene.name} has no poses to compare with.")
        yield scene


def _choose(rule: QueryRule, scene: Scene) -> tuple[Path | None, Scene, tuple[str, ...]]:
    """The queries of a scene: the folder they have of their own, the scene that knows them."""
    own = rule.other_folder(scene)
    if own is not None:
        source = read_scene(own)
        if source.cameras is None:
            raise InvalidInput(f"the folder of queries {own} has no cameras.json with intrinsics.")
        return own, source, source.pictures
    return None, scene, rule.choose(scene.pictures, scene=scene.name, split=scene.queries)


def _query(scene: Scene, picture: str, name: str, features: Path, offset: Sequence[float]) -> Query:
    camera, pose = (scene.cameras or {}).get(picture), (scene.poses or {}).get(picture)
    if camera is None:
        raise InvalidInput(f"the intrinsics of {picture} in {name}, which is a query, are missing.")
    return Query(
        name=f"{name}/{picture}",
        scene=name,
        features=read_features(features, picture),
        camera=camera,
        truth=None if pose is None else moved(pose, offset),
    )


def _kept_map(
    stored: Path, build: Callable[[], Map], wanted: set[str], extractor: str | Extractor
) -> Map:
    """The map in a folder, built where there is none; refused if it is of other pictures."""
    if not stored.exists():
        build().save(stored)
    world = Map.load(stored)
    unreadable = {
        f"{scene['name']}/{name}"
        for scene in world.facts["scenes"]
        for name, _ in scene.get("unreadable", ())
    }
    if set(world.image_names) | unreadable != wanted | unreadable or (
        world.extractor != extractor_name(extractor)
    ):
        raise InvalidInput(f"{stored} is a map of other pictures; give another folder.")
    return world


def _names_of(scenes: Iterable[Scene]) -> set[str]:
    return {f"{scene.name}/{picture}" for scene in scenes for picture in scene.pictures}


def _offsets(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {scene["name"]: scene["offset"] for scene in facts["scenes"]}


def _three(vector: NDArray[Any]) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in vector)
    return x, y, z
