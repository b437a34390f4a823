"""`sfumato map build`, `import`, `info`, `index` and `push`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import map_push
from sfumato.cli.output import JsonFlag, emit_facts, emit_json, note, progress_bar
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.server.mapping import Map

app = typer.Typer(
    help="Build maps from your own pictures, import COLMAP models, send them to a server.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="Folder to make for the map.")]


@app.command()
def build(
    output: Output,
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[IMAGES_OR_SCENE]...", help="Folders of pictures, or scenes."),
    ] = None,
    from_releases: Annotated[
        Path | None, typer.Option(help="Folder of releases (.sfr) instead of pictures.")
    ] = None,
    focal: Annotated[
        float | None,
        typer.Option(help="Focal length in pixels, where releases carry no camera."),
    ] = None,
    cameras: Annotated[
        Path | None, typer.Option(help="cameras.json of a folder that has none inside.")
    ] = None,
    extractor: Annotated[str, typer.Option(help="What describes the pictures.")] = "sift",
    max_keypoints: Annotated[
        int | None, typer.Option(help="Only the strongest of each picture.")
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="pairs.txt: which pictures of one folder to compare.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the reconstruction.")] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="An unreadable picture is an error.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Build a map from the map-maker's own pictures.

    A folder with cameras.json beside images/ is a scene with known poses. Without it poses are
    reconstructed. Several folders become one map, each in a world of its own. Stopped, the same
    command goes on with the pictures extracted so far.

    With --from-releases there are no pictures: every view is a release others made with
    `sfumato protect`, all of one kind and dictionary.

    Example: sfumato map build church/ square/ -o town-map
    """
    from sfumato.features.extractors import check_request

    if from_releases is not None:
        if sources or cameras is not None or pairs is not None or max_keypoints is not None:
            raise InvalidInput(
                "--from-releases builds from releases alone; leave out pictures, --cameras, "
                "--pairs and --max-keypoints."
            )
        _build_from_releases(from_releases, output, focal, seed, as_json=as_json)
        return
    if not sources:
        raise InvalidInput(
            "give IMAGES_OR_SCENE (folders), or --from-releases with a folder of releases."
        )
    if focal is not None:
        raise InvalidInput("--focal belongs to --from-releases; pictures say theirs in EXIF.")
    check_request(extractor, max_keypoints=max_keypoints)
    _check_output(output)
    work = output.with_name(output.name + ".partial")
    options: dict[str, Any] = {
        "extractor": extractor,
        "max_keypoints": max_keypoints,
        "seed": seed,
        "strict": strict,
        "work": work,
    }
    with progress_bar(quiet=as_json) as progress:
        world = _build(sources, cameras, pairs, options | {"progress": progress})
        world.save(output)
    shutil.rmtree(work, ignore_errors=True)
    _show(world, output, as_json=as_json)


@app.command("import")
def import_(
    model: Annotated[Path, typer.Argument(help="Folder of a COLMAP model, .bin or .txt.")],
    features: Annotated[Path, typer.Option(help="The features file it was made from (HDF5).")],
    output: Output,
    extractor: Annotated[
        str | None, typer.Option(help="Who made the features, if the file does not say.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a map from a COLMAP model and hloc's features file.

    Example: sfumato map import sfm/ --features features.h5 --extractor sift -o town-map
    """
    from sfumato.server.mapping import import_map

    _check_output(output)
    with progress_bar(quiet=as_json) as progress:
        world = import_map(model, features, extractor=extractor, progress=progress)
        world.save(output)
    _show(world, output, as_json=as_json)


@app.command()
def info(
    map_folder: Annotated[Path, typer.Argument(metavar="MAP", help="Folder of a map.")],
    as_json: JsonFlag = False,
) -> None:
    """Check a map and say what it holds.

    Example: sfumato map info town-map
    """
    from sfumato.server.mapping import Map

    _show(Map.load(map_folder), map_folder, as_json=as_json)


@app.command()
def index(
    map_folder: Annotated[Path, typer.Argument(metavar="MAP", help="Folder of a map.")],
    dictionary: Annotated[
        str, typer.Option(help="Folder of a dictionary, or the name of a bundled one.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """File a map under the words of a dictionary, so that queries need not do it.

    Without this every `sfumato localize` computes the index again and keeps it in memory.

    Example: sfumato map index town-map --dictionary bsds-16k
    """
    from sfumato.dictionary import Dictionary
    from sfumato.server.mapping import Map
    from sfumato.server.mapping.filing import file_under

    world = Map.load(map_folder)
    file_under(world, Dictionary.load(dictionary))
    _show(world, map_folder, as_json=as_json)


app.command("push")(map_push.run)


def _build_from_releases(
    folder: Path, output: Path, focal: float | None, seed: int, *, as_json: bool
) -> None:
    from sfumato.server.mapping.releases import build_map_from_releases, read_releases

    _check_output(output)
    releases = read_releases(folder)
    if focal is None and any(one.camera is None for one in releases.values()):
        missing = sum(one.camera is None for one in releases.values())
        raise InvalidInput(
            f"{missing} of {len(releases)} releases carry no camera; give --focal PIXELS to begin "
            "with, or protect with --camera."
        )
    with progress_bar(quiet=as_json) as progress:
        world = build_map_from_releases(releases, focal=focal, seed=seed, progress=progress)
        world.save(output)
    _show(world, output, as_json=as_json)


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


def _check_output(output: Path) -> None:
    """Told before the long work, not after it."""
    if output.exists():
        raise InvalidInput(f"{output} exists already; choose another name or remove it.")


def _show(world: Map, folder: Path, *, as_json: bool) -> None:
    from sfumato.server.mapping import describe_map

    size = sum(file.stat().st_size for file in folder.iterdir())
    words = world.filed_under
    figures = describe_map(world)
    if as_json:
        facts = {"facts": dict(world.facts), "word_indices": words, "bytes": size}
        emit_json({**figures, **facts, "output": str(folder)})
        return
    emit_facts(
        "Map",
        {
            "images": f"{figures['images']} by {figures['cameras']} cameras",
            "points": figures["points"],
            "observations": f"{figures['observations']} of {figures['features']} features",
            "track length": f"{figures['mean_track_length']:.2f} on average",
            "reprojection": f"{figures['mean_reprojection_error_px']:.2f} pixels on average",
            "extractor": figures["extractor"],
            "made by": ", ".join(_methods(world)),
            "word indices": ", ".join(name[:16] for name in words) or "none yet",
            "size": f"{size / 1e6:.1f} MB",
            "folder": str(folder),
        },
    )
    for part in world.facts.get("scenes", [world.facts]):
        for name, reason in part.get("unreadable", []):
            note(f"left out {name}: {reason}")
        placed = part.get("unregistered", [])
        if placed:
            shown = ", ".join(placed[:10]) + (" …" if len(placed) > 10 else "")
            note(f"{len(placed)} images could not be placed: {shown}")


def _methods(world: Map) -> list[str]:
    parts = world.facts.get("scenes", [world.facts])
    return sorted({str(part.get("method", "unknown")) for part in parts})
