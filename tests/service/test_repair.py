"""`sfumato store check` and `repair`: what was lost is told, and comes back."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from commands import sfumato
from served import Serve, files_of, refused
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.service.database import NAME, Database
from sfumato.service.keys import Keys
from sfumato.service.labels import LABEL
from sfumato.service.recovery import StoreLock
from sfumato.service.storage import Store
from store_losses import (
    contents,
    rows_of,
    start,
    store_with_maps,
)


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


@pytest.mark.parametrize("text", ["{not json", "[]", '"text"', '{"extractor": 3}', "null"])
def test_a_row_that_was_edited_by_hand_is_a_finding_and_comes_back_from_the_label(
    serve: Serve, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    ids = store_with_maps(serve, 2)
    before = rows_of(serve.store)
    edited = edit_row(serve.store, text)
    assert sfumato("store", "check", serve.store) == 1
    assert f"the row of the map {edited} in metadata.db is damaged" in capsys.readouterr().out
    assert sfumato("store", "repair", serve.store, "--apply") == 0
    assert rows_of(serve.store) == before
    assert edit_row(serve.store, text) == edited
    assert start(serve) == ids  # `serve` mends it as well
    assert rows_of(serve.store) == before


def test_an_edited_row_without_a_label_is_quarantined_and_the_others_are_served(
    serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = store_with_maps(serve, 2)
    edited = edit_row(serve.store, "{not json")
    (serve.store / "maps" / edited / LABEL).unlink()
    assert sfumato("store", "repair", serve.store) == 0
    assert "it has no label.json" in capsys.readouterr().out
    assert start(serve) == ids - {edited}
    assert (serve.store / "quarantine" / edited).is_dir()
    served = serve()
    assert len(served.client.get("/v1/maps", headers=served.owner).json()["maps"]) == 1


def test_a_row_that_is_edited_while_it_is_served_hides_no_other(serve: Serve) -> None:
    served = serve()
    for name in ("one", "two"):
        served.map_id(name)
    edited = edit_row(serve.store, "{not json")
    assert len(served.client.get("/v1/maps", headers=served.owner).json()["maps"]) == 1
    refused(served.client.get(f"/v1/maps/{edited}", headers=served.owner), 500, "tell the operator")


def edit_row(store: Path, text: str) -> str:
    """Change the JSON of the first map's row; its id."""
    with closing(sqlite3.connect(store / NAME, isolation_level=None)) as database:
        (edited,) = database.execute("SELECT id FROM maps ORDER BY id").fetchone()
        database.execute("UPDATE maps SET info = ? WHERE id = ?", (text, edited))
    return str(edited)
