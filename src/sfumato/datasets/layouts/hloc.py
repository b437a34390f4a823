"""hloc's: a COLMAP model of the map, and lists of queries with their intrinsics.

    images/                                  the pictures; or names count from the folder itself
    queries_with_intrinsics.txt, queries/…   name MODEL width height parameters
    sfm/{cameras,images,points3D}.bin        one model or several, at any depth; poses only are used
    query_poses.txt                          name qw qx qy qz tx ty tz, where poses are known

A query's true pose comes from the poses file or a model that holds it; without, it is secret.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera, Pose
from sfumato.datasets.layouts.common import LayoutOptions, SceneBuilder, listed_poses, rows_of
from sfumato.server.mapping.model_files import read_model
from sfumato.server.mapping.scenes import Scene

LISTS = "*quer*intrinsics*.txt"
_POSES = "*poses*.txt"
#: Two models of one data set may differ by rounding.
_SAME = 1e-6


def query_lists(root: Path) -> list[Path]:
    """Lists of queries in a folder and in its folder queries."""
    return sorted([*root.glob(LISTS), *(root / "queries").glob(LISTS)])


def read_hloc(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """Pictures of the models, and the queries of the lists, which stay out of the map."""
    root = Path(folder)
    images = root / "images" if (root / "images").is_dir() else root
    builder = SceneBuilder(root, options or LayoutOptions(), images, has_split=True)
    lists = query_lists(root)
    if not lists:
        raise InvalidInput(f"there is no list of queries {LISTS} in {root}.")
    queries: dict[str, Camera] = {}
    for path in lists:
        for line, words in rows_of(path, "list of queries"):
            queries[words[0]] = listed_camera(words, path, line)
    cameras, poses = _models(root)
    truths: dict[str, Pose | None] = {}
    for path in sorted(root.glob(_POSES)):
        truths |= listed_poses(path)
    for name, pose in poses.items():
        if name not in queries:
            builder.add(name, cameras[name], pose)
    for name, camera in queries.items():
        truth = truths.get(name, truths.get(PurePosixPath(name).name, poses.get(name)))
        builder.add(name, camera, truth, is_query=True)
    return builder.build(secret=True)


def _models(root: Path) -> tuple[dict[str, Camera], dict[str, Pose]]:
    """Cameras and poses of all models below a folder; an image in two must be at one place."""
    cameras: dict[str, Camera] = {}
    poses: dict[str, Pose] = {}
    found = [path.parent for kind in ("bin", "txt") for path in root.rglob(f"images.{kind}")]
    for folder in sorted(set(found)):
        model = read_model(folder)
        for image in model.images:
            known = poses.setdefault(image.name, image.pose)
            cameras.setdefault(image.name, model.cameras[image.camera_id])
            if not np.allclose(known.center, image.pose.center, atol=_SAME):
                raise InvalidInput(
                    f"the models below {root} place {image.name} differently; keep one of them."
                )
    if not poses:
        raise InvalidInput(f"there is no COLMAP model with images below {root}.")
    return cameras, poses


def listed_camera(words: list[str], path: Path, line: int) -> Camera:
    """The camera in a line of a list of queries: name, model, width, height, parameters."""
    try:
        _, model, width, height, *params = words
        numbers = tuple(float(value) for value in params)
        return Camera(model, int(width), int(height), numbers)
    except ValueError as error:
        raise InvalidInput(
            f"{path} must say name, model, width, height and parameters in each line, "
            f"line {line} does not: {error}"
        ) from None
