"""The file of results of the faces experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput
from sfumato.experiments.records import append_record, begin_records, read_records


class ResultFile:
    """Appends results to a file of one problem; what it holds is not done again."""

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self.path = path
        begin_records(path, dict(head), "results of other faces or embeddings")
        self._done = {_key(one) for one in read_results(path)[1]}

    def has(self, **key: Any) -> bool:
        return _key(key) in self._done

    def add(self, record: dict[str, Any]) -> None:
        append_record(self.path, record)
        self._done.add(_key(record))


_KEYS = ("kind", "way", "strategy", "dimension", "source", "num_words", "epsilon", "seed",
         "attribute", "attack", "pictures", "releases")  # fmt: skip


def _key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in _KEYS)


def read_results(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a file is about, and its results."""
    head, *rest = [*read_records(Path(path))] or [{}]
    if head.get("kind") != "faces" or head.get("format") != 1:
        raise InvalidInput(f"{path} is not a file of the faces experiment.")
    return head, rest
