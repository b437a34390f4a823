"""`sfumato store check`: what is wrong with a store, in sentences. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.core.errors import DamagedFile, InvalidInput, SfumatoError
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import MANIFEST
from sfumato.server.mapping.map import Map
from sfumato.service.database import MAPS, NAME
from sfumato.service.labels import StoredMap, is_arriving, read_label
from sfumato.service.permissions import is_open
from sfumato.service.storage import Store
from sfumato.service.survey import Survey, survey


@dataclass(frozen=True)
class Finding:
    """Something that is wrong: a word for machines, which thing, one sentence."""

    kind: str
    name: str
    sentence: str


@dataclass(frozen=True)
class Opened:
    """A store as far as it can be opened: without its metadata `store` is None."""

    folder: Path
    store: Store | None
    trouble: Finding | None

    def survey(self) -> Survey:
        return survey(self.folder, self.store)

    def close(self) -> None:
        if self.store is not None:
            self.store.database.close()


def open_read_only(folder: Path) -> Opened:
    """Open what is there; a lost or damaged database is a finding, a newer one an error."""
    if not folder.is_dir():
        raise InvalidInput(f"there is no store at {folder}.")
    store = None
    try:
        store = Store(folder, read_only=True)
        store.database.check()
    except DamagedFile as error:
        if store is not None:
            store.database.close()
        return Opened(folder, None, Finding("database", NAME, str(error)))
    return Opened(folder, store, None)


def check_store(folder: Path, *, progress: Progress = silent) -> tuple[int, list[Finding]]:
    """How many maps are whole, and all that is wrong; every checksum is compared."""
    opened = open_read_only(folder)
    try:
        found = opened.survey()
        findings = [] if opened.trouble is None else [opened.trouble]
        whole = 0
        for done, row in enumerate(found.present):
            progress("checking maps", done, len(found.present))
            reason = why_damaged(folder / MAPS / row.id)
            if reason is None:
                whole += 1
            elif opened.store is None or row.id in opened.store.ids():  # not deleted meanwhile
                findings.append(
                    Finding("damaged", row.id, f"the map {row.id} is damaged: {reason}")
                )
        findings += [
            Finding("missing", row.id, f"the map {row.id} has a row and no folder in {MAPS}/.")
            for row in found.missing
        ]
        findings += [
            Finding(
                "row", row.id, f"the row of the map {row.id} in {NAME} is damaged; run `repair`."
            )
            for row in found.damaged_rows
        ]
        findings += [_stray(path, f"{path.parent.name}/") for path in found.unknown]
        findings += [_stray(path, "aside/") for path in list_folder(folder / "aside")]
        findings += [
            Finding("quarantined", map_id, f"the map {map_id} is in quarantine: {entry.reason}")
            for map_id, entry in found.quarantined.items()
        ]
        findings += [
            _stray(path, "quarantine/")
            for path in list_folder(folder / "quarantine")
            if path.name not in found.quarantined and path.name not in found.rows
        ]
        if is_open(folder):
            sentence = "other users of this machine may look into the store; `serve` mends that."
            findings.append(Finding("permissions", "", sentence))
        return whole, findings
    finally:
        opened.close()


def _stray(path: Path, place: str) -> Finding:
    try:
        adoptable(path)
    except DamagedFile as error:
        sentence = f"{place}{path.name} is not in {NAME} and cannot be adopted: {error}."
    else:
        sentence = f"{place}{path.name} is a map that is not in {NAME}; `repair` adopts it."
    return Finding("unknown", path.name, sentence)


def adoptable(path: Path) -> StoredMap:
    """The label of a whole map; DamagedFile with the reason if it cannot be taken in."""
    if not (path / MANIFEST).is_file():
        raise DamagedFile("it is not a map")
    if is_arriving(path):
        raise DamagedFile("its upload was never acknowledged")
    stored = read_label(path)
    reason = why_damaged(path)
    if reason is not None:
        raise DamagedFile(reason.rstrip("."))
    return stored


def why_damaged(folder: Path) -> str | None:
    try:
        Map.load(folder)
    except (SfumatoError, ValueError, LookupError, TypeError, OSError) as error:
        return str(error)
    return None


def list_folder(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
