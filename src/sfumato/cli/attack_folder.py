"""Releases of a folder, attacked one by one; stopped, the same command goes on."""

from __future__ import annotations

import hashlib
import inspect
import json
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.cli.attack_plans import Attacker
from sfumato.cli.files import read_bytes, read_release, refuse_existing
from sfumato.cli.output import emit_json, long_work, make_table, note, printer
from sfumato.cli.own_code import load_ready
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.files import parse_json
from sfumato.core.storage import MANIFEST, write_file
from sfumato.core.unfinished import Unfinished
from sfumato.execution import current

_FOUND, _ROWS = "found", "rows"


def find_releases(folder: Path) -> list[Path]:
    paths = sorted(path.resolve() for path in folder.glob("*.sfr"))
    if not paths:
        raise InvalidInput(f"{folder} holds no release; `sfumato protect -o NAME.sfr` makes one.")
    return paths


def kinds_of(paths: list[Path]) -> set[str]:
    """Of those that can be read; the others are told when their turn comes."""
    kinds = set()
    for path in paths:
        with suppress(SfumatoError):
            kinds.add(read_release(path, purpose="attack").kind)
    return kinds


def attack_folder(
    paths: list[Path], output: Path | None, attacker: Attacker, *, as_json: bool
) -> None:
    """Attack all; with an output, what is recovered goes there, by the names of the releases."""
    place = current()
    place.check_path(paths[0].parent)
    with ExitStack() as stack:
        kept, done = None, {}
        if output is not None:
            refuse_existing(output)
            kept = stack.enter_context(_Attack(output, _settings(attacker)))
            place.check_path(kept.folder)
            done = {path: row for path in paths if (row := kept.row(path)) is not None}
        if done:
            note(f"going on: {len(done)} of {len(paths)} releases were attacked before")
        todo = [path for path in paths if path not in done]
        progress = stack.enter_context(long_work())
        where = None if kept is None else kept.folder.resolve()
        results = place.map(attack_file, todo, attacker, where, threads=1)
        for path, row in zip(todo, results, strict=True):
            done[path] = row
            progress("attacking releases", len(done), len(paths))
        found = [done[path] for path in paths]
        attacked = [one for one in found if "error" not in one]
        if kept is not None and output is not None and attacked:
            kept.finish(output)
        elif kept is not None:
            kept.remove()
    if not attacked:
        raise InvalidInput(
            f"none of the {len(found)} releases can be attacked: {found[0]['error']}"
        )
    if as_json:
        emit_json({"releases": found, "output": None if output is None else str(output)})
    else:
        _print_all(attacked, found, output)


def attack_file(attacker: Attacker, kept: Path | None, path: Path) -> dict[str, Any]:
    """Attack one of many; what is recovered is kept in a folder, and a row comes back.

    A release that cannot be attacked says why and does not stop the others.
    """
    try:
        found = attacker.attack(read_release(path, purpose="attack"))
    except SfumatoError as error:
        return {"name": path.name, "error": str(error)}
    row = {"name": path.name, **found.facts, "attacks": found.rows}
    if kept is not None:
        file = kept / _FOUND / f"{path.stem}.npz"
        found.write(file)
        told = {"release": _digest(path), "bytes": file.stat().st_size, "row": row}
        write_file(kept / _ROWS / f"{path.stem}.json", json.dumps(told).encode())
    return row


class _Attack(Unfinished):
    """What is recovered so far, and a row for every release that was attacked."""

    WORK = ("attack", "attacking", "words")

    def __enter__(self) -> _Attack:
        super().__enter__()
        for part in (_FOUND, _ROWS):
            (self.folder / part).mkdir(exist_ok=True)
        return self

    def row(self, path: Path) -> dict[str, Any] | None:
        """That of a release which need not be attacked again: it is the same, and all is there."""
        try:
            told = parse_json((self.folder / _ROWS / f"{path.stem}.json").read_bytes())
            size = (self.folder / _FOUND / f"{path.stem}.npz").stat().st_size
            if (told["release"], told["bytes"]) == (_digest(path), size):
                row: dict[str, Any] = told["row"]
                return row
        except (OSError, ValueError, LookupError, TypeError):
            pass
        return None

    def finish(self, output: Path) -> None:
        (self.folder / _FOUND).rename(output)
        self.remove()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _settings(attacker: Attacker) -> dict[str, Any]:
    """What the result depends on beside the releases; words by what they are, code as it is."""
    source = None
    if attacker.own is not None:
        attack: Any = load_ready(attacker.own, "an attack")
        with suppress(TypeError):  # an object that is called
            source = inspect.getsourcefile(attack)
    return {
        "version": __version__,
        "words": [_identity(text) for text in (attacker.dictionary, attacker.public)],
        "others": [hashlib.sha256(one.to_bytes()).hexdigest() for one in attacker.others],
        "own": [attacker.own, None if source is None else _digest(Path(source))],
    }


def _identity(text: str | None) -> str | None:
    """A name, or what the manifest of a folder says that it holds."""
    manifest = None if text is None else Path(text) / MANIFEST
    if manifest is None or not manifest.is_file():
        return text
    return hashlib.sha256(read_bytes(manifest)).hexdigest()


def _print_all(
    attacked: list[dict[str, Any]], found: list[dict[str, Any]], output: Path | None
) -> None:
    table = make_table()
    table.add_column("attack", overflow="fold")
    for name in ("releases", "descriptors", "guessed", "proven", "confidence", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in dict.fromkeys(row["attack"] for one in attacked for row in one["attacks"]):
        rows = [
            (one["keypoints"], row)
            for one in attacked
            for row in one["attacks"]
            if row["attack"] == name and row["run"]
        ]
        if rows:
            count = sum(keypoints for keypoints, _ in rows)
            sure = sum(keypoints * row["mean_confidence"] for keypoints, row in rows)
            table.add_row(
                name,
                str(len(rows)),
                f"{count:,}",
                *(f"{sum(row[part] for _, row in rows):,}" for part in ("answered", "certified")),
                f"{sure / max(count, 1):.3f}",
                f"{sum(row['seconds'] for _, row in rows):.2f}",
            )
    with printer() as console:
        if table.row_count:
            console.print(table)
        for one in found:
            if "error" in one:
                console.print(f"{one['name']} not attacked: {one['error']}", soft_wrap=True)
        for kind in dict.fromkeys(one["kind"] for one in attacked):
            largest = max(
                (one for one in attacked if one["kind"] == kind), key=lambda one: one["keypoints"]
            )
            console.print(f"guarantee, for the largest release of {kind}: {largest['guarantee']}")
        every = dict.fromkeys(name for one in attacked for name in one["not_protected"])
        console.print(f"not protected: {', '.join(every)}")
        if output is not None:
            console.print(f"wrote {output}")
