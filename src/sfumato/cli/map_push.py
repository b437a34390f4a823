"""`sfumato map push`: a map of your own goes to a server."""

from __future__ import annotations

from typing import Annotated

from sfumato.cli import options as opt
from sfumato.cli.options import option
from sfumato.cli.output import JsonFlag, emit, long_work
from sfumato.cli.server_options import Server
from sfumato.cli.values import names


def run(
    map: opt.Map,
    server: Server,
    name: Annotated[
        str | None, option("The map's name there.", metavar="NAME", shown="the folder's")
    ] = None,
    accept: Annotated[
        str, option("Releases it may be asked with: words, plain, subspaces.", metavar="KIND,…")
    ] = "words",
    deadline: Annotated[float, option("Seconds the upload may take.")] = 3600.0,
    as_json: JsonFlag = False,
) -> None:
    """It needs a key of the role owner. The map is checked here and, against its digest, there.
    It is visible when it is whole.

    Example: sfumato map push town-map --server https://maps.example --key-file owner.key
    """
    from sfumato.server.mapping import Map

    kinds = names(accept)
    with server.client(deadline=deadline, timeout=600.0) as client, long_work() as progress:
        Map.load(map)
        progress("the server checks and files the map", 0, 1)
        made = client.push_map(map, name=name or map.resolve().name, accept=kinds)
    words = ", ".join(f"{one.name or one.fingerprint[:16]}" for one in made.dictionaries)
    emit(
        as_json,
        made.model_dump(mode="json"),
        "Map on the server",
        {
            "name": made.name,
            "id": made.id,
            "holds": f"{made.num_images} images, {made.num_points:,} points, "
            f"{made.num_observations:,} observations",
            "asked with": f"{', '.join(made.accepts)}; words of {words or 'none'}",
            "notice": made.notice,
            "ledger": "none: no ε covers a map; it shows the operator what its own pictures show",
        },
    )
