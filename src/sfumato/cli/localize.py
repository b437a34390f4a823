"""`sfumato localize`: where was this release taken, by a map in a folder?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sfumato.cli import options as opt
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.files import read_release
from sfumato.cli.options import option
from sfumato.cli.output import JsonFlag, emit
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Localization
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.server.mapping import Map


_PAIRS = ("keypoints", "points")


@applies(
    {
        "--query": "--pairs",
        "--motion --odometry": "--before",
        "--before": "not --pairs --gravity --inliers",
        "--inliers": "--json",
    },
)
def run(
    release: opt.Release,
    *,
    map: Annotated[Path, option("The folder of a map.", metavar="MAP")],
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    camera: opt.Camera = None,
    pairs: Annotated[
        Path | None, option("hloc's pairs.txt: search only the images it lists for --query.")
    ] = None,
    query: Annotated[str | None, option("The query's name in --pairs.", metavar="NAME")] = None,
    before: Annotated[
        list[Path] | None,
        option("A release the device made before this one; repeat, in order.", metavar="RELEASE"),
    ] = None,
    motion: Annotated[
        Path | None,
        option("How it moved: lines of RELEASE qw qx qy qz tx ty tz, camera from odometry."),
    ] = None,
    odometry: Annotated[
        str, option("Error of the motion between two releases: of the way, and an angle.")
    ] = "2%/0.5deg",
    measured: opt.Measured,
    inliers: Annotated[
        bool, option("Also tell which keypoints agree with the pose, and which points they saw.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """The map is here; `sfumato ask` asks the map of a server.

    With --before several releases of a moving device are asked together, and the pose of the
    last is told. Each was charged to the ledger when it was made.

    Exit code 0: localized. 1: not localized. 2: bad input.

    Example: sfumato localize out.sfr --map map/
    """
    from sfumato.cli.localize_frames import localize_frames
    from sfumato.server.localize import localize
    from sfumato.server.mapping import Map
    from sfumato.server.shards.sharded_map import open_map

    if before:
        found = localize_frames(
            [*before, release], motion, odometry, open_map(map), dictionary, camera
        )
        tell_localization(found[-1], as_json, {"frames": len(found)})
        return
    gravity = measured.read()
    sent = read_release(release, purpose="localize")
    if sent.kind != "words":
        refuse_given(f"has words, and this release has {sent.kind}", "dictionary")
    if camera is None and sent.camera is None:
        raise InvalidInput(
            "a pose needs the camera's intrinsics and the release carries none; give --camera."
        )
    world = open_map(map)
    shortlist = None
    if pairs is not None:
        if query is None:
            raise InvalidInput("--pairs needs --query NAME, the query's name in that file.")
        if not isinstance(world, Map):
            raise InvalidInput(
                f"--pairs names images, which {map} in shards does not; leave it out."
            )
        shortlist = shortlist_from_pairs(pairs, query, world)
    result = localize(
        sent,
        world,
        camera=None if camera is None else opt.parse_camera(camera, sent.image_size),
        dictionary=Dictionary.load(dictionary) if sent.kind == "words" else None,
        shortlist=shortlist,
        gravity=gravity,
    )
    agree = result.inliers if inliers else None
    told = None if agree is None else {name: getattr(agree, name).tolist() for name in _PAIRS}
    tell_localization(result, as_json, {"inliers": told} if inliers else None)


def shortlist_from_pairs(path: Path, query: str, world: Map) -> np.ndarray:
    """Images of the map that hloc's pairs.txt lists for a query: one "query image" per line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a readable pairs file: {error}.") from None
    numbers = {name: i for i, name in enumerate(world.image_names)}
    wanted = [line.split()[1] for line in lines if line.split()[:1] == [query] and line.split()[1:]]
    if not wanted:
        raise InvalidInput(f"{path} lists no image for {query!r}.")
    unknown = [name for name in wanted if name not in numbers]
    if unknown:
        raise InvalidInput(f"{len(unknown)} images of {path} are not in the map: {unknown[0]} …")
    return np.array([numbers[name] for name in wanted], dtype=np.int64)


def tell_localization(
    result: Localization, as_json: bool, more: dict[str, Any] | None = None
) -> None:
    """Print a pose or the reason why there is none, which ends with exit code 1."""
    facts: dict[str, Any] = {
        "localized": result.localized,
        "num_inliers": result.num_inliers,
        "num_matches": result.num_matches,
        "log10_chance": round(result.log10_chance, 2),
        "reason": result.reason,
        "expected_error": None,
        "warning": result.warning,
        "camera": None,
        "searched": result.searched,
    }
    shown = {
        "inliers": f"{result.num_inliers} of {result.num_matches} candidate matches",
        "by chance": f"10^{result.log10_chance:.1f} poses as good as this one expected",
    }
    if result.pose is not None:
        pose = result.pose
        facts["cam_from_world"] = {
            "rotation": pose.rotation.tolist(),
            "translation": pose.translation.tolist(),
        }
        facts["center"] = pose.center.tolist()
        shown["camera at"] = _row(pose.center, 3) + " (in the map's unit)"
        shown["cam_from_world"] = f"quaternion {_row(pose.quaternion, 6)} (w x y z)"
        shown["  translation"] = _row(pose.translation, 3)
    if result.error is not None:
        error = result.error
        facts["expected_error"] = {
            "position": error.position,
            "rotation_deg": error.rotation_deg,
            "covariance": error.covariance.tolist(),
        }
        shown["expected error"] = (
            f"{error.position:.3g} in the map's unit and {error.rotation_deg:.2g}°; nine poses of "
            "ten are nearer"
        )
    if result.camera is not None:
        facts["camera"] = result.camera.as_dict()
    if result.warning is not None:
        shown["warning"] = result.warning
    if result.reason is not None:
        shown["reason"] = result.reason
    emit(as_json, facts | (more or {}), "localized" if result.localized else "not localized", shown)
    if result.pose is None:
        raise typer.Exit(1)


def _row(values: Any, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)
