"""`sfumato map shard`: a map cut into regions, each a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from sfumato.cli import options as opt
from sfumato.cli.files import refuse_existing
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit, long_work


def run(
    map: opt.Map,
    output: Annotated[Path, output("The map in shards to make.", "FOLDER")],
    shards: Annotated[int, option("How many.")] = 4,
    as_json: JsonFlag = False,
) -> None:
    """Images that see the same points stay together. `sfumato localize --map FOLDER` answers bit
    for bit as the map in one piece does, for the dictionaries it is filed under by now.

    A service cuts its maps itself: `sfumato serve --on ray --shards 4`.

    Example: sfumato map shard town-map -o town-shards --shards 4
    """
    from sfumato.server.mapping import Map
    from sfumato.server.shards.stored import shard_map

    refuse_existing(output)
    with long_work() as progress:
        head = shard_map(Map.load(map), output, shards, progress=progress)
    images = np.bincount(head.shard_of_image, minlength=shards).tolist()
    words = head.filed_under
    emit(
        as_json,
        {
            "shards": shards,
            "images": images,
            "points": head.num_points,
            "observations": head.num_observations,
            "word_indices": words,
            "output": str(output),
        },
        "Map in shards",
        {
            "shards": f"{shards} of {min(images)} to {max(images)} images",
            "observations": head.num_observations,
            "word indices": ", ".join(name[:16] for name in words) or "none: file the map first",
            "folder": str(output),
        },
    )
