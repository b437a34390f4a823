"""7-Scenes and 12-Scenes: colour frames beside a text file with the pose of each.

A pose file holds 4×4 numbers, from camera to world, in metres. Frames that were not tracked have
infinite or missing ones; they are left out and counted.

    7-Scenes    chess/TrainSplit.txt, TestSplit.txt     "sequence3": queries are the test's
                chess/seq-03/frame-000000.color.png     and frame-000000.pose.txt
    12-Scenes   apt1/kitchen/info.txt, split.txt        the first sequence is the test
                apt1/kitchen/data/frame-000000.color.jpg

7-Scenes says of its colour camera only that it was not calibrated: 525 pixels and the middle of
the picture, the maker's figures, are what most people use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import from_corner
from sfumato.core.types import Camera, Pose
from sfumato.datasets.layouts.common import (
    NO_POSE,
    LayoutOptions,
    SceneBuilder,
    pose_of_world,
    read_lines,
)
from sfumato.server.mapping.scenes import Scene

SEVEN_SCENES_CAMERA = Camera("SIMPLE_PINHOLE", 640, 480, (525.0, 320.0, 240.0))
_COLOR = re.compile(r"frame-(\d+)\.color\.(png|jpg)")
_RANGE = re.compile(r"start\s*=\s*(\d+)\s*;\s*end\s*=\s*(\d+)")
_SEQUENCE = re.compile(r"(?:sequence|seq-?)0*(\d+)", re.IGNORECASE)


def read_seven_scenes(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """One scene of 7-Scenes; sequences of TestSplit.txt are queries, where it is there."""
    root = Path(folder)
    builder = SceneBuilder(root, options or LayoutOptions())
    test = _sequences(root / "TestSplit.txt")
    train = _sequences(root / "TrainSplit.txt")
    builder.has_split = test is not None
    found = {int(path.name[4:]): path for path in root.glob("seq-*") if path.name[4:].isdigit()}
    wanted = sorted(found if test is None or train is None else test | train)
    absent = [number for number in wanted if number not in found]
    if absent or not found:
        shown = f"seq-{absent[0]:02}" if absent else "seq-01"
        raise InvalidInput(f"{root} has no folder {shown}; unpack the scene's sequences first.")
    for number in wanted:
        is_query = test is not None and number in test
        for path, _ in _color_frames(found[number].iterdir()):
            name = path.relative_to(root).as_posix()
            _add(builder, name, path, SEVEN_SCENES_CAMERA, is_query=is_query)
    return builder.build()


def read_twelve_scenes(folder: str | Path, options: LayoutOptions | None = None) -> Scene:
    """One scene of 12-Scenes; frames of the first sequence in split.txt are queries."""
    root = Path(folder)
    builder = SceneBuilder(root, options or LayoutOptions(), has_split=True)
    camera = _info_camera(root / "info.txt")
    ranges = _RANGE.findall("\n".join(read_lines(root / "split.txt", "list of sequences")))
    if not ranges:
        raise InvalidInput(f'{root / "split.txt"} must say "start=0 ; end=356" of a sequence.')
    first, last = (int(end) for end in ranges[0])
    data = root / "data"
    if not data.is_dir():
        raise InvalidInput(f"{root} has no folder data; unpack data.zip first.")
    for path, number in _color_frames(data.iterdir()):
        name = path.relative_to(root).as_posix()
        _add(builder, name, path, camera, is_query=first <= number <= last)
    return builder.build()


def _color_frames(paths: Iterable[Path]) -> list[tuple[Path, int]]:
    matched = [(path, _COLOR.fullmatch(path.name)) for path in sorted(paths)]
    return [(path, int(match[1])) for path, match in matched if match]


def _add(builder: SceneBuilder, name: str, path: Path, camera: Camera, *, is_query: bool) -> None:
    beside = path.with_name(f"{path.name.split('.')[0]}.pose.txt")
    if beside.is_file():
        builder.add(name, camera, _read_pose(beside), is_query=is_query)
    else:
        builder.skip(NO_POSE)


def _read_pose(path: Path) -> Pose | None:
    text = " ".join(read_lines(path, "pose")).replace("1.#INF", "inf").replace("1.#IND", "nan")
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        numbers = np.empty(0)
    if numbers.size != 16:
        raise InvalidInput(f"{path} must hold 16 numbers, a 4×4 matrix from camera to world.")
    return pose_of_world(numbers.reshape(4, 4))


def _sequences(path: Path) -> set[int] | None:
    """Numbers of the sequences a split names; None where the file is not there."""
    if not path.is_file():
        return None
    found = set()
    for line in read_lines(path, "split"):
        match = _SEQUENCE.fullmatch(line.strip())
        if match is None and line.strip():
            raise InvalidInput(f'{path} must name a sequence in each line, as "sequence1".')
        if match is not None:
            found.add(int(match[1]))
    return found


def _info_camera(path: Path) -> Camera:
    facts = {}
    for line in read_lines(path, "info.txt of the scene"):
        name, _, value = line.partition("=")
        facts[name.strip()] = value.split()
    try:
        size = (int(facts["m_colorWidth"][0]), int(facts["m_colorHeight"][0]))
        numbers = [float(one) for one in facts["m_calibrationColorIntrinsic"]]
        matrix = np.array(numbers).reshape(4, 4)
    except (KeyError, IndexError, ValueError):
        raise InvalidInput(
            f"{path} must say m_colorWidth, m_colorHeight and m_calibrationColorIntrinsic (4×4)."
        ) from None
    center = from_corner(matrix[:2, 2]).tolist()
    return Camera("PINHOLE", *size, (float(matrix[0, 0]), float(matrix[1, 1]), *center))
