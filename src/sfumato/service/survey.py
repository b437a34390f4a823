"""What a store's metadata says, laid beside what its folders hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.storage import MANIFEST, TEMPORARY
from sfumato.service.database import MAPS, NAME
from sfumato.service.labels import StoredMap, is_arriving
from sfumato.service.storage import Store, are_missing, stored_map


@dataclass(frozen=True)
class Quarantined:
    """A map that was found damaged or missing; of version 1 nothing but its name is known."""

    stored: StoredMap | None
    reason: str


@dataclass
class Survey:
    """Every folder of a store under what explains it."""

    rows: dict[str, StoredMap] = field(default_factory=dict)
    quarantined: dict[str, Quarantined] = field(default_factory=dict)
    leaving: set[str] = field(default_factory=set)
    present: list[StoredMap] = field(default_factory=list)
    damaged_rows: list[StoredMap] = field(default_factory=list)  # without info
    missing: list[StoredMap] = field(default_factory=list)  # a row, and no folder anywhere
    cut: list[Path] = field(default_factory=list)  # uploads and deletes that were not finished
    returned: list[Path] = field(default_factory=list)  # out of the list, and a label tells more
    unknown: list[Path] = field(default_factory=list)  # nothing explains these

    def refuse_a_loss(self, folder: Path) -> None:
        """Raise when rows and folders do not belong together; a start would make it worse."""
        if 2 * len(self.missing) > len(self.rows):
            raise are_missing(folder, len(self.missing), len(self.rows))
        strangers = sum((path / MANIFEST).is_file() for path in self.unknown)
        if strangers > len(self.present):
            raise InvalidInput(
                f"most maps in {folder / MAPS} are not in {NAME} ({strangers}, and "
                f"{len(self.present)} known), and nothing was changed; restore a backup, or run "
                f"`sfumato store repair {folder}`."
            )


def survey(folder: Path, store: Store | None) -> Survey:
    """Compare; `store` is None where the metadata is lost. Also right while the store is served."""
    maps = folder / MAPS
    folders = sorted(maps.iterdir()) if maps.is_dir() else []  # before the rows: see below
    found = Survey() if store is None else _rows(store)
    for row in found.rows.values():
        if (maps / row.id).is_dir():
            found.present.append(row)
        elif not (folder / "quarantine" / row.id).exists():
            found.missing.append(row)
    damaged = {row.id for row in found.damaged_rows}
    for path in folders:
        if path.name in found.rows or not path.exists():  # the latter: deleted since
            continue
        if path.name in found.leaving or is_arriving(path):
            found.cut.append(path)
        elif path.name in found.quarantined or path.name in damaged:
            found.returned.append(path)
        else:
            found.unknown.append(path)
    incoming = folder / "incoming"
    for path in sorted(incoming.iterdir()) if incoming.is_dir() else []:
        (found.cut if path.name.startswith(TEMPORARY) else found.unknown).append(path)
    return found


def _rows(store: Store) -> Survey:
    database = store.database.connection()
    database.execute("BEGIN")
    try:
        quarantined = database.execute("SELECT tenant, id, name, info, reason FROM quarantined")
        rows, damaged = store.rows()
        return Survey(
            rows={row.id: row for row in rows},
            damaged_rows=damaged,
            quarantined={
                row[1]: Quarantined(None if row[3] is None else stored_map(*row[:4]), row[4])
                for row in quarantined
            },
            leaving=store.leaving(),
        )
    finally:
        database.execute("COMMIT")
