"""`sfumato keys create`, `list` and `revoke`: who may ask a service."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, emit_facts, emit_json, emit_lines, note
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.service.keys import Key, Keys


def create(
    store: opt.StoreGiven,
    tenant: Annotated[str, option("Whose maps: letters, digits or . _ -", metavar="NAME")],
    role: Annotated[
        str, option("owner: everything of the tenant. query: ask, never change.")
    ] = "query",
    output: Annotated[
        Path | None, output("A new file for the key, readable by you alone.", shown="printed")
    ] = None,
    expires: Annotated[
        str | None, option("30d, 12h, 90m or a date in UTC.", metavar="WHEN", shown="never")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Its secret is shown or written once; only its hash is stored.

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
        emit_facts("made", _shown(key) | {"file": output})
    else:
        note(f"this is the only time the key is shown; keep it safe. It expires: {_expiry(key)}.")
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


def list_keys(store: opt.StoreGiven, as_json: JsonFlag = False) -> None:
    """Example: sfumato keys list --store store"""
    every = _keys(store).all()
    if as_json:
        emit_json({"keys": [_as_dict(key) for key in every]})
        return
    rows = [("id", "tenant", "role", "created", "expires", "revoked")]
    for key in every:
        end = f"{key.expires or '-'}{' (expired)' if key.is_expired else ''}"
        day = key.created.partition("T")[0]
        rows.append((key.id, key.tenant, key.role, day, end, key.revoked or "-"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # Whole ids whatever the width of the terminal: `revoke` is given what is shown here.
    emit_lines(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def revoke(
    key_id: Annotated[str, argument("ID", "The key's id, as `keys list` shows it.")],
    store: opt.StoreGiven,
    as_json: JsonFlag = False,
) -> None:
    """It ends at once: also for what it is sending now.

    Example: sfumato keys revoke 0123456789abcdef --store store
    """
    from sfumato.service.database import one_sentence

    with one_sentence(store):
        key = _keys(store).revoke(key_id)
    emit(as_json, _as_dict(key), "revoked", _shown(key))


def _keys(store: Path, *, make: bool = False) -> Keys:
    from sfumato.service.database import NAME, Database
    from sfumato.service.keys import Keys

    if not make and not (store / NAME).is_file():
        raise InvalidInput(f"{store} is not a store: it has no {NAME}; `keys create` makes one.")
    return Keys(Database(store))


def _as_dict(key: Key) -> dict[str, Any]:
    names = ("id", "tenant", "role", "created", "expires", "revoked")
    return {name: getattr(key, name) for name in names}


def _shown(key: Key) -> dict[str, Any]:
    return {"id": key.id, "tenant": key.tenant, "role": key.role, "expires": _expiry(key)}


def _expiry(key: Key) -> str:
    return "never" if key.expires is None else key.expires
