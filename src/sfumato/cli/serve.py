"""`sfumato serve`: the service on this machine."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.output import JsonFlag, emit_json, emit_lines
from sfumato.core.errors import InvalidInput


def run(
    store: Annotated[
        Path | None, typer.Option(help="Folder of maps, keys and metadata; made if missing.")
    ] = None,
    dictionary: Annotated[
        list[str] | None, typer.Option(help="A dictionary's folder or name; may come repeatedly.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="0: any free one, printed when ready.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that answer.")] = None,
    parallel: Annotated[int | None, typer.Option(help="Localizations of each at once.")] = None,
    read_only: Annotated[
        bool | None, typer.Option("--read-only", help="Never write to the store.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="TOML file of settings; docs/deploy.md lists them all.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Serve maps to devices that send protected releases, never pictures.

    Settings come from --config, then from SFUMATO_… variables, then from these options. There is
    no TLS in here: put a reverse proxy in front. Stop with SIGTERM; answers under way are finished.

    Example: sfumato serve --store store --dictionary bsds-16k
    """
    from sfumato.service.run import serve
    from sfumato.service.settings import Settings, from_environment

    settings = Settings()
    if config is not None:
        settings = settings.updated(_read(config), source=str(config))
    settings = settings.updated(from_environment(os.environ), source="the environment")
    given = {
        "store": store,
        "dictionaries": dictionary,
        "host": host,
        "port": port,
        "workers": workers,
        "parallel": parallel,
        "read_only": read_only,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    settings = settings.updated(chosen, source="the command line")

    def ready(address: str, number: int) -> None:
        url = f"http://{f'[{address}]' if ':' in address else address}:{number}"
        if as_json:
            emit_json({"ready": True, "url": url, "port": number, "workers": settings.workers})
        else:
            emit_lines([f"sfumato serve: ready on {url}"])

    serve(settings, ready)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path} is not a readable TOML file: {error}.") from None
