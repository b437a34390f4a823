"""Cambridge Landmarks: poses in dataset_train.txt and dataset_test.txt, focal lengths in an NVM.

    dataset_train.txt    three lines of heading, then: file x y z w p q r
    reconstruction.nvm   file focal w x y z cx cy cz radial 0

x, y, z is the camera's center, the quaternion turns the world into the camera; metres. Files in
the NVM end with .jpg where the pictures end with .png. Its radial parameter undoes distortion
and ours makes it: to first order they differ by the sign.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera
from sfumato.datasets.layouts.common import (
    LayoutOptions,
    SceneBuilder,
    camera_pose,
    numbers_in,
    picture_size,
    read_lines,
    rows_of,
    turned,
)
from sfumato.server.mapping.scenes import Scene

_HEADING = 3


def read_cambridge(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """One landmark; the pictures of dataset_test.txt are queries."""
    root = Path(folder)
    builder = SceneBuilder(root, options or LayoutOptions(), has_split=True)
    scale = builder.options.camera_scale
    if scale is None:
        raise InvalidInput("an NVM does not say how large pictures were; give the scale as number.")
    lenses = {}
    if builder.options.camera is None:
        lenses = read_nvm_lenses(root / "reconstruction.nvm")
    for part in ("train", "test"):
        path = root / f"dataset_{part}.txt"
        for line, (name, *words) in rows_of(path, "list of poses", skip=_HEADING):
            center_and_turn = numbers_in(words, path, line, 7)
            pose = camera_pose(turned(center_and_turn[3:]), center=center_and_turn[:3])
            lens = lenses.get(_stem(name))
            camera = None
            if lens is not None and (root / name).is_file():
                camera = _camera(*lens, picture_size(root / name), scale)
            builder.add(name, camera, pose, is_query=part == "test")
    return builder.build()


def read_nvm_lenses(path: Path) -> dict[str, tuple[float, float]]:
    """Focal length and radial parameter of every picture of the first model, by its stem."""
    lines = [line for line in read_lines(path, "reconstruction") if line.strip()]
    try:
        if not lines[0].startswith("NVM_V3") or "R9T" in lines[0]:
            raise ValueError
        rows = [line.split() for line in lines[2 : 2 + int(lines[1])]]
        if len(rows) != int(lines[1]):
            raise ValueError
        return {
            _stem(" ".join(words[:-10])): (float(words[-10]), float(words[-2])) for words in rows
        }
    except (ValueError, IndexError):
        raise InvalidInput(
            f"{path} must be VisualSFM's NVM_V3: a heading, the number of cameras, then one in "
            "each line."
        ) from None


def _stem(name: str) -> str:
    """The last folder and the name without its suffix: seq1/frame00001."""
    path = PurePosixPath(name.replace("\\", "/").strip('"'))
    return f"{path.parent.name}/{path.stem}"


def _camera(focal: float, radial: float, size: tuple[int, int], scale: float) -> Camera:
    """For the size that the picture had when it was reconstructed; the builder scales it."""
    width, height = (round(side / scale) for side in size)
    center = (width / 2, height / 2)
    if radial == 0:
        return Camera("SIMPLE_PINHOLE", width, height, (focal, *center))
    return Camera("SIMPLE_RADIAL", width, height, (focal, *center, -radial))
