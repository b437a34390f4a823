"""`sfumato map export` and `map matches`: maps and private matches for other programs."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato.cli import options as opt
from sfumato.cli.command import applies
from sfumato.cli.files import refuse_existing
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work
from sfumato.cli.server_options import MaybeServer
from sfumato.core.errors import InvalidInput
from sfumato.core.storage import TEMPORARY

if TYPE_CHECKING:
    from sfumato.server.mapping import Map


@applies({"--poses": "--format=ply"})
def export(
    map: Annotated[str, argument("MAP", "The folder of a map; with --server its name there.")],
    *,
    server: MaybeServer,
    output: Annotated[Path, output("The folder to make.", "FOLDER")],
    format: Annotated[
        str,
        option(
            "colmap (binary), colmap-text, hloc (model and features), ply, or sfumato: a map's own "
            "folder."
        ),
    ] = "colmap",
    poses: Annotated[
        Path | None,
        option("Poses of `sfumato localize -o`, drawn beside the map's own cameras (ply)."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """COLMAP and its viewers open what is written. Of features a map keeps positions and
    descriptors, no scores and sizes. A server gives a map to its owner's key only: it shows what
    the map-maker's pictures show.

    Example: sfumato map export town-map -o town-colmap --format colmap
    """
    from sfumato.datasets.layouts.common import listed_poses
    from sfumato.server.mapping.export import FORMATS, export_map

    if format not in FORMATS:
        raise InvalidInput(f"--format must be one of {', '.join(FORMATS)}, got {format!r}.")
    refuse_existing(output)
    localized = [] if poses is None else [one for one in listed_poses(poses).values() if one]
    with _opened(map, server, output) as world, long_work() as progress:
        export_map(world, output, format, poses=localized, progress=progress)
    size = sum(file.stat().st_size for file in output.rglob("*") if file.is_file())
    facts = {
        "format": format,
        "images": world.num_images,
        "points": len(world.points),
        "poses": len(localized),
        "bytes": size,
        "output": str(output),
    }
    shown = {
        "holds": f"{world.num_images:,} images and {len(world.points):,} points",
        "files": FORMATS[format],
        "size": f"{size / 1e6:.1f} MB",
    }
    emit(as_json, facts, f"wrote {output}", shown)


@contextmanager
def _opened(map: str, server: MaybeServer, output: Path) -> Iterator[Map]:
    """The map of a folder; or a server's, kept beside the output while it is worked with."""
    from sfumato.server.mapping import Map

    given = server.given()
    if given is None:
        yield Map.load(map)
        return
    folder = output.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        with given.client(deadline=server.deadline, timeout=30.0) as client:
            client.fetch_map(folder, map=map)
        yield Map.load(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def matches(
    releases: Annotated[Path, argument("FOLDER", "Releases (.sfr), all of one kind.")],
    *,
    output: Annotated[Path, output("The COLMAP database to make (.db).")],
    focal: Annotated[
        float | None, option("Focal length in pixels, where releases carry no camera.")
    ] = None,
    seed: opt.Seed = 0,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """Every two releases are compared; pairs that show one place beyond chance are written with
    their matches and their geometry, for COLMAP's own mapper. No descriptors are in it.

    Example: sfumato map matches releases/ -o database.db
    """
    from sfumato.server.mapping.database import export_matches
    from sfumato.server.mapping.releases import read_releases

    refuse_existing(output)
    found = read_releases(releases)
    with long_work() as progress, running.started():
        facts = export_matches(found, output, focal=focal, seed=seed, progress=progress)
    shown = {
        "images": f"{facts['images']:,} by {facts['cameras']:,} cameras",
        "pairs": f"{facts['matched_pairs']:,} of {facts['pairs']:,} show one place beyond chance",
        "matches": f"{facts['matches']:,}",
    }
    emit(as_json, {**facts, "output": str(output)}, f"wrote {output}", shown)
