"""Temporary files of a service: in one folder, gone after a kill, and nothing else is erased."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sfumato.service import run
from sfumato.service.settings import Settings
from sfumato.service.storage import Store
from small_disk import on_read_only_disk


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    Store(tmp_path / "store").database.close()
    return Settings(store=tmp_path / "store")


def test_temporary_files_lie_in_the_run_folder_while_the_service_runs(settings: Settings) -> None:
    before = tempfile.gettempdir(), os.environ.get("TMPDIR")
    with run._run_folder(settings) as folder:
        assert Path(tempfile.mkdtemp()).parent == folder
        assert os.environ["TMPDIR"] == str(folder)  # workers are processes of their own
        assert (settings.store / "run").readlink() == folder
    assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == before
    assert not folder.exists()
    assert not (settings.store / "run").is_symlink()


def test_the_next_start_removes_what_a_killed_service_left(settings: Settings) -> None:
    left = Path(tempfile.mkdtemp(prefix="sfumato-run-"))
    (left / "pymp-abc").mkdir()
    (settings.store / "run").symlink_to(left)
    with run._run_folder(settings):
        assert not left.exists()


def test_a_folder_named_run_that_is_the_users_is_left_alone(settings: Settings) -> None:
    mine = settings.store / "run"
    mine.mkdir()
    (mine / "diary.txt").write_text("mine")
    with run._run_folder(settings) as folder:
        assert folder.is_dir()
    assert (mine / "diary.txt").read_text() == "mine"


def test_a_link_named_run_that_leads_elsewhere_loses_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "photos"
    elsewhere.mkdir()
    (settings.store / "run").symlink_to(elsewhere)
    with run._run_folder(settings):
        assert elsewhere.is_dir()
    assert elsewhere.is_dir()


def test_the_folder_of_version_1_is_removed(settings: Settings) -> None:
    old = settings.store / "run"
    (old / "metrics").mkdir(parents=True)
    (old / "metrics" / "counter_1.db").touch()
    (old / "rates.db-wal").touch()
    with run._run_folder(settings) as folder:
        assert old.readlink() == folder


def test_a_folder_whose_name_is_too_long_for_a_socket_is_not_used() -> None:
    with run._temporary_files_in("/tmp/" + 100 * "x"):
        assert not tempfile.gettempdir().endswith("x")


def test_serving_from_a_read_only_disk_suggests_the_option(settings: Settings) -> None:
    script = """
sys.stderr = sys.stdout
print(command("serve", "--store", disk, "--port", 0))
"""
    said = on_read_only_disk(settings.store, script).splitlines()
    assert said[-1] == "2"
    assert "is read-only; `sfumato serve --read-only`" in " ".join(said)
