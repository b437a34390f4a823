"""`sfumato map build`, `info` and `index`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli import values
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.files import refuse_existing
from sfumato.cli.map_sources import build_from
from sfumato.cli.map_summary import show_map
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, long_work
from sfumato.cli.own_code import find_extractor
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput
from sfumato.core.gravity import parse_direction

if TYPE_CHECKING:
    from sfumato.server.mapping import Map

Upwards = Callable[["Map"], "Map"]
OutputOption = Annotated[Path, output("The map to make.", "FOLDER")]


@applies(
    {
        "--cameras --pairs --max-keypoints --extractor --strict --layout --camera-scale": "not "
        "--from-releases",
        "--focal": "--from-releases",
    }
)
def build(
    *,
    output: OutputOption,
    sources: Annotated[
        list[Path] | None,
        argument("SOURCE", "Folders of pictures, or scenes; or one file of features (.h5)."),
    ] = None,
    from_releases: Annotated[
        Path | None, option("Releases (.sfr) instead of pictures.", metavar="FOLDER")
    ] = None,
    focal: Annotated[
        float | None, option("Focal length in pixels, where releases carry no camera.")
    ] = None,
    cameras: Annotated[
        Path | None, option("cameras.json of a folder that has none inside.")
    ] = None,
    layout: Annotated[
        str,
        option(
            "How the pictures lie: auto, plain, cameras, 7scenes, 12scenes, cambridge, tum, nerf, "
            "hloc or kapture.",
            metavar="NAME",
        ),
    ] = "auto",
    camera_scale: opt.CameraScale = "1",
    extractor: Annotated[
        str | None,
        option(
            "What describes the pictures, or made the features.",
            metavar="NAME",
            shown="sift, or what the file says",
        ),
    ] = None,
    max_keypoints: opt.MaxKeypoints = None,
    pairs: Annotated[
        Path | None, option("pairs.txt: the pictures of one folder to compare.", shown="all")
    ] = None,
    up: opt.Up = None,
    seed: opt.Seed = 0,
    strict: opt.Strict = False,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """A folder with cameras.json beside images/, or in the layout of a public data set, is a scene
    with known poses. Without, poses are reconstructed, and the summary says whether to trust them.
    Several folders become one map, each in a world of its own. Stopped, the same command goes on
    with the pictures extracted so far.

    With --from-releases there are no pictures: every view is a release others made with
    `sfumato protect`, all of one kind and dictionary.

    Example: sfumato map build church/ square/ -o town-map
    """
    from sfumato.features.extractors import check_wanted
    from sfumato.features.h5 import is_features_file

    upwards, scale = upwards_of(up), values.camera_scale(camera_scale)
    if from_releases is not None:
        if sources:
            raise InvalidInput("--from-releases builds from releases alone; leave out pictures.")
        with running.started():
            _build_from_releases(from_releases, output, focal, seed, upwards, as_json=as_json)
        return
    if not sources:
        raise InvalidInput(
            "give folders of pictures, or --from-releases with a folder of releases."
        )
    if not is_features_file(sources[0]):
        described_by = find_extractor(extractor or "sift")
        check_wanted(described_by, max_keypoints=max_keypoints)
    else:
        described_by = extractor
        refuse_given(
            "is for pictures, and this is a file of features", "layout", "camera_scale", "strict"
        )
    refuse_existing(output)
    work = output.with_name(output.name + ".partial")
    options: dict[str, Any] = {
        "extractor": described_by,
        "max_keypoints": max_keypoints,
        "seed": seed,
        "strict": strict,
        "work": work,
    }
    with long_work() as progress, running.started():
        given = build_from(sources, layout, scale, cameras, pairs, options | {"progress": progress})
        world = upwards(given)
        world.save(output)
    shutil.rmtree(work, ignore_errors=True)
    show_map(world, output, as_json=as_json)


def info(map: opt.Map, as_json: JsonFlag = False) -> None:
    """Example: sfumato map info town-map"""
    from sfumato.server.mapping import Map

    show_map(Map.load(map), map, as_json=as_json)


def index(
    map: opt.Map, dictionary: opt.Dictionary = DEFAULT_DICTIONARY, as_json: JsonFlag = False
) -> None:
    """Without this every `sfumato localize` computes the index again and keeps it in memory.

    Example: sfumato map index town-map --dictionary open-64k
    """
    from sfumato.dictionary import Dictionary
    from sfumato.server.mapping import Map
    from sfumato.server.mapping.filing import file_under

    world = Map.load(map)
    file_under(world, Dictionary.load(dictionary))
    show_map(world, map, as_json=as_json)


def _build_from_releases(
    folder: Path, output: Path, focal: float | None, seed: int, upwards: Upwards, *, as_json: bool
) -> None:
    from sfumato.server.mapping.releases import build_map_from_releases, read_releases

    refuse_existing(output)
    releases = read_releases(folder)
    if focal is None and any(one.camera is None for one in releases.values()):
        missing = sum(one.camera is None for one in releases.values())
        raise InvalidInput(
            f"{missing} of {len(releases)} releases carry no camera; give --focal PIXELS to begin "
            "with, or protect with --camera."
        )
    with long_work() as progress:
        world = build_map_from_releases(releases, focal=focal, seed=seed, progress=progress)
        world = upwards(world)
        world.save(output)
    show_map(world, output, as_json=as_json)


def upwards_of(up: str | None) -> Upwards:
    """What makes a map know which way is up, read before any work."""
    from sfumato.server.mapping.up import with_up

    if up is None:
        return lambda world: world
    direction = parse_direction("--up", up)
    return lambda world: with_up(world, direction)
