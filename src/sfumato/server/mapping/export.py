"""A map for other programs: COLMAP's model, hloc's files, PLY; or as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.core.checks import check_choice
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import new_directory, write_file
from sfumato.core.types import Features, Pose
from sfumato.features.writer import FeatureWriter
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.model_write import camera_words, write_model
from sfumato.server.mapping.ply import BLUE, RED, cameras_ply, points_ply, typical_size

#: What each format writes into the folder.
FORMATS = {
    "colmap": "cameras.bin, images.bin and points3D.bin",
    "colmap-text": "cameras.txt, images.txt and points3D.txt",
    "hloc": "sfm/ (a COLMAP model), features.h5 and images_with_intrinsics.txt",
    "ply": "points.ply and cameras.ply",
    "sfumato": "a map, as `sfumato map build` makes it",
}


def export_map(
    world: Map,
    folder: str | Path,
    layout: str = "colmap",
    *,
    poses: Sequence[Pose] = (),
    progress: Progress = silent,
) -> None:
    """Write a map into a new folder, whole or not at all.

    poses  of localized pictures, drawn in blue beside the map's own cameras (ply)

    Importing what "hloc" wrote gives the same map: points, keypoints and descriptors to the bit,
    poses to the rounding of a quaternion. A map keeps no scores, scales and angles of keypoints;
    features.h5 has 0, 0 and −1 for them.
    """
    check_choice("format", layout, FORMATS)
    if layout == "sfumato":
        world.save(folder)
        return
    with new_directory(Path(folder), make_parents=False) as draft:
        if layout == "ply":
            _write_ply(world, draft, poses)
        elif layout == "hloc":
            (draft / "sfm").mkdir()
            write_model(world, draft / "sfm")
            _write_features(world, draft / "features.h5", progress)
            lines = [
                f"{name} {camera_words(world.camera(image))}\n"
                for image, name in enumerate(world.image_names)
            ]
            write_file(draft / "images_with_intrinsics.txt", "".join(lines).encode())
        else:
            write_model(world, draft, kind="text" if layout == "colmap-text" else "binary")


def features_of(world: Map, image: int) -> Features:
    """The features of one image, as far as a map keeps them."""
    rows = world.features_of(image)
    camera = world.camera(image)
    none = np.zeros(rows.stop - rows.start, dtype=np.float32)
    return Features(
        keypoints=world.keypoints[rows],
        descriptors=world.descriptors[rows],
        scores=none,
        scales=none,
        angles=none - 1,
        image_size=(camera.width, camera.height),
        extractor=world.extractor,
    )


def _write_features(world: Map, path: Path, progress: Progress) -> None:
    with FeatureWriter(path, extractor=world.extractor) as writer:
        for image, name in enumerate(world.image_names):
            writer.add(name, features_of(world, image))
            progress("writing features", image + 1, world.num_images)


def _write_ply(world: Map, draft: Path, poses: Sequence[Pose]) -> None:
    own = [world.pose(image) for image in range(world.num_images)]
    points = np.asarray(world.points)
    size = typical_size(points, np.array([pose.center for pose in own]).reshape(-1, 3))
    write_file(draft / "points.ply", points_ply(points))
    write_file(draft / "cameras.ply", cameras_ply([(own, RED), (poses, BLUE)], size))
