"""Poses as text: hloc's results, the benchmark's submissions, and whole names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.storage import write_file
from sfumato.core.types import Localization

#: How many parts of a picture's name a line begins with; None for all of them.
FORMATS = {"hloc": 1, "benchmark": 2, "full": None}


def check_format(name: str) -> str:
    if name not in FORMATS:
        raise InvalidInput(f"--format must be one of {', '.join(FORMATS)}, got {name!r}.")
    return name


def pose_lines(results: Sequence[tuple[str, Localization]], layout: str) -> list[str]:
    """name qw qx qy qz tx ty tz, cam_from_world, for every picture that was localized.

    hloc       the last part of the name, as hloc's localize_sfm writes and Aachen's benchmark reads
    benchmark  with the folder before it, as RobotCar's and CMU's want (prepend_camera_name)
    full       the whole name

    Pictures without a pose have no line, and count as failures: no pose is made up for them.
    """
    parts = FORMATS[check_format(layout)]
    lines: dict[str, str] = {}
    for name, result in results:
        short = name if parts is None else "/".join(name.split("/")[-parts:])
        if short in lines:
            raise InvalidInput(
                f"two pictures have one name in the format {layout}; write --format "
                f"{'benchmark' if parts == 1 else 'full'} instead."
            )
        lines[short] = ""
        if result.pose is not None:
            numbers = (*result.pose.quaternion.tolist(), *result.pose.translation.tolist())
            lines[short] = f"{short} {' '.join(map(repr, numbers))}\n"
    return [line for line in lines.values() if line]


def write_poses(path: Path, results: Sequence[tuple[str, Localization]], layout: str) -> None:
    """Write the poses of all that were localized; the file appears whole."""
    text = "".join(pose_lines(results, layout))
    write_file(path, text.encode("utf-8", "surrogateescape"))
