"""What the browser tests ask about: the gallery's map on disk, its queries, a walk as a film.

    python world.py FOLDER

writes map/ (for `sfumato map push`), pictures/NN.png, odd/ (bad input), walk.y4m (what Chromium
takes for a camera's film, eight views a second), and truth.json: the centre of each in metres.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.core.types import Pose
from sfumato.datasets import load_gallery, map_scene
from sfumato.datasets.gallery_light import expose, lit_textures
from sfumato.datasets.gallery_room import DEPTH, WIDTH, room
from sfumato.datasets.gallery_views import camera_of, look
from sfumato.datasets.rendering import render

NUM_FRAMES = 24


def walk() -> list[Pose]:
    """Round the partition, between the stops of the map-maker, looking obliquely at the walls."""
    poses = []
    for step in range(NUM_FRAMES):
        angle = 2 * math.pi * (step + 0.37) / NUM_FRAMES
        eye = np.array(
            [
                WIDTH / 2 + 1.6 * math.cos(angle),
                DEPTH / 2 + 1.2 * math.sin(angle),
                1.55 + 0.08 * math.sin(5 * angle),
            ]
        )
        turn = 55.0 if step % 2 else -55.0
        poses.append(look(eye, math.degrees(angle) + turn, -4.0, 2 * math.sin(3 * angle)))
    return poses


def write_film(path: Path, frames: list[NDArray[np.uint8]]) -> None:
    """Planes of brightness and colour, one after the other, without compression."""
    height, width = frames[0].shape[:2]
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F8:1 Ip A1:1 C420jpeg\n".encode())
        for frame in frames:
            planes = cv2.cvtColor(frame, cv2.COLOR_RGB2YUV_I420)
            file.write(b"FRAME\n" + planes.tobytes())


def write_odd(folder: Path, image: NDArray[np.uint8]) -> None:
    """Files that people choose by mistake, or that are hard."""
    folder.mkdir(exist_ok=True)
    large = np.repeat(np.repeat(image, 18, axis=0), 18, axis=1)  # 11,520 × 8,640: 100 megapixels
    Image.fromarray(large).save(folder / "large.jpg", quality=60)
    Image.new("RGB", (640, 480), "#888888").save(folder / "blank.png")
    (folder / "text.jpg").write_text("This is a letter, not a photograph.\n" * 40, encoding="ascii")
    (folder / "phone.heic").write_bytes(b"\0\0\0\x20ftypheic\0\0\0\0mif1heic" + bytes(4000))
    (folder / "cut.jpg").write_bytes((folder / "large.jpg").read_bytes()[:3000])
    (folder / "empty.png").write_bytes(b"")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    scene = load_gallery()
    map_scene(scene).save(folder / "map", replace=True)
    pictures = folder / "pictures"
    pictures.mkdir(exist_ok=True)
    for number, view in enumerate(scene.queries):
        Image.fromarray(view.image).save(pictures / f"{number:02d}.png")
    write_odd(folder / "odd", scene.queries[3].image)
    camera, textures, frames = camera_of(640, 480), lit_textures(), []
    for number, pose in enumerate(walk()):
        linear, _ = render(room(), textures, camera, pose, ())
        frames.append(expose(linear, np.random.default_rng(number)))
    write_film(folder / "walk.y4m", frames)
    thumbnails = [cv2.resize(frame, (32, 24), interpolation=cv2.INTER_AREA) for frame in frames]
    truth = {
        "pictures": [view.pose.center.tolist() for view in scene.queries],
        "walk": [pose.center.tolist() for pose in walk()],
        "thumbnails": [small.mean(axis=2).ravel().round(1).tolist() for small in thumbnails],
    }
    (folder / "truth.json").write_text(json.dumps(truth), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
