"""`sfumato map build`, `import`, `info` and `index`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.command import applies
from sfumato.cli.files import refuse_existing
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work, note
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput
from sfumato.core.gravity import parse_direction

if TYPE_CHECKING:
    from sfumato.server.mapping import Map

Upwards = Callable[["Map"], "Map"]
OutputOption = Annotated[Path, output("The map to make.", "FOLDER")]


@applies(
    {
        "--cameras --pairs --max-keypoints --extractor --strict": "not --from-releases",
        "--focal": "--from-releases",
    }
)
def build(
    *,
    output: OutputOption,
    sources: Annotated[
        list[Path] | None, argument("FOLDER", "Folders of pictures, or scenes.")
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
    extractor: opt.Extractor = "sift",
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
    """A folder with cameras.json beside images/ is a scene with known poses. Without it poses are
    reconstructed. Several folders become one map, each in a world of its own. Stopped, the same
    command goes on with the pictures extracted so far.

    With --from-releases there are no pictures: every view is a release others made with
    `sfumato protect`, all of one kind and dictionary.

    Example: sfumato map build church/ square/ -o town-map
    """
    from sfumato.features.extractors import check_request

    upwards = _upwards(up)
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
    check_request(extractor, max_keypoints=max_keypoints)
    refuse_existing(output)
    work = output.with_name(output.name + ".partial")
    options: dict[str, Any] = {
        "extractor": extractor,
        "max_keypoints": max_keypoints,
        "seed": seed,
        "strict": strict,
        "work": work,
    }
    with long_work() as progress, running.started():
        world = upwards(_build(sources, cameras, pairs, options | {"progress": progress}))
        world.save(output)
    shutil.rmtree(work, ignore_errors=True)
    _show(world, output, as_json=as_json)


def import_(
    model: Annotated[Path, argument("MODEL", "Folder of a COLMAP model, .bin or .txt.")],
    features: Annotated[Path, option("The features it was made from (HDF5).")],
    output: OutputOption,
    extractor: Annotated[
        str | None, option("Who made the features.", metavar="NAME", shown="what the file says")
    ] = None,
    up: opt.Up = None,
    as_json: JsonFlag = False,
) -> None:
    """Example: sfumato map import sfm/ --features features.h5 --extractor sift -o town-map"""
    from sfumato.server.mapping import import_map

    upwards = _upwards(up)
    refuse_existing(output)
    with long_work() as progress:
        world = upwards(import_map(model, features, extractor=extractor, progress=progress))
        world.save(output)
    _show(world, output, as_json=as_json)


def info(map: opt.Map, as_json: JsonFlag = False) -> None:
    """Example: sfumato map info town-map"""
    from sfumato.server.mapping import Map

    _show(Map.load(map), map, as_json=as_json)


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
    _show(world, map, as_json=as_json)


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
    _show(world, output, as_json=as_json)


def _upwards(up: str | None) -> Upwards:
    """What makes a map know which way is up, read before any work."""
    from sfumato.server.mapping.up import with_up

    if up is None:
        return lambda world: world
    direction = parse_direction("--up", up)
    return lambda world: with_up(world, direction)


def _build(
    sources: list[Path], cameras: Path | None, pairs: Path | None, options: dict[str, Any]
) -> Map:
    from sfumato.server.mapping import build_map, build_map_from_scenes, read_scene

    if len(sources) > 1 and (cameras is not None or pairs is not None):
        raise InvalidInput(
            "--cameras and --pairs belong to one folder, "
            f"{len(sources)} are given; build them one by one."
        )
    if len(sources) > 1 or ((sources[0] / "cameras.json").is_file() and cameras is pairs is None):
        return build_map_from_scenes(sources, **options)
    scene = read_scene(sources[0], cameras=cameras)
    return build_map(scene.images, cameras=scene.cameras, poses=scene.poses, pairs=pairs, **options)


def _show(world: Map, folder: Path, *, as_json: bool) -> None:
    from sfumato.server.mapping import describe_map

    size = sum(file.stat().st_size for file in folder.iterdir())
    words = world.filed_under
    figures = describe_map(world)
    facts = {"facts": dict(world.facts), "word_indices": words, "bytes": size}
    emit(
        as_json,
        {**figures, **facts, "output": str(folder)},
        "Map",
        {
            "images": f"{figures['images']} by {figures['cameras']} cameras",
            "points": figures["points"],
            "observations": f"{figures['observations']} of {figures['features']} features",
            "track length": f"{figures['mean_track_length']:.2f} on average",
            "reprojection": f"{figures['mean_reprojection_error_px']:.2f} pixels on average",
            "extractor": figures["extractor"],
            "up": "not known; devices cannot send gravity"
            if world.up is None
            else "{:.3g}, {:.3g}, {:.3g}".format(*world.up),
            "made by": ", ".join(_methods(world)),
            "word indices": ", ".join(name[:16] for name in words) or "none yet",
            "size": f"{size / 1e6:.1f} MB",
            "folder": str(folder),
        },
    )
    for warning in [] if as_json else figures["warnings"]:
        note(f"warning: {warning}")
    for part in [] if as_json else world.facts.get("scenes", [world.facts]):
        for name, reason in part.get("unreadable", []):
            note(f"left out {name}: {reason}")
        placed = part.get("unregistered", [])
        if placed:
            shown = ", ".join(placed[:10]) + (" …" if len(placed) > 10 else "")
            note(f"{len(placed)} images could not be placed: {shown}")


def _methods(world: Map) -> list[str]:
    parts = world.facts.get("scenes", [world.facts])
    return sorted({str(part.get("method", "unknown")) for part in parts})
