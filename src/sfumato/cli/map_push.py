"""`sfumato map push`: a map of your own goes to a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_facts, emit_json
from sfumato.cli.server_options import (
    AllowHttpOption,
    CaFileOption,
    KeyFileOption,
    read_certificates,
    read_key,
)
from sfumato.cli.values import names


def run(
    map_folder: Annotated[Path, typer.Argument(metavar="MAP", help="Folder of a map.")],
    server: Annotated[str, typer.Option(help="Address of the server, https://…")],
    name: Annotated[
        str | None, typer.Option(help="The map's name there; the folder's by default.")
    ] = None,
    accept: Annotated[
        str, typer.Option(help="Kinds of releases it may be asked with: words, plain, subspaces.")
    ] = "words",
    key_file: KeyFileOption = None,
    allow_http: AllowHttpOption = False,
    ca_file: CaFileOption = None,
    deadline: Annotated[float, typer.Option(help="Seconds the upload may take.")] = 3600.0,
    as_json: JsonFlag = False,
) -> None:
    """Upload a map to a server, with a key of the role owner.

    The map is checked here and, against its digest, there. It is visible when it is whole.

    Example: sfumato map push town-map --server https://maps.example --key-file owner.key
    """
    from sfumato.client import Client
    from sfumato.server.mapping import Map

    kinds = names(accept)
    key = read_key(key_file)
    Map.load(map_folder)
    with Client(
        server,
        key,
        timeout=min(deadline, 600.0),
        deadline=deadline,
        allow_http=allow_http,
        verify=read_certificates(ca_file),
    ) as client:
        made = client.push_map(map_folder, name=name or map_folder.resolve().name, accept=kinds)
    if as_json:
        emit_json(made.model_dump(mode="json"))
        return
    words = ", ".join(f"{one.name or one.fingerprint[:16]}" for one in made.dictionaries)
    emit_facts(
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
