"""Points where cameras and poses are known: check matches, join them, triangulate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import focal_lengths, unproject
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera, Features, Pose
from sfumato.server.mapping.assemble import SparseModel, share_cameras
from sfumato.server.mapping.correspondences import epipolar_errors
from sfumato.server.mapping.triangulate import TriangulationOptions, Views, triangulate_matches


def place_points(
    names: Sequence[str],
    features: Sequence[Features],
    cameras: Sequence[Camera],
    poses: Sequence[Pose],
    matches: Mapping[tuple[int, int], NDArray[np.int64]],
    *,
    options: TriangulationOptions,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[SparseModel, dict[str, Any]]:
    """Triangulate the matches that fit the poses; poses are kept exactly as given.

    All sequences are in one order. Also returns the facts worth keeping.
    """
    rays = [
        unproject(camera, item.keypoints) for camera, item in zip(cameras, features, strict=True)
    ]
    focals = np.array([focal_lengths(camera) for camera in cameras])
    middle = np.sqrt(focals.prod(axis=1))
    start = np.concatenate([[0], np.cumsum([len(item) for item in features])])
    edges = [np.empty((0, 2), dtype=np.int64)]
    for (i, j), rows in matches.items():
        errors = epipolar_errors(
            rays[i][rows[:, 0]], rays[j][rows[:, 1]], poses[i], poses[j], (middle[i], middle[j])
        )
        edges.append(rows[errors <= options.max_epipolar_error] + (start[i], start[j]))
    views = Views(
        rays=np.concatenate(rays),
        image_of=np.repeat(np.arange(len(features)), np.diff(start)),
        rotations=np.stack([pose.rotation for pose in poses]),
        translations=np.stack([pose.translation for pose in poses]),
        focals=focals,
    )
    verified = np.concatenate(edges)
    points, seen = triangulate_matches(views, verified, options, seed=seed, progress=progress)
    if not len(points):
        total = sum(len(rows) for rows in matches.values())
        raise InvalidInput(
            f"no point can be triangulated: {len(verified)} of {total} matches fit the poses, "
            "none sees a point from two places; check that poses are cam_from_world and in the "
            "order of the images."
        )
    shared, camera_of_image = share_cameras(cameras)
    model = SparseModel(
        image_names=tuple(names),
        cameras=shared,
        camera_of_image=camera_of_image,
        poses=tuple(poses),
        points=points,
        point_of_feature=tuple(np.split(seen, start[1:-1])),
    )
    facts = {
        "method": "known poses",
        "verified_matches": len(verified),
        "triangulation": asdict(options),
        "unregistered": [],
    }
    return model, facts
