"""What a store has decided is on the disk before anything builds on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from served import MAP_INFO
from sfumato.core.errors import DamagedFile
from sfumato.service import recovery, storage
from sfumato.service.labels import ARRIVING, LABEL
from sfumato.service.storage import Store
from watched_disk import Disk

MAP = "a" * 22


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def add_map(store: Store, map_id: str = MAP) -> None:
    key, _ = store.keys.create("ann", "owner")
    with store.draft() as draft:
        (draft / "inside").mkdir()
        (draft / "inside" / "file").write_bytes(b"123")
        store.commit(draft, key, map_id, map_id, MAP_INFO)


def note(disk: Disk, monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
    """Note a call of a function among the events of the disk."""
    real = getattr(place, name)

    def noted(*arguments: Any) -> Any:
        disk.events.append(("call", name, 0))
        return real(*arguments)

    monkeypatch.setattr(place, name, noted)


def test_a_map_is_on_the_disk_before_its_row_and_acknowledged_before_the_answer(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    note(disk, monkeypatch, storage, "insert")
    add_map(store)
    target = store.folder_of(MAP)
    shown = disk.place("rename", str(target))
    synced = [Path(name) for kind, name, _ in disk.events[:shown] if kind == "sync"]
    draft = next(path for path in synced if path.parent == store.incoming)
    assert {draft, draft / ARRIVING, draft / "inside", draft / "inside" / "file"} == set(synced)
    assert shown < disk.place("sync", str(store.maps)) < disk.place("call", "insert")
    labelled = disk.place("rename", str(target / LABEL))
    assert disk.place("call", "insert") < labelled < disk.place("sync", str(target))


def test_a_deleted_map_is_out_of_sight_for_good(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_map(store)
    disk = Disk(monkeypatch)
    store.remove("ann", MAP)
    moved = next(i for i, (kind, _, _) in enumerate(disk.events) if kind == "rename")
    assert moved < disk.place("sync", str(store.maps)) < disk.place("sync", str(store.incoming))


def test_what_was_moved_aside_is_found_there_after_a_power_cut(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    for number in range(2):  # the second finds its name taken
        (store.maps / "stranger").mkdir()
        (store.maps / "stranger" / f"file {number}").touch()
        disk.events.clear()
        target = recovery.move_aside(store, store.maps / "stranger")
        moved = disk.place("rename", str(target))
        assert moved < disk.place("sync", str(store.maps))
        assert moved < disk.place("sync", str(store.aside))
    kept = sorted(file.name for file in store.aside.rglob("file *"))
    assert kept == ["file 0", "file 1"]


def test_a_damaged_map_is_in_quarantine_before_its_row_says_so(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_map(store)
    (earlier := store.quarantine / MAP).mkdir()
    (earlier / "earlier").touch()
    (row,) = store.all()
    disk = Disk(monkeypatch)
    note(disk, monkeypatch, recovery, "now")  # part of the row

    def damaged(_: Path) -> None:
        raise DamagedFile("it is damaged")

    recovery._check(store, row, damaged)
    moved = disk.place("rename", str(store.quarantine / MAP))
    for folder in (store.maps, store.quarantine):
        assert moved < disk.place("sync", str(folder)) < disk.place("call", "now")
    assert store.ids() == set()
    assert (store.quarantine / MAP / LABEL).exists()
    assert (store.aside / MAP / "earlier").exists()  # what was there before is not lost
