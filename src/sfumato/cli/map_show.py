"""`sfumato map show`: points and cameras of a map, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from sfumato.cli.files import check_output, refuse_existing
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit
from sfumato.cli.server_options import MaybeServer
from sfumato.core.errors import InvalidInput


def run(
    map: Annotated[str, argument("MAP", "The folder of a map; with --server its name there.")],
    *,
    server: MaybeServer,
    output: Annotated[Path, output("The picture to write (.png).")] = Path("map.png"),
    poses: Annotated[
        Path | None, option("Poses of `sfumato localize -o`, drawn in another colour.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """The map from above, from the front and from the side: points gray, its cameras red, localized
    ones blue. A map that is right looks like the place. A server tells some of the points and no
    camera.

    Example: sfumato map show town-map -o town.png
    """
    from sfumato.datasets.layouts.common import listed_poses
    from sfumato.pages.map_picture import draw_map, draw_points
    from sfumato.server.mapping import Map

    check_output(output, ".png")
    refuse_existing(output)
    listed = {} if poses is None else listed_poses(poses)
    localized = [pose for pose in listed.values() if pose is not None]
    given = server.given()
    if given is not None:
        with given.client(deadline=server.deadline, timeout=30.0) as client:
            told = client.map_points(map)
        if not told.points:
            raise InvalidInput("the server hides the points of this map; nothing can be drawn.")
        draw_points(np.array(told.points), output, (), localized, up=told.up)
        images, points = 0, len(told.points)
    else:
        world = Map.load(map)
        draw_map(world, output, localized)
        images, points = world.num_images, len(world.points)
    facts = {"images": images, "points": points, "poses": len(localized), "output": str(output)}
    shown = {"points": f"{points:,}, gray"}
    if images:
        shown["cameras"] = f"{images:,} of the map, red"
    if localized:
        shown["localized"] = f"{len(localized):,}, blue"
    emit(as_json, facts, f"wrote {output}", shown)
