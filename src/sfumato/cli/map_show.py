"""`sfumato map show`: points and cameras of a map, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli import options as opt
from sfumato.cli.files import check_output, refuse_existing
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit


def run(
    map: opt.Map,
    *,
    output: Annotated[Path, output("The picture to write (.png).")] = Path("map.png"),
    poses: Annotated[
        Path | None, option("Poses of `sfumato localize -o`, drawn in another colour.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """The map from above, from the front and from the side: points gray, its cameras red, localized
    ones blue. A map that is right looks like the place.

    Example: sfumato map show town-map -o town.png
    """
    from sfumato.datasets.layouts.common import listed_poses
    from sfumato.pages.map_picture import draw_map
    from sfumato.server.mapping import Map

    check_output(output, ".png")
    refuse_existing(output)
    localized = {} if poses is None else listed_poses(poses)
    world = Map.load(map)
    draw_map(world, output, [pose for pose in localized.values() if pose is not None])
    facts = {
        "images": world.num_images,
        "points": len(world.points),
        "poses": len(localized),
        "output": str(output),
    }
    shown = {
        "points": f"{len(world.points):,}, gray",
        "cameras": f"{world.num_images:,} of the map, red"
        + (f"; {len(localized):,} localized, blue" if localized else ""),
    }
    emit(as_json, facts, f"wrote {output}", shown)
