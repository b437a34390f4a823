"""Remembers how far each ledger was, in another folder than the ledger's.

A ledger counts its own entries. One small file per ledger, in the person's state folder, holds
the highest count seen on this device. A ledger that is behind it was restored from a copy; a
path that has no ledger any more, or another one, lost it. Who restores both files together, or
works on another device, is not noticed.

The count is written after the ledger's own transaction: killed in between, the witness knows
less, and never more than was true.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import LedgerError, SfumatoError
from sfumato.core.storage import TEMPORARY, write_file
from sfumato.device.user_folders import state_folder

_DIGITS = 20  # fixed: a new count is written over the old one and needs no room on the disk


@dataclass(frozen=True)
class Memory:
    """What one witness file says."""

    file: Path
    count: int
    ledger: bytes  # its absolute path, in the system's own bytes


def refuse_lost(ledger: Path) -> None:
    """Say that a ledger which is about to be made was there before."""
    remembered = _of_path(ledger)
    if not remembered or ledger.exists():  # another program may have made it just now
        return
    raise LedgerError(
        f"the ledger {ledger} is gone; it had counted {remembered[0].count} changes, and what "
        f"they count was released. Put it back; or, to begin at zero, remove {remembered[0].file}. "
        "Nothing was released now."
    )


@contextmanager
def watched(ledger: Path, identity: str, count: int) -> Iterator[Watch]:
    """Compare a ledger with what is remembered of it, and be ready to remember more."""
    memory = _register(ledger, identity, count)
    try:
        descriptor = os.open(memory.file, os.O_RDWR)
    except OSError as error:
        raise _unusable(memory.file, error) from None
    try:
        yield Watch(descriptor, memory.count)
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Watch:
    """One witness file that is open for writing."""

    descriptor: int
    count: int

    def remember(self, count: int) -> None:
        # Another program may be further by now. Should both write at once, the lower number may
        # stay until the next entry: the witness then knows less, which harms nobody.
        if count > max(self.count, _count(os.pread(self.descriptor, _DIGITS, 0))):
            os.pwrite(self.descriptor, b"%0*d" % (_DIGITS, count), 0)


def _register(ledger: Path, identity: str, count: int) -> Memory:
    file = _folder() / identity
    path = _key(ledger)
    memory = _read(file)
    if memory is not None and memory.count > count:
        raise LedgerError(
            f"{ledger} has {count} entries, but had {memory.count} before: it was restored from an "
            "older copy, and forgot what was released since. Put the newer one back; or, to go on "
            f"with this one, remove {file}. Nothing was released."
        )
    if memory is not None and memory.ledger == path:
        return memory
    others = _of_path(ledger)
    if others:
        raise LedgerError(
            f"{ledger} is not the ledger that was there before, which had {others[0].count} "
            f"entries. Put that one back; or, to go on with this one, remove {others[0].file}. "
            "Nothing was released."
        )
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(file, b"%0*d\n%s\n" % (_DIGITS, count, path))
    except (OSError, SfumatoError) as error:
        raise _unusable(file, error) from None
    return Memory(file, count, path)


def _of_path(ledger: Path) -> list[Memory]:
    path = _key(ledger)
    try:
        files = [file for file in _folder().iterdir() if not file.name.startswith(TEMPORARY)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unusable(_folder(), error) from None
    memories = [memory for file in files if (memory := _read(file)) is not None]
    return [memory for memory in memories if memory.ledger == path]


def _read(file: Path) -> Memory | None:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(file, error) from None
    number, _, path = content.removesuffix(b"\n").partition(b"\n")
    if len(number) != _DIGITS or not number.isdigit():
        raise LedgerError(
            f"{file}, which remembers how far a ledger was, is damaged; make sure that your "
            "ledgers are the newest ones, then remove it. Nothing was released."
        )
    return Memory(file, _count(number), path)


def _count(digits: bytes) -> int:
    return int(digits) if digits.isdigit() else 0


def _key(ledger: Path) -> bytes:
    return os.fsencode(ledger.resolve())


def _folder() -> Path:
    return state_folder() / "ledgers"


def _unusable(path: Path, error: Exception) -> LedgerError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return LedgerError(
        f"{path}, which remembers how far a ledger was, cannot be used ({reason.rstrip('.')}); "
        "set XDG_STATE_HOME to a folder that can be written. Nothing was released."
    )
