"""`sfumato map list` and `map delete`: the maps of a server."""

from __future__ import annotations

from typing import Annotated

from sfumato.cli.options import argument, option
from sfumato.cli.output import JsonFlag, emit, emit_json, make_table, printer
from sfumato.cli.server_options import Server

_SECONDS = 120.0


def list_maps(server: Server, as_json: JsonFlag = False) -> None:
    """All maps that the key may ask, and with what.

    Example: sfumato map list --server https://maps.example --key-file owner.key
    """
    with server.client(deadline=_SECONDS, timeout=30.0) as client:
        found = client.maps()
    if as_json:
        emit_json({"maps": [one.model_dump(mode="json") for one in found]})
        return
    table = make_table()
    table.add_column("name", overflow="fold")
    table.add_column("id", no_wrap=True)
    table.add_column("extractor", overflow="fold")
    for name in ("images", "points", "MB"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        size = f"{one.num_bytes / 1e6:.1f}"
        counts = (f"{one.num_images:,}", f"{one.num_points:,}", size)
        table.add_row(one.name, one.id, one.extractor, *counts)
    with printer() as console:
        many = "" if len(found) == 1 else "s"
        console.print(f"{len(found)} map{many} on {server.server}", style="bold")
        if found:
            console.print(table)


def delete(
    map: Annotated[str, argument("MAP", "The map's name or id on the server.")],
    *,
    server: Server,
    yes: Annotated[bool, option("Do it: the map is erased, with its files.", "--yes")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Erase a map of your own, to push a newer one under its name. It needs a key of the role
    owner, and --yes: without it the command only says what would be erased.

    Example: sfumato map delete town --server https://maps.example --key-file owner.key --yes
    """
    with server.client(deadline=_SECONDS, timeout=30.0) as client:
        found = client.delete_map(map) if yes else client.find_map(map)
    facts = {**found.model_dump(mode="json"), "deleted": yes}
    shown = {
        "name": found.name,
        "id": found.id,
        "held": f"{found.num_images:,} images, {found.num_points:,} points",
    }
    title = "erased from the server" if yes else "nothing was erased; add --yes to do it"
    emit(as_json, facts, title, shown)
