"""What is written is on the disk before it is shown: content, then name, then folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import SfumatoError
from sfumato.core.storage import new_directory, save_arrays, write_file
from watched_disk import OPEN_FILES, Disk


def test_a_file_is_synced_before_it_is_renamed_and_its_folder_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(monkeypatch)
    write_file(tmp_path / "file", b"x" * 1000)
    kind, name, size = disk.events[0]
    assert kind == "sync"
    assert Path(name).name.startswith(".tmp-")
    assert size == 1000  # flushed before it was synced
    renamed = disk.place("rename", str(tmp_path / "file"))
    assert 0 < renamed < disk.place("sync", str(tmp_path))


@pytest.mark.parametrize("replace", [False, True])
def test_a_directory_and_its_files_are_synced_before_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    path = tmp_path / "thing"
    if replace:
        save_arrays(path, {"a": np.zeros(3)}, {"kind": "thing"})
    disk = Disk(monkeypatch)
    save_arrays(
        path, {"a": np.zeros(9)}, {"kind": "thing"}, files={"b.bin": b"12"}, replace=replace
    )
    shown = disk.place("rename", str(path))
    synced = {Path(name).name for kind, name, _ in disk.events[:shown] if kind == "sync"}
    assert {"a.npy", "b.bin", "manifest.json"} <= synced
    assert any(name.startswith(".tmp-") for name in synced)  # the directory itself
    assert disk.place("sync", str(tmp_path)) > shown
    assert sorted(item.name for item in tmp_path.iterdir()) == ["thing"]
    assert (path / "b.bin").read_bytes() == b"12"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    before = 0
    for attempt in range(20):
        write_file(tmp_path / "file", b"x")
        save_arrays(tmp_path / "thing", {"a": np.zeros(3)}, {"kind": "thing"}, replace=True)
        if attempt == 4:  # what is loaded at the first use is open by now
            before = len(list(OPEN_FILES.iterdir()))
    # Others in this process may open or close a file meanwhile; a leak would leave 15 or more.
    assert len(list(OPEN_FILES.iterdir())) < before + 8


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_file(tmp_path / "file", b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises((OSError, SfumatoError)):
        write_file(tmp_path / "file", b"new")
    assert [item.name for item in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_directory_is_not_replaced_unless_told(tmp_path: Path) -> None:
    save_arrays(tmp_path / "a" / "b" / "thing", {"a": np.zeros(3)}, {"kind": "thing"})
    with pytest.raises(SfumatoError, match="exists already"):
        save_arrays(tmp_path / "a" / "b" / "thing", {"a": np.ones(3)}, {"kind": "thing"})
    with pytest.raises(SfumatoError, match="exists already"), new_directory(tmp_path / "a"):
        pass
