"""Results on disk: one JSON object to a line, written as they are made, never rewritten.

A run that is stopped goes on behind the last whole line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Add one line; it is on the disk when this returns."""
    text = json.dumps(record, ensure_ascii=False)
    with path.open("a", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def begin_records(path: Path, head: dict[str, Any], others: str) -> None:
    """Begin a file with this first line, or go on with one that has it; refuse any other.

    others  what the file holds if its first line differs: "outcomes of other pictures"
    """
    if path.exists():
        drop_torn_line(path)
    if not path.exists() or not path.stat().st_size:
        path.parent.mkdir(parents=True, exist_ok=True)
        append_record(path, head)
    elif next(read_records(path)) != json.loads(json.dumps(head)):
        raise Mismatch(f"{path} holds {others}; give another folder.")


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Every line of a file; one that is no JSON object is refused with its number."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InvalidInput(f"there is no file of predictions at {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a file of predictions: {error}.") from None
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            content = json.loads(line)
        except json.JSONDecodeError as error:
            raise DamagedFile(f"{path} is damaged in line {number}: {error}.") from None
        if not isinstance(content, dict):
            raise DamagedFile(f"{path} is damaged in line {number}: not an object.")
        yield content


def drop_torn_line(path: Path) -> None:
    """A process that was killed while it wrote leaves half a line at the end."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)
