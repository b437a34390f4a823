"""A map from images: features, matches, points; with known poses or without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.lens import check_possible
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera, Features, Pose
from sfumato.features.extractors import Extractor, check_wanted
from sfumato.server.mapping.assemble import assemble_map
from sfumato.server.mapping.correspondences import match_pairs
from sfumato.server.mapping.extract_images import HoldOut, Images, gather_features, list_names
from sfumato.server.mapping.focal import fitting_cameras
from sfumato.server.mapping.known_poses import place_points
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.pairs import choose_pairs, named_pairs, read_pairs
from sfumato.server.mapping.triangulate import TriangulationOptions
from sfumato.server.mapping.unknown_poses import MAX_SEED, place_images

PairList = str | Path | Iterable[tuple[str, str]]
Cameras = Camera | Mapping[str, Camera]


def build_map(
    images: Images,
    *,
    extractor: str | Extractor = "sift",
    max_keypoints: int | None = None,
    cameras: Cameras | None = None,
    poses: Mapping[str, Pose] | None = None,
    pairs: PairList | None = None,
    seed: int = 0,
    progress: Progress = silent,
    strict: bool = False,
    hold_out: HoldOut | None = None,
    options: TriangulationOptions | None = None,
    work: str | Path | None = None,
    only: Sequence[str] | None = None,
) -> Map:
    """Build a map from a folder of images, or from (name, array) of each.

    cameras   one for all images, or by name; without, from EXIF or a guess
    poses     by name, for all images or none. With them points are triangulated and poses stay
              as they are, and so do cameras unless the images clearly fit another focal length
              (facts["warnings"] says so). Without them both are reconstructed (COLMAP), and
              images that could not be placed are named in facts["unregistered"]
    pairs     which images to compare: a pairs.txt, or pairs of names; without, all pairs of up
              to 60 images, neighbours and look-alikes of more
    hold_out  names for which it is true stay out of the map, for queries
    work      a folder in which extraction can resume
    only      names of the pictures that count, where a folder holds others too
    strict    an unreadable image is an error; otherwise it is left out and named in facts

    The same images, options and seed give the same points where poses are known.

    >>> from sfumato.datasets import GallerySettings, load_gallery
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> world = sf.build_map(
    ...     [(view.name, view.image) for view in room.mapping],
    ...     cameras={view.name: view.camera for view in room.mapping},
    ...     poses={view.name: view.pose for view in room.mapping},
    ... )
    >>> world.num_images
    8
    """
    check_wanted(extractor, max_keypoints=max_keypoints)
    check_count("seed", seed, low=0, high=MAX_SEED)
    names = list_names(images, only)
    kept = [name for name in names if hold_out is None or not hold_out(name)]
    _check_count(kept)
    _check_known(names, kept, cameras, poses)
    listed = read_pairs(pairs) if isinstance(pairs, str | Path) else pairs
    if listed is not None:
        listed = list(listed)
        named_pairs(listed, names)  # a wrong name is refused before the long work
    gathered = gather_features(
        images,
        extractor=extractor,
        max_keypoints=max_keypoints,
        hold_out=hold_out,
        work=work,
        strict=strict,
        progress=progress,
        only=only,
    )
    found = gathered.features
    _check_count(found, unreadable=len(gathered.unreadable))
    world = build_map_from_features(
        found,
        cameras=cameras if isinstance(cameras, Camera) else _only(cameras, found),
        poses=_only(poses, found),
        pairs=listed,
        focal_35mm=gathered.focal_35mm,
        absent=set(names) - set(found),
        seed=seed,
        options=options,
        progress=progress,
    )
    facts = {
        **world.facts,
        "max_keypoints": max_keypoints,
        "unreadable": [list(entry) for entry in gathered.unreadable],
        "held_out": list(gathered.held_out),
    }
    return replace(world, facts=facts)


def build_map_from_features(
    features: Mapping[str, Features],
    *,
    cameras: Cameras | None = None,
    poses: Mapping[str, Pose] | None = None,
    pairs: PairList | None = None,
    focal_35mm: Mapping[str, float] | None = None,
    absent: Iterable[str] = (),
    seed: int = 0,
    options: TriangulationOptions | None = None,
    progress: Progress = silent,
) -> Map:
    """`build_map` for features that were extracted before, by the name of their image.

    focal_35mm  what EXIF said, in 35 mm terms
    absent      names that `pairs` may mention although no features are given for them
    """
    check_count("seed", seed, low=0, high=MAX_SEED)
    names = sorted(features)
    _check_count(names)
    _check_known(names, names, cameras, poses)
    given = dict.fromkeys(names, cameras) if isinstance(cameras, Camera) else dict(cameras or {})
    rows = [features[name] for name in names]
    kinds = {item.extractor for item in rows}
    if len(kinds) > 1:
        raise Mismatch(f"a map has one extractor, got features of {', '.join(sorted(kinds))}.")
    for name, item in zip(names, rows, strict=True):
        camera = given.get(name)
        if camera is not None:
            check_possible(camera, f"the camera of {name}")
        if camera is not None and (camera.width, camera.height) != item.image_size:
            raise Mismatch(
                f"the camera of {name} is for {camera.width}×{camera.height} pixels, its picture "
                f"has {item.image_size[0]}×{item.image_size[1]}; give the camera of this size."
            )
    if pairs is None:
        wanted = choose_pairs(rows, seed=seed)
    else:
        listed = read_pairs(pairs) if isinstance(pairs, str | Path) else pairs
        wanted = named_pairs(listed, names, absent)
    matched = match_pairs(rows, wanted, progress=progress)
    matches = {pair: found for pair, found in matched if len(found)}
    if not matches:
        raise InvalidInput(
            f"none of the {len(names)} images looks like another ({len(wanted)} pairs compared); "
            "pictures of a map must overlap."
        )
    if poses is not None:
        order = [poses[name] for name in names]
        fitting, warning = fitting_cameras(rows, [given[name] for name in names], order, matches)
        model, facts = place_points(
            names,
            rows,
            fitting,
            order,
            matches,
            options=options or TriangulationOptions(),
            seed=seed,
            progress=progress,
        )
        facts["warnings"] = warning
    else:
        model, facts = place_images(
            names,
            rows,
            given,
            focal_35mm or {},
            matches,
            options=options or TriangulationOptions(),
            seed=seed,
            progress=progress,
        )
    facts |= {"pairs": len(wanted), "matches": _total(matches), "seed": seed}
    return assemble_map(model, [features[name] for name in model.image_names], facts)


def _total(matches: Mapping[tuple[int, int], NDArray[np.int64]]) -> int:
    return sum(len(rows) for rows in matches.values())


def _only(by_name: Mapping[str, Any] | None, names: Iterable[str]) -> dict[str, Any] | None:
    if by_name is None:
        return None
    return {name: by_name[name] for name in names if name in by_name}


def _check_count(names: Iterable[str], *, unreadable: int = 0) -> None:
    count = len(list(names))
    if count < 2:
        tail = f", {unreadable} could not be read" if unreadable else ""
        raise InvalidInput(
            f"a map needs at least two images that see the same points, got {count}{tail}."
        )


def _check_known(
    names: Sequence[str],
    kept: Sequence[str],
    cameras: Cameras | None,
    poses: Mapping[str, Pose] | None,
) -> None:
    """Refuse cameras and poses that do not fit the images, before any picture is opened."""
    known = set(names)
    for what, given in (("poses", poses), ("cameras", cameras)):
        if isinstance(given, Mapping):
            missing = sorted(set(given) - known)
            if missing:
                raise InvalidInput(
                    f"{what} are given for {len(missing)} images that are missing, the first is "
                    f"{missing[0]}; add the pictures or remove the entries."
                )
    if poses is None:
        return
    for what, given in (("pose", poses), ("camera", cameras)):
        if isinstance(given, Camera):
            continue
        without = [name for name in kept if name not in (given or {})]
        if without:
            raise InvalidInput(
                f"with known poses every image needs a {what}, {len(without)} of {len(kept)} have "
                f"none, the first is {without[0]}; give it, hold the image out, or give no poses."
            )
