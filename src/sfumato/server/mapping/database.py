"""Matches between releases as a COLMAP database: private views, COLMAP's own reconstruction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import KeypointRelease
from sfumato.server.mapping.assemble import share_cameras
from sfumato.server.mapping.compare_releases import Candidates, compare_all
from sfumato.server.mapping.releases import cameras_of_releases, check_releases
from sfumato.server.mapping.two_view import PairOptions, View


def export_matches(
    releases: Mapping[str, KeypointRelease],
    path: str | Path,
    *,
    focal: float | None = None,
    options: PairOptions | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Compare every two releases of one kind and write what agrees beyond chance; the figures.

    Keypoints, matches and two-view geometries are written, no descriptors: COLMAP needs none, and
    nobody gets more than the releases said. Images are named as the releases are.
    """
    from sfumato.server.mapping import colmap  # not before it is needed: it takes a second

    names = sorted(releases)
    rows = [releases[name] for name in names]
    check_releases(rows)
    if Path(path).exists():
        raise InvalidInput(f"{path} exists already; choose another name or remove it.")
    cameras, given = cameras_of_releases(rows, focal)
    views = [View(release.keypoints, camera) for release, camera in zip(rows, cameras, strict=True)]
    matches, motions = compare_all(
        views, Candidates(rows), options or PairOptions(), seed, progress
    )
    shared, camera_of_image = share_cameras(cameras)
    known = {camera for camera, is_given in zip(cameras, given, strict=True) if is_given}
    colmap.write_database(
        Path(path),
        names,
        [release.keypoints for release in rows],
        matches,
        motions,
        [colmap.CameraStart(camera, trusted=camera in known, fixed=False) for camera in shared],
        camera_of_image,
    )
    return {
        "images": len(names),
        "cameras": len(shared),
        "keypoints": sum(len(release) for release in rows),
        "pairs": len(names) * (len(names) - 1) // 2,
        "matched_pairs": len(matches),
        "matches": sum(len(found) for found in matches.values()),
    }
