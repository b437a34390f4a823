"""Stores of other versions: older ones are brought up to date, newer ones are left alone."""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from commands import sfumato
from served import Serve, bearer, refused
from sfumato.core.errors import InvalidInput
from sfumato.service import schema
from sfumato.service.database import NAME, Database
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.keys import Keys
from sfumato.service.labels import read_label
from sfumato.service.recovery import recover
from sfumato.service.schema import VERSION
from sfumato.service.storage import Store

#: Written by the first version: a key of each role, the second one revoked, and a small map.
OLD = Path(__file__).with_name("data") / "store-v1.tar.gz"
OWNER = "sfk_d72b741af23818fa_Z2iZfH9nzrbweVhg3VECFYBWMnGpatDw_QTy_JUdHec"
REVOKED = "sfk_3184ffa8768c5d0e_daQDBuQM8wGg55VcQkO4oYBF9uLeScY7KjeAu28wyk8"
MAP = "DwHkhIBh6KJGyneBFxm9Wg"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(OLD) as tar:
        tar.extractall(tmp_path / "store", filter="data")
    return tmp_path / "store"


def version_in(folder: Path) -> int:
    with closing(sqlite3.connect(folder / NAME)) as database:
        return schema.version_of(database)


def test_a_store_of_the_first_version_opens_migrates_and_serves(old: Path, serve: Serve) -> None:
    assert version_in(old) == 1
    store = Store(old)
    recover(store, Dictionaries((str(serve.world.words),)))
    assert version_in(old) == VERSION
    assert read_label(store.folder_of(MAP)).name == "hall"
    store.database.close()
    served = serve()  # on the same folder
    (entry,) = served.client.get("/v1/maps", headers=bearer(OWNER)).json()["maps"]
    assert (entry["id"], entry["name"], entry["num_points"]) == (MAP, "hall", 120)
    asked = served.localize(MAP, served.world.release, headers=bearer(OWNER))
    assert asked.status_code == 200
    refused(served.client.get("/v1/maps", headers=bearer(REVOKED)), 401, "valid key")
    assert served.upload("new", headers=bearer(OWNER)).status_code == 201
    erased = served.client.delete(f"/v1/maps/{MAP}", headers=bearer(OWNER))
    assert erased.status_code == 204


def test_a_migration_happens_whole_or_not_at_all(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(schema._STEPS, 1, schema._STEPS[1] + "SELECT no_such_function()")
        with pytest.raises(InvalidInput, match="cannot be used"):
            Database(old)
    assert version_in(old) == 1
    database = Database(old)
    assert [key.expires for key in Keys(database).all()] == [None, None]
    assert version_in(old) == VERSION
    database.close()


def test_an_older_store_is_not_changed_by_a_reader(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidInput, match=r"version 1.*serve.*up to date"):
        Database(old, read_only=True)
    assert sfumato("store", "check", old) == 2
    assert "version 1" in capsys.readouterr().err
    assert version_in(old) == 1


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_store_is_refused_and_keeps_its_version(tmp_path: Path, read_only: bool) -> None:
    with closing(Database(tmp_path)) as made:
        made.connection().execute(f"PRAGMA user_version = {VERSION + 1}")
    before = (tmp_path / NAME).read_bytes()
    for _ in range(2):
        with pytest.raises(InvalidInput, match=f"version {VERSION + 1}.*update sfumato"):
            Database(tmp_path, read_only=read_only)
    assert (tmp_path / NAME).read_bytes() == before


@pytest.mark.usefixtures("undisturbed")
def test_every_command_refuses_a_newer_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    with closing(Database(store)) as made:
        made.connection().execute(f"PRAGMA user_version = {VERSION + 1}")
    (store / "maps").mkdir()
    for words in (
        ("keys", "list", "--store", store),
        ("keys", "create", "--store", store, "--tenant", "a"),
        ("store", "check", store),
        ("store", "repair", store, "--apply"),
        ("store", "backup", store, tmp_path / "copy"),
        ("store", "restore", store, tmp_path / "copy"),
        ("serve", "--store", store, "--read-only"),
        ("serve", "--store", store),
    ):
        assert sfumato(*words) == 2, words
        shown = capsys.readouterr().err
        assert f"version {VERSION + 1}" in shown
        assert len(shown.strip().splitlines()) == 1
    assert version_in(store) == VERSION + 1
    assert not (tmp_path / "copy").exists()


def test_a_migrated_store_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    def columns(folder: Path) -> list[tuple[str, ...]]:
        with closing(Database(folder)) as database:
            asked = "SELECT t.name, c.* FROM pragma_table_list t, pragma_table_info(t.name) c"
            return sorted(tuple(map(str, row)) for row in database.connection().execute(asked))

    assert columns(old) == columns(tmp_path / "new")
