"""`sfumato serve`: the service on this machine."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli.options import option
from sfumato.cli.output import JsonFlag, emit_json, emit_lines
from sfumato.core.errors import InvalidInput
from sfumato.service.settings import Settings, from_environment

_USUAL = Settings()


def run(
    store: Annotated[
        Path | None,
        option(
            "Maps, keys and metadata; made if missing.", metavar="STORE", shown=f"{_USUAL.store}"
        ),
    ] = None,
    dictionary: Annotated[
        list[str] | None,
        option(
            "Public words: a dictionary's folder or name; may come repeatedly.",
            metavar="DICTIONARY",
            shown=", ".join(_USUAL.dictionaries),
        ),
    ] = None,
    host: Annotated[str | None, option("Address to listen on.", shown=_USUAL.host)] = None,
    port: Annotated[
        int | None, option("0: any free one, printed when ready.", shown=f"{_USUAL.port}")
    ] = None,
    workers: Annotated[
        int | None, option("Processes that answer.", shown=f"{_USUAL.workers}")
    ] = None,
    parallel: Annotated[
        int | None, option("Localizations of each at once.", shown=f"{_USUAL.parallel}")
    ] = None,
    read_only: Annotated[bool | None, option("Never write to the store.")] = None,
    allow_origin: Annotated[
        list[str] | None,
        option(
            "A web site whose pages may ask, https://host; may come repeatedly.",
            metavar="ORIGIN",
            shown="none but /app",
        ),
    ] = None,
    on: Annotated[
        str | None,
        option(
            "Where localizations are computed: local, or ray for this machine's cluster.",
            shown=_USUAL.on,
        ),
    ] = None,
    shards: Annotated[
        int | None, option("On ray: parts that large maps are cut into.", shown=f"{_USUAL.shards}")
    ] = None,
    replicas: Annotated[
        int | None, option("On ray: copies of what localizes.", shown=f"{_USUAL.replicas}")
    ] = None,
    max_replicas: Annotated[
        int | None, option("On ray: so many of them under load.", shown="as --replicas")
    ] = None,
    config: Annotated[
        Path | None, option("TOML of settings; docs/deploy.md lists them all.", shown="none")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Settings come from --config, then from SFUMATO_… variables, then from these options. There
    is no TLS in here: put a reverse proxy in front. Stop with SIGTERM; answers under way are
    finished. With --on ray requests still come in here, and docs/scale.md says what goes where.

    Example: sfumato serve --store store --dictionary open-64k
    """
    from sfumato.service.run import serve

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
        "allow_origins": allow_origin,
        "on": on,
        "shards": shards,
        "replicas": replicas,
        "max_replicas": max_replicas,
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
