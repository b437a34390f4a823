"""Images whose poses are unknown: which cameras to begin with, and what COLMAP made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import focal_lengths, with_focal
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera, Features
from sfumato.server.mapping.assemble import SparseModel
from sfumato.server.mapping.cameras import guess_camera
from sfumato.server.mapping.focal import FocalFactor
from sfumato.server.mapping.known_poses import place_points
from sfumato.server.mapping.triangulate import TriangulationOptions

#: COLMAP keeps its seeds in 32 bits with a sign.
MAX_SEED = 2**31 - 1

_MIN_MATCHES = 15  # of a pair; fewer are not worth verifying
_LEAST_DEVIATION = 0.005  # of a focal length that poses could follow: two halves may agree by luck
_Start = tuple[Camera, str]


def place_images(
    names: Sequence[str],
    features: Sequence[Features],
    cameras: Mapping[str, Camera],
    focal_35mm: Mapping[str, float],
    matches: Mapping[tuple[int, int], NDArray[np.int64]],
    *,
    options: TriangulationOptions,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[SparseModel, dict[str, Any]]:
    """Reconstruct poses with COLMAP, take the largest model, and triangulate its points.

    Given cameras stay as they are, unless the images clearly fit another focal length: facts tell.
    Others start from EXIF, or from 1.2 times the longer side,
    and are refined; images of one size and one EXIF focal length share one. Facts tell the
    images left out, the other models, and where focal lengths came from.
    """
    from sfumato.server.mapping import colmap  # not before it is needed: it takes a second

    starts: dict[_Start, int] = {}
    camera_of_image = [
        starts.setdefault(
            _start(cameras.get(name), focal_35mm.get(name), item.image_size), len(starts)
        )
        for name, item in zip(names, features, strict=True)
    ]
    origin = [source for _, source in starts]

    def reconstruct(factor: float | None = None) -> list[SparseModel]:
        return colmap.reconstruct(
            names,
            [item.keypoints for item in features],
            {pair: rows for pair, rows in matches.items() if len(rows) >= _MIN_MATCHES},
            [
                colmap.CameraStart(
                    camera if factor is None or source != "given" else with_focal(camera, factor),
                    trusted=source != "guess",
                    fixed=source == "given" and factor is None,
                )
                for camera, source in starts
            ],
            camera_of_image,
            seed=seed,
            progress=progress,
        )

    models = reconstruct()
    if not models:
        raise _not_placed(len(names), len(matches))
    warnings = []
    given = [camera for camera, source in starts if source == "given"]
    if given and len(given) == len(starts):
        keypoints = dict(zip(names, (item.keypoints for item in features), strict=True))
        fitted = _focal_factor(models[0], [keypoints[name] for name in models[0].image_names])
        again = reconstruct(fitted.factor) if fitted.is_clear else []
        if again:
            models = again
            warnings = [fitted.sentence(given[0], "the map was made with that, refined.")]
    largest, *others = models
    placed = set(largest.image_names)
    try:
        model, triangulated = _with_our_points(
            largest, names, features, matches, options=options, seed=seed, progress=progress
        )
    except InvalidInput:  # placed, but all in one place: a camera that only turned
        raise _not_placed(len(names), len(matches)) from None
    facts = {
        **triangulated,
        "method": f"structure from motion, pycolmap {colmap.version()}",
        "unregistered": [name for name in names if name not in placed],
        "warnings": warnings,
        "other_models": [list(other.image_names) for other in others],
        "focal_lengths_from": {
            source: sum(origin[row] == source for row in camera_of_image)
            for source in ("given", "exif", "guess")
        },
    }
    return model, facts


def _focal_factor(model: SparseModel, keypoints: Sequence[NDArray[np.float32]]) -> FocalFactor:
    """By which factor focal lengths change when they may, by each half of the points."""
    from sfumato.server.mapping import colmap

    found = []
    for half in (0, 1):
        seen = tuple(np.where(one % 2 == half, one, -1) for one in model.point_of_feature)
        adjusted = colmap.adjust(
            replace(model, point_of_feature=seen), keypoints, refine_cameras=True
        )
        pairs = zip(adjusted.cameras, model.cameras, strict=True)
        found.append(
            float(
                np.median([math.log(focal_lengths(a)[0] / focal_lengths(b)[0]) for a, b in pairs])
            )
        )
    spread = max(abs(found[0] - found[1]) / 2, _LEAST_DEVIATION)
    return FocalFactor(math.exp(sum(found) / 2), spread)


def _not_placed(num_images: int, num_pairs: int) -> InvalidInput:
    return InvalidInput(
        f"no two of the {num_images} images could be placed ({num_pairs} pairs have matches); "
        "a map needs overlapping pictures from different places, or known poses."
    )


def _with_our_points(
    placed: SparseModel,
    names: Sequence[str],
    features: Sequence[Features],
    matches: Mapping[tuple[int, int], NDArray[np.int64]],
    *,
    options: TriangulationOptions,
    seed: int,
    progress: Progress,
) -> tuple[SparseModel, dict[str, Any]]:
    """The same images and poses with all points the matches give.

    COLMAP leaves out what only two images see. Triangulating again brings those back, and a
    map means the same whether its poses were given or found.
    """
    row = {name: index for index, name in enumerate(placed.image_names)}
    new = {old: row[name] for old, name in enumerate(names) if name in row}
    return place_points(
        placed.image_names,
        [features[old] for old in new],
        [placed.cameras[camera] for camera in placed.camera_of_image],
        placed.poses,
        {(new[a], new[b]): found for (a, b), found in matches.items() if a in new and b in new},
        options=options,
        seed=seed,
        progress=progress,
    )


def _start(given: Camera | None, focal_35mm: float | None, image_size: tuple[int, int]) -> _Start:
    if given is not None:
        return given, "given"
    return guess_camera(image_size, focal_35mm), "guess" if focal_35mm is None else "exif"
