"""`sfumato studio`: the pages that show what leaves, what comes back and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit_json, emit_lines, note
from sfumato.core.errors import InvalidInput

_NO_RUNTIME = (
    "Networks do not run in this copy (Attack shows no paintings): its runtime was not built in; "
    "`bash scripts/studio` of a clone does that."
)


def run(
    port: Annotated[int, option("Where to listen; 0 takes any free port.")] = 8760,
    host: Annotated[str, option("Address to listen at; others than this machine's see it.")] = (
        "127.0.0.1"
    ),
    open_: Annotated[bool, option("Open it in the browser.", "--open")] = False,
    server: Annotated[
        str | None,
        option("The one server that Place may ask, https://host.", metavar="URL", shown="none"),
    ] = None,
    output: Annotated[
        Path | None,
        output("Write it as plain files for any web server, and end.", "FOLDER", shown="none"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Photographs that you open there stay in the tab: there is nothing here that takes one. Stop
    with Ctrl-C.

    Example: sfumato studio --open
    """
    from sfumato.studio.files import has_runtime, write_studio
    from sfumato.studio.serve import Studio, serve_studio

    if output is not None:
        if server is not None or open_:
            raise InvalidInput("--output writes files and ends; leave --server and --open out.")
        count = write_studio(output)
        facts = {"folder": str(output), "files": count, "networks_run": has_runtime()}
        if as_json:
            emit_json(facts)
            return
        emit_lines([f"wrote {count} files to {output}; serve it with any file server"])
        if not has_runtime():
            note(_NO_RUNTIME)
        return

    def ready(address: str, number: int) -> None:
        url = f"http://{f'[{address}]' if ':' in address else address}:{number}/"
        if as_json:
            emit_json({"ready": True, "url": url, "port": number, "networks_run": has_runtime()})
        else:
            emit_lines([f"sfumato studio: {url}"])
            if not has_runtime():
                note(_NO_RUNTIME)
        if open_:
            import webbrowser

            webbrowser.open(url)

    serve_studio(Studio(server), host=host, port=port, ready=ready)
