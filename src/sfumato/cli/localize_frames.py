"""`sfumato localize --before`: several releases of a device that moved, asked together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.cli.files import read_release
from sfumato.cli.options import parse_camera
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Localization, Pose
from sfumato.datasets.layouts.common import listed_poses
from sfumato.dictionary import Dictionary
from sfumato.server.excerpt import MapInParts
from sfumato.server.mapping.map import Map
from sfumato.server.motion import Frame, OdometryError
from sfumato.server.sequence import localize_sequence

_FARTHEST = 1e9  # in the map's unit


def localize_frames(
    releases: Sequence[Path],
    motion: Path | None,
    odometry: str,
    world: Map | MapInParts,
    dictionary: str,
    camera: str | None,
) -> tuple[Localization, ...]:
    """The pose of each release, in their order; the file of the motion names them all."""
    error = OdometryError.parse(odometry)
    if motion is None:
        raise InvalidInput(
            "--before needs --motion FILE: RELEASE qw qx qy qz tx ty tz for each release, in the "
            "map's unit."
        )
    moved = listed_poses(motion)
    frames = []
    for path in releases:
        sent = read_release(path, purpose="localize")
        own = None if camera is None else parse_camera(camera, sent.image_size)
        frames.append(Frame(sent, _pose_of(path, moved, motion), own))
    words = None
    if any(frame.release.kind == "words" for frame in frames):
        words = Dictionary.load(dictionary)
    return localize_sequence(frames, world, dictionary=words, odometry=error)


def _pose_of(path: Path, moved: dict[str, Pose | None], motion: Path) -> Pose:
    pose = moved.get(path.name)
    if pose is None or not (np.abs(pose.translation) <= _FARTHEST).all():
        raise InvalidInput(
            f"{motion} must hold a pose of finite numbers for {path.name}, none beyond "
            f"{_FARTHEST:g}; write a line of its name, qw qx qy qz and tx ty tz."
        )
    return pose
