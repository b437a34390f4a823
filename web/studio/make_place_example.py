"""The place that the studio shows first: our drawn gallery as a COLMAP model, and one answer in it.

    python web/studio/make_place_example.py web/studio/public/examples/place

writes cameras.bin, images.bin, points3D.bin.gz (with colours, without tracks), answer.json (what
`sfumato localize --json --inliers` tells) and release.sfr, the release that was asked with: drawn
with a known seed, for looking at, not for sending.
"""

from __future__ import annotations

import gzip
import json
import struct
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.lens import project
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Localization
from sfumato.datasets import load_gallery, map_scene
from sfumato.device.filters import KeepStrongest
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map

EPSILON, KEYPOINTS, WORDS = 10.0, 500, 16_384
_PINHOLE = 1


def colours_of(world: Map, images: list[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """The pixel in which a picture of the map-maker saw each point."""
    colours = np.full((len(world.points), 3), 128, dtype=np.uint8)
    for number, image in enumerate(images):
        rows = world.features_of(number)
        seen = np.asarray(world.point_of_feature[rows])
        points = seen[seen >= 0]
        pixels = project(world.camera(number), world.pose(number).apply(world.points[points]))
        x, y = np.round(pixels).astype(int).T
        inside = (x >= 0) & (y >= 0) & (x < image.shape[1]) & (y < image.shape[0])
        colours[points[inside]] = image[y[inside], x[inside]]
    return colours


def write_model(folder: Path, world: Map, colours: NDArray[np.uint8]) -> None:
    camera = world.cameras[0]
    fx, fy, cx, cy = (*camera.params[:1], *camera.params)[-4:]
    with (folder / "cameras.bin").open("wb") as file:
        file.write(
            struct.pack("<QIiQQ4d", 1, 1, _PINHOLE, camera.width, camera.height, fx, fy, cx, cy)
        )
    with (folder / "images.bin").open("wb") as file:
        file.write(struct.pack("<Q", world.num_images))
        for number, name in enumerate(world.image_names):
            pose = world.pose(number)
            file.write(struct.pack("<I7dI", number + 1, *pose.quaternion, *pose.translation, 1))
            file.write(name.encode() + b"\0" + struct.pack("<Q", 0))
    rows = zip(np.round(world.points, 4), colours, strict=True)
    parts = [struct.pack("<Q", len(world.points))]
    for number, (point, colour) in enumerate(rows):
        parts.append(struct.pack("<Q3d3BdQ", number + 1, *point, *map(int, colour), 0.0, 0))
    packed = gzip.compress(b"".join(parts), mtime=0)
    (folder / "points3D.bin.gz").write_bytes(packed)


def facts_of(found: Localization) -> dict[str, object]:
    """As `sfumato localize --json --inliers` tells it."""
    if found.pose is None or found.error is None or found.inliers is None:
        raise SystemExit(f"the example is not localized: {found.reason}")
    pose, error = found.pose, found.error
    return {
        "localized": True,
        "num_inliers": found.num_inliers,
        "num_matches": found.num_matches,
        "log10_chance": round(found.log10_chance, 2),
        "reason": None,
        "expected_error": {
            "position": error.position,
            "rotation_deg": error.rotation_deg,
            "covariance": error.covariance.tolist(),
        },
        "warning": found.warning,
        "camera": None,
        "searched": found.searched,
        "cam_from_world": {
            "rotation": pose.rotation.tolist(),
            "translation": pose.translation.tolist(),
        },
        "center": pose.center.tolist(),
        "inliers": {
            "keypoints": found.inliers.keypoints.tolist(),
            "points": np.round(found.inliers.points, 4).tolist(),
        },
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scene = load_gallery()
    world = map_scene(scene)
    write_model(folder, world, colours_of(world, [view.image for view in scene.mapping]))
    words = Dictionary.load("open-64k").at(WORDS)
    query = scene.queries[3]
    features = KeepStrongest(KEYPOINTS)(extract(query.image), rng=SeededRandom(0))
    mechanism = SubsetMechanism(EPSILON, 1, words)
    release = mechanism.release(features, rng=SeededRandom(0), camera=query.camera)
    found = localize(release, world, dictionary=words)
    (folder / "release.sfr").write_bytes(release.to_bytes())
    (folder / "answer.json").write_text(json.dumps(facts_of(found)) + "\n", encoding="utf-8")
    print(f"{len(world.points)} points, {world.num_images} images, {found.num_inliers} inliers")
    print(f"off by {np.linalg.norm(found.pose.center - query.pose.center):.3f} m")  # type: ignore[union-attr]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
