"""A real disk that is full: a small tmpfs. Queries go on, nothing is lost, sentences are clear."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from commands import sfumato
from served import Serve, World, refused
from sfumato.service.database import Database
from sfumato.service.keys import Keys

_INSIDE = "TESTS_IN_NAMESPACE"  # SFUMATO_… would be a setting


def _can(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[bool]:
    folder.mkdir()
    done = _can("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder))
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A disk of 12 MiB; where mounting is not allowed the test runs again where it is."""
    with mounted(tmp_path / "disk", "12m") as done:
        if done:
            yield tmp_path / "disk"
            return
    if os.environ.get(_INSIDE) or not _can("unshare", "-rm", "true"):
        pytest.skip("neither mount nor unshare -rm is allowed here: no small disk can be made")
    again = subprocess.run(
        ["unshare", "-rm", sys.executable, "-m", "pytest", "-q", request.node.nodeid],
        cwd=request.config.rootpath,
        env={**os.environ, _INSIDE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stdout
    assert "1 passed" in again.stdout
    pytest.skip("passed in a mount namespace of its own")


@pytest.fixture
def on_disk(world: World, disk: Path) -> Iterator[Serve]:
    made = Serve(world, disk / "store")
    yield made
    made.close()


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Not one byte more fits."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue
    try:
        yield
    finally:
        filler.unlink()


def test_an_upload_onto_a_full_disk_changes_nothing_and_queries_go_on(
    on_disk: Serve, disk: Path
) -> None:
    served = on_disk()
    room = served.map_id("room")
    ready = served.client.get("/readyz").json()
    assert ready == {"status": "ready", "writable": True, "reason": None}
    with full(disk):
        refused(served.upload("more"), 507, "no room")
        assert served.localize(room, served.world.release).json()["localized"] is True
        answer = served.client.get("/readyz")
        assert answer.status_code == 200
        assert answer.json()["writable"] is False
        assert "the disk is full" in answer.json()["reason"]
        listed = served.client.get("/v1/maps", headers=served.owner).json()["maps"]
        assert [entry["name"] for entry in listed] == ["room"]
    assert served.client.get("/readyz").json()["writable"] is True
    assert served.upload("more").status_code == 201
    assert not list(served.service.store.incoming.iterdir())


def test_a_disk_that_fills_up_during_an_upload_leaves_nothing_of_it(
    on_disk: Serve, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = on_disk()
    room = served.map_id("room")
    commit = served.service.store.commit

    def late(*arguments: object) -> None:
        with full(disk):
            commit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(served.service.store, "commit", late)
    refused(served.upload("more"), 507, "no room")
    assert served.service.store.ids() == {room}
    assert [path.name for path in served.service.store.maps.iterdir()] == [room]


def test_a_key_on_a_full_disk_is_made_whole_or_not_at_all(
    on_disk: Serve, disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on_disk()
    count = len(Keys(Database(on_disk.store)).all())
    words = ("keys", "create", "--store", on_disk.store, "--tenant", "a")
    with full(disk):
        for file in (disk / "x.key", tmp_path / "x.key"):
            assert sfumato(*words, "-o", file) == 2
            shown = capsys.readouterr().err.strip()
            assert len(shown.splitlines()) == 1
            assert "full" in shown or "No space" in shown
            assert not file.exists()
        assert sfumato(*words) == 2
        out, told = capsys.readouterr()
        assert "full" in told
        assert "sfk_" not in out
    assert len(Keys(Database(on_disk.store)).all()) == count
    assert sfumato(*words) == 0


def serve_once(world: World, store: Path, *words: str) -> tuple[int, str]:
    """Start the real command and stop it in order; exit code and the end of its log."""
    command = [sys.executable, "-c", "from sfumato.cli.app import main; main()", "serve"]
    command += ["--store", str(store), "--dictionary", str(world.words), "--port", "0", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # ready, or ended
        process.terminate()
        return process.wait(300), process.communicate()[1].strip()


def test_a_start_on_a_full_disk_is_refused_or_read_only_and_loses_nothing(
    serve: Serve, disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = serve()
    ids = {served.map_id("one"), served.map_id("two")}
    store = disk / "store"
    assert sfumato("store", "backup", serve.store, disk / "copy") == 0
    (disk / "copy").rename(store)
    with full(disk):
        code, told = serve_once(served.world, store)
        assert code == 2
        assert "is full and nothing was changed; make room" in told
        assert len(told.splitlines()) == 1
        assert serve_once(served.world, store, "--read-only")[0] == 0
        assert sfumato("store", "repair", store, "--apply") == 2
        assert "is full" in capsys.readouterr().err
        assert not (store / "lost").exists()  # a full disk is no damaged database
    assert serve_once(served.world, store)[0] == 0
    with closing(Database(store, read_only=True)) as database:
        assert {row[0] for row in database.connection().execute("SELECT id FROM maps")} == ids
        assert len(Keys(database).all()) == 3
    assert {path.name for path in (store / "maps").iterdir()} == ids


def test_a_backup_onto_a_full_disk_leaves_nothing(
    world: World, disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = (made := Serve(world, tmp_path / "store"))()
    served.map_id()
    with full(disk):
        assert sfumato("store", "backup", made.store, disk / "copy") == 2
        shown = capsys.readouterr().err.strip()
        assert len(shown.splitlines()) == 1
        assert [path.name for path in disk.iterdir()] == ["filler"]
    assert sfumato("store", "backup", made.store, disk / "copy") == 0
    assert "copied" in capsys.readouterr().out  # another file system: no links
    made.close()
