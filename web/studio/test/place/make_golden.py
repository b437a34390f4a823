"""Small places as sfumato and COLMAP themselves write them, for the readers of the studio.

    python make_golden.py FOLDER

writes map/ (sfumato), binary/ and text/ (COLMAP's models of the same scene), points.ply (COLMAP's).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pycolmap

from sfumato.core.types import Camera
from sfumato.server.mapping.map import Map


def scene() -> pycolmap.Reconstruction:
    options = pycolmap.SyntheticDatasetOptions()
    options.num_rigs, options.num_cameras_per_rig, options.num_frames_per_rig = 1, 1, 3
    options.num_points3D = 12
    pycolmap.set_random_seed(5)
    return pycolmap.synthesize_dataset(options)


def map_of(model: pycolmap.Reconstruction) -> Map:
    images = sorted(model.images.values(), key=lambda image: image.image_id)
    poses = [image.cam_from_world() for image in images]
    points = np.array([point.xyz for _, point in sorted(model.points3D.items())])
    count = len(images)
    return Map(
        points=points,
        rotations=np.array([pose.rotation.matrix() for pose in poses]),
        translations=np.array([pose.translation for pose in poses]),
        camera_of_image=np.zeros(count, np.int32),
        feature_start=np.arange(count + 1, dtype=np.int64),
        keypoints=np.zeros((count, 2), np.float32),
        descriptors=np.zeros((count, 128), np.uint8),
        point_of_feature=np.full(count, -1, np.int32),
        image_names=("plain.jpg", 'Straße \U0001f600 "quoted".jpg', "tab\tand\u007f\u2028.jpg"),
        cameras=(Camera("PINHOLE", 640, 480, (500.0, 1e3, 320.0, 240.5)),),
        extractor="sift",
        facts={"up": [0.0, 0.0, 1.0], "\ufb01": 1e-07, "\U0001f600": [1e16, -0.0, True, None]},
    )


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model = scene()
    for number, point in enumerate(model.points3D.values()):
        point.color = np.array([number, 100, 200], np.uint8)
    for name, write in (("binary", model.write_binary), ("text", model.write_text)):
        (folder / name).mkdir(exist_ok=True)
        write(str(folder / name))
        for further in ("rigs", "frames"):
            for file in (folder / name).glob(f"{further}.*"):
                file.unlink()
    model.export_PLY(str(folder / "points.ply"))
    map_of(model).save(folder / "map", replace=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
