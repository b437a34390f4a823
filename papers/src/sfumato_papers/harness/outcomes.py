"""Outcomes on disk: one JSON object to a line, written as they are made, never rewritten.

The first line says what the others are about; a file about something else is refused. A run that
is stopped goes on behind the last whole line.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Generic, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch


class Outcome(Protocol):
    """A dataclass that knows what it is the outcome of."""

    @property
    def key(self) -> Hashable: ...


Made = TypeVar("Made", bound=Outcome)


@dataclass(frozen=True)
class Journal(Generic[Made]):
    """How the outcomes of one experiment are kept.

    kind     of the first line; title: what such a file is of, for people
    outcome  the dataclass of the other lines, whose kind is `label`
    version  of the lines; 0 where none is written
    besides  kinds of lines that are no outcomes
    many     name under which a line lists several outcomes; one to a line without it
    """

    kind: str
    title: str
    outcome: type[Made]
    label: str = "outcome"
    version: int = 0
    besides: tuple[str, ...] = ()
    many: str = ""

    def begin(self, path: Path, about: Mapping[str, Any], others: str) -> Kept[Made]:
        """Begin a file or go on with it; others: what it holds if it is about something else."""
        head = {"kind": self.kind, **({"format": self.version} if self.version else {})}
        begin_records(path, {**head, **about}, others)
        return Kept(path, self, {one.key: one for one in self.read(path)[1]})

    def read(self, path: str | Path) -> tuple[dict[str, Any], tuple[Made, ...]]:
        """What a file is about, and every outcome, those written twice once."""
        head, *lines = [*read_records(Path(path))] or [{}]
        if head.get("kind") != self.kind or head.get("format", 0) != self.version:
            raise InvalidInput(f"{path} is not a file of {self.title}.")
        found: dict[Hashable, Made] = {}
        for number, line in enumerate(lines, start=2):
            kind = line.pop("kind", None)
            if kind == self.label:
                for row in (line.get(self.many) or [None]) if self.many else [line]:
                    made: Made = decode(self.outcome, row, f"{path} is damaged in line {number}")
                    found[made.key] = made
            elif kind not in self.besides:
                raise DamagedFile(f"{path} is damaged in line {number}: kind {kind!r}.")
        return head, tuple(found.values())


@dataclass(frozen=True, eq=False)
class Kept(Generic[Made]):
    """An open file of outcomes, by key."""

    path: Path
    journal: Journal[Made]
    outcomes: dict[Hashable, Made]

    def __contains__(self, key: Hashable) -> bool:
        return key in self.outcomes

    def add(self, *outcomes: Made) -> None:
        made: Any = outcomes
        lines = [asdict(one) for one in made]
        for line in [{self.journal.many: lines}] if self.journal.many else lines:
            append_record(self.path, {"kind": self.journal.label, **line})
        self.outcomes.update({one.key: one for one in outcomes})


class RecordFile:
    """Results that are plain records, of several kinds; `keys` tell them apart.

    may_change  what the first line may say otherwise when a run goes on
    """

    def __init__(
        self,
        path: Path,
        head: Mapping[str, Any],
        others: str,
        keys: tuple[str, ...],
        may_change: tuple[str, ...] = (),
    ) -> None:
        self.path, self._keys = path, keys
        begin_records(path, dict(head), others, may_change)
        _, *rest = read_records(path)
        self._done = {self._key(one) for one in rest}

    def _key(self, record: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(record.get(name) for name in self._keys)

    def has(self, **key: Any) -> bool:
        return self._key(key) in self._done

    def add(self, record: dict[str, Any]) -> None:
        append_record(self.path, record)
        self._done.add(self._key(record))

    def once(self, key: dict[str, Any], make: Callable[[], dict[str, Any]]) -> None:
        """Add what is made under this key, unless the file holds it."""
        if not self.has(**key):
            self.add({**key, **make()})


def decode(kind: Any, value: Any, damaged: str) -> Any:
    """A value of this type from what JSON made of it; damaged: how its refusal begins."""
    try:
        return _decode(kind, value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFile(f"{damaged}: {error}.") from None


def _decode(kind: Any, value: Any) -> Any:
    if is_dataclass(kind):
        make: Any = kind
        hints = _hints(make)
        return make(**{name: _decode(hints[name], item) for name, item in value.items()})
    if get_origin(kind) is dict:
        return {name: _decode(get_args(kind)[1], item) for name, item in value.items()}
    if get_origin(kind) is tuple:
        return tuple(_decode(get_args(kind)[0], item) for item in value)
    if get_origin(kind) in (Union, UnionType) and value is not None:
        return _decode(next(one for one in get_args(kind) if one is not type(None)), value)
    return value


def plain(value: Any) -> Any:
    """What JSON can hold of a value: dataclasses, paths and tuples as objects, text and lists.

    Names that begin with _ are for tables only and left out.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {k: plain(item) for k, item in value.items() if not str(k).startswith("_")}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """Add one line; it is on the disk when this returns."""
    text = json.dumps(record, ensure_ascii=False)
    with path.open("a", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())


def begin_records(
    path: Path, head: Mapping[str, Any], others: str, may_change: tuple[str, ...] = ()
) -> None:
    """Begin a file with this first line, or go on with one that has it; refuse any other.

    others  what the file holds if its first line differs: "outcomes of other pictures"
    """
    if path.exists():
        drop_torn_line(path)
    if not path.exists() or not path.stat().st_size:
        path.parent.mkdir(parents=True, exist_ok=True)
        append_record(path, head)
        return
    known, free = next(read_records(path)), dict.fromkeys(may_change)
    if {**known, **free} != {**json.loads(json.dumps(head)), **free}:
        raise Mismatch(f"{path} holds {others}; give another folder.")


def stored(path: Path) -> Path:
    """The file, or the same compressed (.gz) where only that is there."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.exists() and not path.exists() else path


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Every line of a file; one that is no JSON object is refused with its number."""
    try:
        source = stored(path)
        opened = gzip.open if source.suffix == ".gz" else open
        with opened(source, "rt", encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        raise InvalidInput(f"there is no file of predictions at {path}.") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a file of predictions: {error}.") from None
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            content = json.loads(line)
        except json.JSONDecodeError as error:
            raise DamagedFile(f"{path} is damaged in line {number}: {error}.") from None
        if not isinstance(content, dict):
            raise DamagedFile(f"{path} is damaged in line {number}: not an object.")
        yield content


def records_of(path: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of one kind, which is left out of them."""
    found = [one for one in read_records(path) if one.get("kind") == kind]
    return [{name: value for name, value in one.items() if name != "kind"} for one in found]


def drop_torn_line(path: Path) -> None:
    """A process that was killed while it wrote leaves half a line at the end."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)
