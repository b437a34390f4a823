"""What a crash leaves behind is put right; what was acknowledged is still there."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from served import Serve, Served
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.storage import TEMPORARY
from sfumato.server.mapping import filing
from sfumato.service.database import NAME, Database
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import ServiceError, from_storage
from sfumato.service.labels import LABEL
from sfumato.service.recovery import StoreLock, recover
from sfumato.service.storage import Store


def restart(served: Served) -> Store:
    store = Store(served.service.settings.store)
    recover(store, Dictionaries(served.service.settings.dictionaries))
    return store


def folder_state(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.startswith("plan")
    }


def test_a_healthy_store_is_left_as_it_is(served: Served) -> None:
    room = served.map_id()
    before = folder_state(served.service.store.folder_of(room))
    store = restart(served)
    assert store.ids() == {room}
    assert folder_state(store.folder_of(room)) == before


def test_leftovers_of_a_crash_are_erased_and_all_else_is_moved_aside(
    served: Served, tmp_path: Path
) -> None:
    room = served.map_id()
    store = served.service.store
    shutil.copytree(store.folder_of(room), store.maps / "unknown")
    shutil.copytree(store.folder_of(room), store.incoming / ".tmp-00")
    (store.incoming / "file").write_bytes(b"x")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "kept").write_bytes(b"x")
    (store.incoming / "link").symlink_to(precious)
    (store.incoming / ".tmp-01").symlink_to(precious)
    (store.incoming / ".tmp-02").write_bytes(b"x")
    restart(served)
    assert [path.name for path in store.maps.iterdir()] == [room]
    assert not list(store.incoming.iterdir())
    assert (precious / "kept").exists()
    assert sorted(path.name for path in store.aside.iterdir()) == ["file", "link", "unknown"]


def spoil(folder: Path) -> None:
    with (folder / "keypoints.npy").open("r+b") as file:
        file.seek(300)
        file.write(b"\xff\xff\xff")


def drop_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


@pytest.mark.parametrize("damage", [spoil, drop_manifest, shutil.rmtree])
def test_a_damaged_map_is_quarantined_and_the_others_are_served(
    served: Served, damage: Any
) -> None:
    good, bad = served.map_id("good"), served.map_id("bad")
    damage(served.service.store.folder_of(bad))
    store = restart(served)
    assert store.ids() == {good}
    assert served.localize(good, served.world.release).status_code == 200
    listed = served.client.get("/v1/maps", headers=served.owner).json()["maps"]
    assert [entry["id"] for entry in listed] == [good]
    assert served.upload("bad").status_code == 201  # its name is free again
    # The owner can still have what is left of it erased.
    erased = served.client.delete(f"/v1/maps/{bad}", headers=served.owner)
    assert erased.status_code == 204
    assert not list(store.quarantine.iterdir())


def test_a_damaged_index_is_made_anew(served: Served) -> None:
    room = served.map_id()
    folder = served.service.store.folder_of(room)
    before = folder_state(folder)
    for part in (*folder.glob("words-*"), folder / "derived"):
        (part / "manifest.json").write_text("{}")
    restart(served)
    assert folder_state(folder) == before


def test_a_new_dictionary_is_filed_at_start_up(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = served.map_id()
    folder = served.service.store.folder_of(room)
    before = folder_state(folder)
    for part in folder.glob("words-*"):
        shutil.rmtree(part)
    restart(served)
    assert folder_state(folder) == before

    def must_not_search(*_: Any) -> None:
        raise AssertionError("filed twice")

    monkeypatch.setattr(filing, "word_indices", must_not_search)
    restart(served)


@pytest.mark.parametrize("missing", ["derived", "words-*"])
def test_a_disk_without_room_is_no_reason_to_doubt_a_map(
    served: Served, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """At start-up what queries need is stored beside a map; without room it is served anyway."""
    room = served.map_id()
    for folder in served.service.store.folder_of(room).glob(missing):
        shutil.rmtree(folder)
    real = Path.mkdir

    def full(path: Path, *arguments: Any, **named: Any) -> None:
        if path.name.startswith(TEMPORARY):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        assert restart(served).ids() == {room}
    assert not list(served.service.store.quarantine.iterdir())
    assert restart(served).ids() == {room}


def test_a_crash_at_any_step_of_a_commit_loses_nothing_acknowledged(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop after each system call that changes the store; look at what a restart finds."""

    class PowerCutError(BaseException):
        pass

    kept = served.map_id("kept")
    steps = 0
    for stop_after in range(1, 200):
        calls = 0
        store = Store(served.service.settings.store)

        def counted(real: Any, limit: int = stop_after) -> Any:
            def call(*arguments: Any, **named: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls >= limit:
                    raise PowerCutError
                return real(*arguments, **named)

            return call

        draft = store.incoming / ".tmp-draft"
        shutil.copytree(store.folder_of(kept), draft, ignore=shutil.ignore_patterns(LABEL))
        key = served.service.store.keys.find(served.owner["Authorization"].removeprefix("Bearer "))
        assert key is not None
        done = False
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", counted(os.fsync))
            patch.setattr(Path, "rename", counted(Path.rename))
            patch.setattr(shutil, "rmtree", counted(shutil.rmtree))
            try:
                store.commit(draft, key, "new-map", "new", {"extractor": "tiny"})
                done = True
                store.remove("a", "new-map")
            except PowerCutError:
                pass
        after = restart(served)
        assert after.ids() in ({kept}, {kept, "new-map"})
        assert {path.name for path in after.maps.iterdir()} == after.ids()
        assert not list(after.incoming.iterdir())
        assert not list(after.aside.iterdir())  # whatever a crash leaves explains itself
        assert all((after.folder_of(one) / LABEL).exists() for one in after.ids())
        if "new-map" in after.ids():
            after.remove("a", "new-map")
        steps = stop_after
        if done and calls < stop_after:
            break
    assert steps > 10  # all of it was walked through, and it came to an end
    assert done


def test_two_services_do_not_share_a_store(tmp_path: Path) -> None:
    first, second = StoreLock(tmp_path), StoreLock(tmp_path)
    first.take_alone()
    first.share()
    with pytest.raises(InvalidInput, match="another sfumato serve"):
        second.take_alone(patience=0)
    worker = StoreLock(tmp_path)
    worker.share()
    first.close()
    with pytest.raises(InvalidInput, match="another sfumato serve"):
        second.take_alone(patience=0)
    worker.close()
    second.take_alone(patience=0)
    late = StoreLock(tmp_path)
    with pytest.raises(InvalidInput, match="just taken"):
        late.share()
    for lock in (second, late):
        lock.close()


def test_a_read_only_service_answers_and_changes_nothing(serve: Serve) -> None:
    writer = serve()
    room = writer.map_id()
    writer.service.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    reader = serve(read_only=True)
    answer = reader.localize(room, writer.world.release, headers=writer.query)
    assert answer.json()["localized"] is True
    refused = reader.upload("other", headers=writer.owner)
    assert (refused.status_code, refused.json()["error"]) == (507, "read-only")
    refused = reader.client.delete(f"/v1/maps/{room}", headers=writer.owner)
    assert refused.status_code == 507
    missing = reader.client.delete("/v1/maps/nothing", headers=writer.owner)
    assert missing.status_code == 404
    plan = reader.client.get(f"/v1/maps/{room}/plan?epsilon=3", headers=writer.owner)
    assert plan.json()["error"] == "no-plan"


def test_what_the_disk_says_becomes_one_sentence() -> None:
    cases: list[tuple[Any, int]] = [
        (OSError(errno.ENOSPC, "x"), 507),
        (OSError(errno.EROFS, "x"), 507),
        (OSError(errno.EIO, "x"), 507),
        (sqlite3.OperationalError("database or disk is full"), 507),
        (sqlite3.OperationalError("attempt to write a readonly database"), 507),
        (sqlite3.OperationalError("database is locked"), 503),
    ]
    for error, status in cases:
        answer = from_storage(error)
        assert isinstance(answer, ServiceError)
        assert answer.status == status
        assert ("Retry-After" in answer.headers) is (status == 503)


def test_a_store_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a store"):
        Database(tmp_path, read_only=True)
    (tmp_path / NAME).write_bytes(b"this is not a database" * 100)
    with pytest.raises(DamagedFile, match="restore"):
        Database(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InvalidInput, match="cannot be used"):
        Database(tmp_path / "file" / "store")
    newer = Database(tmp_path / "newer")
    newer.connection().execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(InvalidInput, match="version 9"):
        Database(tmp_path / "newer", read_only=True)
