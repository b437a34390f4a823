"""A backup fits together, also of a store that is being served; a restore overwrites nothing."""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato, sfumato_json
from served import Serve, Served, bearer
from sfumato.core.errors import DamagedFile
from sfumato.service import backup
from sfumato.service.database import NAME
from sfumato.service.storage import Store

OLD = Path(__file__).with_name("data") / "store-v1.tar.gz"


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_a_store_comes_back_from_its_backup(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = serve()
    room = served.map_id("hall")
    made = sfumato_json("store", capsys, "backup", serve.store, tmp_path / "copy")
    assert (made["maps"], made["linked"]) == (1, True)
    before = files(serve.store / "maps")
    serve.close()
    shutil.rmtree(serve.store)
    assert files(tmp_path / "copy" / "maps") == before  # links live on
    assert sfumato("store", "check", tmp_path / "copy") == 0
    capsys.readouterr()
    assert sfumato_json("store", capsys, "restore", tmp_path / "copy", serve.store)["maps"] == 1
    again = serve()
    (entry,) = again.client.get("/v1/maps", headers=served.owner).json()["maps"]
    assert (entry["id"], entry["name"]) == (room, "hall")
    assert again.localize(room, served.world.release, headers=served.query).json()["localized"]
    # What happens to the store does not happen to the backup.
    with (serve.store / "maps" / room / "points.npy").open("r+b") as file:
        file.write(b"damage")
    assert files(tmp_path / "copy" / "maps") == before


def test_a_backup_can_be_served_read_only(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    room = served.map_id()
    assert sfumato("store", "backup", serve.store, tmp_path / "copy") == 0
    assert not list((tmp_path / "copy").glob(f"{NAME}-*"))
    reader = Store(tmp_path / "copy", read_only=True)
    assert reader.ids() == {room}
    assert reader.keys.find(served.query["Authorization"].removeprefix("Bearer ")) is not None
    reader.database.close()


def test_backups_taken_while_maps_come_and_go_are_whole(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    served.map_id("stays")
    ended = threading.Event()

    def change() -> None:
        number = 0
        while not ended.is_set():
            gone = served.map_id(f"map {number}")
            served.client.delete(f"/v1/maps/{gone}", headers=served.owner)
            number += 1

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for number in range(5):
            copy = tmp_path / f"copy {number}"
            assert sfumato("store", "backup", serve.store, copy) == 0
            assert sfumato("store", "check", copy) == 0
            assert "stays" in {row.name for row in Store(copy, read_only=True).all()}
    finally:
        ended.set()
        changing.join()


def test_a_map_deleted_during_the_backup_is_not_in_it(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    kept, gone = served.map_id("kept"), served.map_id("gone")
    real = backup._copy_map

    def late(source: Path, target: Path, **more: Any) -> Any:
        if source.name == gone:
            served.service.store.remove("a", gone)
        return real(source, target, **more)

    monkeypatch.setattr(backup, "_copy_map", late)
    assert backup.back_up(serve.store, tmp_path / "copy").maps == 1
    copy = Store(tmp_path / "copy", read_only=True)
    assert copy.ids() == {kept}
    assert {path.name for path in copy.maps.iterdir()} == {kept}
    copy.database.close()


def test_nothing_damaged_is_backed_up_or_restored(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    room = served.map_id()
    assert sfumato("store", "backup", serve.store, tmp_path / "good") == 0
    assert sfumato("store", "restore", tmp_path / "good", tmp_path / "copied") == 0
    for folder, work in ((serve.store, backup.back_up), (tmp_path / "copied", backup.restore)):
        spoilt = folder / "maps" / room / "points.npy"
        spoilt.unlink()
        spoilt.write_bytes(b"x")
        with pytest.raises(DamagedFile, match="cannot be copied whole"):
            work(folder, tmp_path / "target")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["copied", "good", "store"]


def test_nothing_is_overwritten(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served.map_id()
    store = served.service.store.folder
    assert sfumato("store", "backup", store, tmp_path / "copy") == 0
    (tmp_path / "file").write_text("x")
    for source, verb, target in (
        (store, "backup", tmp_path / "copy"),
        (tmp_path / "copy", "restore", store),
        (tmp_path / "copy", "restore", tmp_path / "file"),
    ):
        before = files(tmp_path)
        assert sfumato("store", verb, source, target) == 2
        assert "not empty" in capsys.readouterr().err
        assert files(tmp_path) == before
    (tmp_path / "empty").mkdir()
    assert sfumato("store", "restore", tmp_path / "copy", tmp_path / "empty") == 0
    assert sfumato("store", "backup", tmp_path / "none", tmp_path / "x") == 2
    assert "not a store" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_backup_of_the_first_version_can_be_restored(tmp_path: Path, serve: Serve) -> None:
    with tarfile.open(OLD) as tar:
        tar.extractall(tmp_path / "old", filter="data")
    before = files(tmp_path / "old")
    assert sfumato("store", "restore", tmp_path / "old", serve.store) == 0
    assert files(tmp_path / "old") == before
    owner = bearer("sfk_d72b741af23818fa_Z2iZfH9nzrbweVhg3VECFYBWMnGpatDw_QTy_JUdHec")
    (entry,) = serve().client.get("/v1/maps", headers=owner).json()["maps"]
    assert entry["name"] == "hall"


def test_mounts_that_cannot_be_linked_are_copied(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two mounts of one file system have one device number, and refuse links between them."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    served = serve()
    room = served.map_id()
    monkeypatch.setattr(os, "link", refuse)
    assert sfumato("store", "backup", serve.store, tmp_path / "copy") == 0
    assert (tmp_path / "copy" / "maps" / room / "points.npy").is_file()
