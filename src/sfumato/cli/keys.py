"""`sfumato keys create`, `list` and `revoke`: who may ask a service."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import JsonFlag, emit_facts, emit_json, emit_lines, note
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.service.keys import Key, Keys

app = typer.Typer(
    help="Make, list and revoke the API keys of a service.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Store = Annotated[Path, typer.Option(help="The service's folder.")]


@app.command()
def create(
    store: Store,
    tenant: Annotated[str, typer.Option(help="Whose maps: letters, digits or . _ -")],
    role: Annotated[
        str, typer.Option(help="owner: everything of the tenant. query: ask, never change.")
    ] = "query",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A new file for the key, readable by you alone."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="30d, 12h, 90m or a date in UTC; never if not given.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a key. Its secret is shown or written once; only its hash is stored.

    Example: sfumato keys create --store store --tenant museum --role owner -o owner.key
    """
    from sfumato.service.database import one_sentence
    from sfumato.service.keys import parse_expiry
    from sfumato.service.permissions import only_for_the_owner

    end = None if expires is None else parse_expiry(expires)
    with one_sentence(store), only_for_the_owner(), _key_file(output) as deliver:
        key, text = _keys(store, make=True).create(tenant, role, expires=end, deliver=deliver)
    if as_json:
        shown = {"key": text} if output is None else {"file": str(output)}
        emit_json({**_as_dict(key), **shown})
    elif output is not None:
        emit_facts("made", {"id": key.id, "tenant": key.tenant, "role": key.role, "file": output})
    else:
        note("this is the only time the key is shown; keep it safe.")
        emit_lines([text])


@contextmanager
def _key_file(path: Path | None) -> Iterator[Callable[[str], None] | None]:
    """A file made for one key, with mode 0600 from its first moment; gone if there is no key."""
    if path is None:
        yield None
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{path} exists already; choose another name for the key.") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from None

    def deliver(text: str) -> None:
        try:
            os.write(file, f"{text}\n".encode())
            os.fsync(file)
        except OSError as error:
            raise InvalidInput(
                f"{path} cannot be written ({error.strerror}); no key was made."
            ) from None

    try:
        yield deliver
    except BaseException:
        path.unlink()
        raise
    finally:
        os.close(file)


@app.command("list")
def list_keys(store: Store, as_json: JsonFlag = False) -> None:
    """List keys, revoked ones included; secrets cannot be shown.

    Example: sfumato keys list --store store
    """
    found = _keys(store).all()
    if as_json:
        emit_json({"keys": [_as_dict(key) for key in found]})
        return
    rows = [("id", "tenant", "role", "created", "expires", "revoked")]
    for key in found:
        end = f"{key.expires or '-'}{' (expired)' if key.is_expired else ''}"
        rows.append((key.id, key.tenant, key.role, key.created, end, key.revoked or "-"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # Whole ids whatever the width of the terminal: `revoke` is given what is shown here.
    emit_lines(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `list` shows it.")],
    store: Store,
    as_json: JsonFlag = False,
) -> None:
    """Revoke a key at once: also for what it is sending now.

    Example: sfumato keys revoke 0123456789abcdef --store store
    """
    from sfumato.service.database import one_sentence

    with one_sentence(store):
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
        "expires": key.expires,
        "revoked": key.revoked,
    }
