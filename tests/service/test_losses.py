"""Parts of a store are lost; what was acknowledged is kept, and the commands bring it back."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato
from served import Serve, files_of
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.service.database import NAME, Database
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.keys import Keys
from sfumato.service.labels import ARRIVING, LABEL, read_label
from sfumato.service.recovery import StoreLock, recover
from sfumato.service.storage import Store, StoredMap


def start(serve: Serve) -> set[str]:
    """What `sfumato serve` does before it answers; the maps it then has."""
    store = Store(serve.store)
    try:
        recover(store, Dictionaries((str(serve.world.words),)))
        return store.ids()
    finally:
        store.database.close()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of the maps, wherever in the store they lie."""
    return {
        f"{file.parent.name}/{file.name}": file.read_bytes()
        for part in ("maps", "aside", "quarantine")
        for file in (folder / part).rglob("*")
        if file.is_file()
    }


def rows_of(folder: Path) -> list[StoredMap]:
    store = Store(folder, read_only=True)
    try:
        return sorted(store.all(), key=lambda row: row.id)
    finally:
        store.database.close()


def store_with_maps(serve: Serve, count: int = 3) -> set[str]:
    """A store that was stopped in order."""
    served = serve()
    ids = {served.map_id(f"map {number}") for number in range(count)}
    served.service.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    serve.close()
    return ids


def killed_store(serve: Serve, folder: Path, count: int = 3) -> set[str]:
    """A store as a killed service leaves it: the latest changes are in the log only."""
    served = serve()
    served.map_id("old")
    served.service.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for number in range(count - 1):
        served.map_id(f"map {number}")
    ids = served.service.store.ids()
    shutil.copytree(serve.store, folder)
    serve.close()
    serve.store = folder
    return ids


def remove_database(store: Path) -> None:
    for file in store.glob(f"{NAME}*"):
        file.unlink()


def truncate_database(store: Path) -> None:
    (store / NAME).write_bytes(b"")


def forget_tables(store: Path) -> None:
    """A young database whose log was lost: a header, and nothing in it."""
    remove_database(store)
    with closing(sqlite3.connect(store / NAME)) as database:
        database.execute("PRAGMA journal_mode = WAL")


@pytest.mark.parametrize("lose", [remove_database, truncate_database, forget_tables])
def test_a_lost_database_erases_no_map_and_repair_brings_all_back(
    serve: Serve, capsys: pytest.CaptureFixture[str], lose: Callable[[Path], None]
) -> None:
    ids = store_with_maps(serve)
    before = contents(serve.store)
    lose(serve.store)
    with pytest.raises(DamagedFile, match=r"has maps \(3\).*sfumato store repair"):
        start(serve)
    with pytest.raises(DamagedFile, match="sfumato store repair"):  # nor may a key hide the loss
        Keys(Database(serve.store)).create("a", "owner")
    assert contents(serve.store) == before

    assert sfumato("store", "check", serve.store) == 1
    assert sfumato("store", "repair", serve.store) == 0
    assert "nothing was changed yet: add --apply" in capsys.readouterr().out
    with pytest.raises(DamagedFile):
        start(serve)
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert start(serve) == ids
    assert contents(serve.store) == before
    assert sfumato("store", "check", serve.store) == 0
    again = serve()
    listed = again.client.get("/v1/maps", headers=again.owner).json()["maps"]
    assert [entry["name"] for entry in listed] == ["map 0", "map 1", "map 2"]
    assert again.localize(min(ids), again.world.release).json()["localized"] is True


def test_the_log_of_an_emptied_database_is_kept(serve: Serve, tmp_path: Path) -> None:
    ids = killed_store(serve, tmp_path / "copy")
    truncate_database(serve.store)
    log = (serve.store / f"{NAME}-wal").read_bytes()
    assert log
    with pytest.raises(DamagedFile, match="missing or empty"):
        start(serve)
    assert (serve.store / f"{NAME}-wal").read_bytes() == log  # SQLite would have dropped it
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    (kept,) = (serve.store / "lost").rglob(f"{NAME}-wal")
    assert kept.read_bytes() == log
    assert start(serve) == ids


def test_a_store_whose_maps_are_not_mounted_is_refused_and_unchanged(serve: Serve) -> None:
    ids = store_with_maps(serve)
    away = serve.store / "maps-elsewhere"
    (serve.store / "maps").rename(away)
    with pytest.raises(InvalidInput, match=r"missing .*\(3 of 3\).*--drop-missing"):
        start(serve)
    (serve.store / "maps").mkdir()  # an empty mount point is no better
    with pytest.raises(InvalidInput, match="3 of 3"):
        start(serve)
    (serve.store / "maps").rmdir()
    away.rename(serve.store / "maps")
    assert start(serve) == ids


def test_a_copy_without_its_log_keeps_every_map(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = killed_store(serve, tmp_path / "copy", count=2)
    before = contents(serve.store)
    for name in ("wal", "shm"):
        (serve.store / f"{NAME}-{name}").unlink()
    left = start(serve)
    assert len(left) == 1
    (lost,) = ids - left
    assert files_of(serve.store / "aside") == [lost]
    assert contents(serve.store) == before
    assert sfumato("store", "check", serve.store, "--json") == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["kind"], finding["name"]) == ("unknown", lost)
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert start(serve) == ids
    assert contents(serve.store) == before


def test_a_store_of_which_most_maps_are_unknown_is_refused(serve: Serve, tmp_path: Path) -> None:
    ids = killed_store(serve, tmp_path / "copy", count=4)
    (serve.store / f"{NAME}-wal").unlink()
    with pytest.raises(
        InvalidInput, match=r"not in metadata.db \(3, and 1 known\).*sfumato store repair"
    ):
        start(serve)
    assert files_of(serve.store / "maps") == sorted(ids)


def test_a_deleted_map_does_not_come_back_and_is_not_kept(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    gone, kept = served.map_id("gone"), served.map_id("kept")

    def cut(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "erase", cut)
        with pytest.raises(KeyboardInterrupt):
            served.service.store.remove("a", gone)
    serve.close()
    assert files_of(serve.store / "maps") == sorted([gone, kept])
    assert start(serve) == {kept}
    assert files_of(serve.store / "maps") == [kept]
    assert not files_of(serve.store / "aside")


def test_an_upload_that_was_cut_explains_itself(serve: Serve) -> None:
    (kept,) = store_with_maps(serve, 1)
    maps = serve.store / "maps"
    shutil.copytree(maps / kept, maps / "cut")
    (maps / "cut" / LABEL).rename(maps / "cut" / ARRIVING)
    assert start(serve) == {kept}
    assert files_of(maps) == [kept]
    assert not files_of(serve.store / "aside")


@pytest.mark.parametrize("labels", [(), (LABEL, ARRIVING)])
def test_a_map_without_a_row_is_erased_only_if_it_was_never_acknowledged(
    serve: Serve, labels: tuple[str, ...]
) -> None:
    (kept,) = store_with_maps(serve, 1)
    stranger = serve.store / "maps" / "stranger"
    shutil.copytree(serve.store / "maps" / kept, stranger)
    label = (stranger / LABEL).read_bytes()
    (stranger / LABEL).unlink()
    for name in labels:
        (stranger / name).write_bytes(label)
    assert start(serve) == {kept}
    assert files_of(serve.store / "aside") == ["stranger"]


def test_an_upload_cut_after_its_row_is_finished(serve: Serve) -> None:
    (room,) = store_with_maps(serve, 1)
    folder = serve.store / "maps" / room
    (folder / LABEL).rename(folder / ARRIVING)
    assert start(serve) == {room}
    assert (folder / LABEL).exists()
    assert not (folder / ARRIVING).exists()


def test_a_label_that_disagrees_with_its_row_is_written_anew(serve: Serve) -> None:
    """Else a repair after the next loss would give a map to whom the label names."""
    first, second = sorted(store_with_maps(serve, 2))
    labels = [serve.store / "maps" / one / LABEL for one in (first, second)]
    right = labels[0].read_bytes()
    for wrong in (labels[1].read_bytes(), b"", b"{}", None):
        if wrong is None:
            labels[0].unlink()
        else:
            labels[0].write_bytes(wrong)
        start(serve)
        assert labels[0].read_bytes() == right


def test_labels_that_are_on_disks_today_can_be_read(tmp_path: Path) -> None:
    label = (
        '{"format": 1, "tenant": "ann", "id": "aaaa", "name": "hall", "info": {"points": 3},'
        ' "checksum": "2002c920d3d97804f31fd97d7f0f45204d56b1fe0bf513e90b02b4d3f0cb5e21"}'
    )
    (tmp_path / LABEL).write_text(label)
    assert read_label(tmp_path) == StoredMap("ann", "aaaa", "hall", {"points": 3})


def test_a_missing_map_among_others_comes_back_with_its_name(serve: Serve) -> None:
    ids = store_with_maps(serve)
    lost = min(ids)
    before = rows_of(serve.store)
    away = serve.store / "elsewhere"
    (serve.store / "maps" / lost).rename(away)
    assert start(serve) == ids - {lost}
    away.rename(serve.store / "maps" / lost)
    assert start(serve) == ids - {lost}  # a start adopts nothing by itself …
    assert files_of(serve.store / "quarantine") == [lost]  # … and erases nothing
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert start(serve) == ids
    assert rows_of(serve.store) == before  # tenant, name and all that is told about it
    assert sfumato("store", "check", serve.store) == 0


def test_a_map_that_returns_twice_is_kept_twice(serve: Serve) -> None:
    lost = min(store_with_maps(serve))
    folder, away = serve.store / "maps" / lost, serve.store / "elsewhere"
    folder.rename(away)
    start(serve)
    for _ in range(2):
        shutil.copytree(away, folder)
        start(serve)
        assert not folder.exists()
    assert files_of(serve.store / "quarantine") == files_of(serve.store / "aside") == [lost]


def test_missing_maps_are_forgotten_only_when_asked(serve: Serve) -> None:
    ids = store_with_maps(serve)
    kept = min(ids)
    for gone in ids - {kept}:
        shutil.rmtree(serve.store / "maps" / gone)
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    with pytest.raises(InvalidInput, match="2 of 3"):
        start(serve)
    assert sfumato("store", "repair", serve.store, "--drop-missing", "--apply") == 0
    assert start(serve) == {kept}
    assert sfumato("store", "check", serve.store) == 0


def test_a_damaged_database_is_set_aside_and_made_anew(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = store_with_maps(serve)
    damaged = bytearray((serve.store / NAME).read_bytes())
    damaged[5000:9000] = b"\xff" * 4000
    (serve.store / NAME).write_bytes(damaged)
    with pytest.raises(DamagedFile, match="sfumato store repair"):
        start(serve)
    assert sfumato("store", "check", serve.store) == 1
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert "all keys are lost" in capsys.readouterr().out
    assert start(serve) == ids
    (kept,) = (serve.store / "lost").rglob(NAME)
    assert kept.read_bytes() == bytes(damaged)


def test_an_adopted_map_whose_name_is_taken_gets_another(serve: Serve) -> None:
    served = serve()
    first = served.map_id("hall")
    shutil.copytree(serve.store / "maps" / first, serve.store / "aside" / first)
    served.service.store.remove("a", first)
    second = served.map_id("hall")
    serve.close()
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    store = Store(serve.store, read_only=True)
    names = {row.id: row.name for row in store.all()}
    assert names == {first: f"hall-{first}", second: "hall"}
    store.database.close()
    assert start(serve) == {first, second}


def test_what_cannot_be_adopted_stays_and_is_told(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    (room,) = store_with_maps(serve, 1)
    aside = serve.store / "aside"
    for name in ("unlabelled", "mislabelled", "damaged", "again"):
        shutil.copytree(serve.store / "maps" / room, aside / name)
    (aside / "unlabelled" / LABEL).unlink()
    label = aside / "mislabelled" / LABEL
    label.write_text(label.read_text().replace('"tenant": "a"', '"tenant": "b"'))
    (aside / "damaged" / "points.npy").write_bytes(b"x")
    (aside / "file").write_bytes(b"x")
    before = contents(serve.store)
    assert sfumato("store", "repair", serve.store, "--apply", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["actions"] == []
    for name, reason in (
        ("unlabelled", "no label.json"),
        ("mislabelled", "label.json is damaged"),
        ("damaged", "points.npy is damaged"),
        ("again", "already"),
        ("file", "not a map"),
    ):
        assert any(name in line and reason in line for line in told["left"]), (name, told)
    assert contents(serve.store) == before
    assert start(serve) == {room}


def test_repair_waits_for_no_service(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    store_with_maps(serve, 1)
    lock = StoreLock(serve.store)
    lock.share()
    assert sfumato("store", "repair", serve.store) == 0  # looking is allowed
    assert sfumato("store", "repair", serve.store, "--apply") == 2
    assert "another sfumato serve" in capsys.readouterr().err
    lock.close()


def test_check_is_right_while_the_store_is_served(serve: Serve) -> None:
    served = serve()
    first = served.map_id("first")
    with served.service.store.draft():
        assert sfumato("store", "check", serve.store) == 0
    served.service.store.remove("a", first)
    assert sfumato("store", "check", serve.store) == 0


def test_folders_that_are_no_store_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("check",), ("repair",), ("repair", "--apply")):
        for folder in (tmp_path, tmp_path / "none"):
            assert sfumato("store", *words, folder) == 2
            assert "store" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_map_that_repair_took_back_is_not_deleted_by_an_older_decision(
    serve: Serve, tmp_path: Path
) -> None:
    """A delete that was cut leaves its note; whoever adopts the map again has decided anew."""
    room = min(store_with_maps(serve))
    shutil.copytree(serve.store / "maps" / room, tmp_path / room)
    with closing(sqlite3.connect(serve.store / NAME)) as database:
        database.execute("DELETE FROM maps WHERE id = ?", (room,))
        database.execute("INSERT INTO leaving VALUES (?)", (room,))
        database.commit()
    shutil.rmtree(serve.store / "maps" / room)
    (serve.store / "aside").mkdir(exist_ok=True)
    shutil.move(tmp_path / room, serve.store / "aside" / room)
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert room in start(serve)
    assert room in start(serve)
    assert room in files_of(serve.store / "maps")


def test_a_reader_beside_a_service_sees_what_was_just_changed(serve: Serve) -> None:
    """After a start in good order the log of a store is empty, and the store is live."""
    store_with_maps(serve, 1)
    writer = Database(serve.store)
    try:
        writer.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reader = Database(serve.store, read_only=True)
        key, text = Keys(writer).create("a", "query")
        assert Keys(reader).find(text) is not None
        Keys(writer).revoke(key.id)
        assert Keys(reader).find(text) is None
        reader.close()
    finally:
        writer.close()


def test_removing_files_of_a_living_service_lets_no_second_one_in(serve: Serve) -> None:
    store_with_maps(serve, 1)
    first = StoreLock(serve.store)
    first.take_alone()
    for file in serve.store.glob("lock*"):
        file.unlink()
    second = StoreLock(serve.store)
    with pytest.raises(InvalidInput, match="another sfumato serve"):
        second.take_alone(patience=0.0)
    for lock in (first, second):
        lock.close()
