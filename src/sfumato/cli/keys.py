"""`sfumato keys create`, `list` and `revoke`: who may ask a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from sfumato.cli.output import JsonFlag, emit_facts, emit_json, emit_lines, note, printer
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.service.keys import Key, Keys

app = typer.Typer(help="Make, list and revoke the API keys of a service.", rich_markup_mode=None)
Store = Annotated[Path, typer.Option(help="The service's folder.")]


@app.command()
def create(
    store: Store,
    tenant: Annotated[str, typer.Option(help="Whose maps: letters, digits or . _ -")],
    role: Annotated[
        str, typer.Option(help="owner: everything of the tenant. query: ask, never change.")
    ] = "query",
    as_json: JsonFlag = False,
) -> None:
    """Make a key. Its secret is shown once and kept nowhere; only its hash is stored.

    Example: sfumato keys create --store store --tenant museum --role owner
    """
    key, text = _keys(store, make=True).create(tenant, role)
    if as_json:
        emit_json({"id": key.id, "tenant": key.tenant, "role": key.role, "key": text})
        return
    note("this is the only time the key is shown; keep it safe.")
    emit_lines([text])


@app.command("list")
def list_keys(store: Store, as_json: JsonFlag = False) -> None:
    """List keys, revoked ones included; secrets cannot be shown.

    Example: sfumato keys list --store store
    """
    found = _keys(store).all()
    if as_json:
        emit_json({"keys": [_as_dict(key) for key in found]})
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("id", "tenant", "role", "created", "revoked"):
        table.add_column(name)
    for key in found:
        table.add_row(key.id, key.tenant, key.role, key.created, key.revoked or "")
    with printer() as console:
        console.print(table)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `list` shows it.")],
    store: Store,
    as_json: JsonFlag = False,
) -> None:
    """Revoke a key at once: also for what it is sending now.

    Example: sfumato keys revoke 0123456789abcdef --store store
    """
    key = _keys(store).revoke(key_id)
    if as_json:
        emit_json(_as_dict(key))
    else:
        emit_facts("revoked", {"id": key.id, "tenant": key.tenant, "role": key.role})


def _keys(store: Path, *, make: bool = False) -> Keys:
    from sfumato.service.database import NAME, Database
    from sfumato.service.keys import Keys

    if not make and not (store / NAME).is_file():
        raise InvalidInput(f"{store} is not a store: it has no {NAME}; `keys create` makes one.")
    return Keys(Database(store))


def _as_dict(key: Key) -> dict[str, str | None]:
    return {
        "id": key.id,
        "tenant": key.tenant,
        "role": key.role,
        "created": key.created,
        "revoked": key.revoked,
    }
