"""Whole or absent; damage is noticed."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import numpy as np
import pytest

from sfumato.core import storage
from sfumato.core.errors import CannotWrite, DamagedFile, InvalidInput, SfumatoError
from sfumato.core.storage import (
    load_array,
    load_manifest,
    new_directory,
    save_arrays,
    write_file,
)


def stored(folder: Path) -> Path:
    arrays = {"a": np.arange(50), "b": np.eye(3)}
    path = folder / "thing"
    save_arrays(path, arrays, {"kind": "thing", "note": "ε"}, files={"extra.bin": b"12345"})
    return path


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    manifest = load_manifest(path, kind="thing")
    return load_array(path, "a", manifest), load_array(path, "b", manifest)


def test_arrays_come_back_memory_mapped(tmp_path: Path) -> None:
    a, b = read(stored(tmp_path))
    assert (a == np.arange(50)).all()
    assert (b == np.eye(3)).all()
    assert isinstance(a.base, np.memmap) or isinstance(a, np.memmap)
    assert [item.name for item in tmp_path.iterdir()] == ["thing"]


@pytest.mark.parametrize("name", ["a.npy", "b.npy", "manifest.json"])
def test_any_flipped_byte_is_noticed(tmp_path: Path, name: str) -> None:
    path = stored(tmp_path)
    data = (path / name).read_bytes()
    for place in range(0, len(data), 7):
        flipped = bytearray(data)
        flipped[place] ^= 1
        (path / name).write_bytes(flipped)
        with pytest.raises(SfumatoError):
            read(path)
    (path / name).write_bytes(data)
    read(path)


@pytest.mark.parametrize("name", ["a.npy", "manifest.json"])
def test_a_truncated_file_is_noticed(tmp_path: Path, name: str) -> None:
    path = stored(tmp_path)
    data = (path / name).read_bytes()
    (path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(DamagedFile, match="damaged"):
        read(path)
    (path / name).unlink()
    with pytest.raises(SfumatoError, match=r"missing|no manifest"):
        read(path)


def test_another_kind_is_named(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with pytest.raises(InvalidInput, match="holds a 'thing', a 'map' is needed"):
        load_manifest(path, kind="map")
    with pytest.raises(InvalidInput, match=r"no manifest\.json"):
        load_manifest(tmp_path, kind="map")


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def fail_half_way() -> None:
        with new_directory(tmp_path / "new") as folder:
            (folder / "half").write_text("half")
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        fail_half_way()
    assert list(tmp_path.iterdir()) == []


def test_what_exists_is_replaced_only_when_asked(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with pytest.raises(InvalidInput, match="exists already"):
        save_arrays(path, {}, {"kind": "thing"})
    save_arrays(path, {"c": np.zeros(1)}, {"kind": "thing"}, replace=True)
    assert sorted(item.name for item in path.iterdir()) == ["c.npy", "manifest.json"]
    assert [item.name for item in tmp_path.iterdir()] == ["thing"]


def test_files_are_written_whole(tmp_path: Path) -> None:
    write_file(tmp_path / "x", b"one")
    write_file(tmp_path / "x", b"two")
    assert (tmp_path / "x").read_bytes() == b"two"
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(InvalidInput, match="does not exist"):
        write_file(tmp_path / "nowhere" / "x", b"")


def test_the_manifest_is_readable_by_people(tmp_path: Path) -> None:
    text = (stored(tmp_path) / "manifest.json").read_text(encoding="utf-8")
    assert "ε" in text
    assert set(json.loads(text)["files"]) == {"a.npy", "b.npy", "extra.bin"}


def test_a_file_is_on_the_disk_before_it_is_renamed_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def sync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        done.append(f"sync {kind} of {os.fstat(descriptor).st_size if kind == 'file' else 0}")
        fsync(descriptor)

    def rename(self: Path, target: Path) -> Path:
        done.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", rename)
    storage.write_file(tmp_path / "x", b"12345")
    assert done == ["sync file of 5", "rename", "sync folder of 0"]


def test_a_file_that_is_made_first_has_room_and_is_seen_when_it_is_whole(tmp_path: Path) -> None:
    with storage.NewFile(tmp_path / "x") as file:
        file.reserve(100_000)
        (draft,) = tmp_path.iterdir()
        assert draft.stat().st_blocks * 512 >= 100_000
        assert draft.name.startswith(storage.TEMPORARY)
        file.finish(b"short")
    assert (tmp_path / "x").read_bytes() == b"short"
    with storage.NewFile(tmp_path / "y") as file:
        file.reserve(10)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link"):
        with pytest.raises(InvalidInput, match="not a regular file"):
            storage.write_file(tmp_path / name, b"data")
    with pytest.raises(InvalidInput, match="cannot be written"):
        storage.write_file(tmp_path / ("x" * 300), b"data")


def test_a_disk_that_is_full_is_said_of_the_folder_that_was_written(tmp_path: Path) -> None:
    with (
        pytest.raises(CannotWrite, match=r"town cannot be written \(No space left") as caught,
        new_directory(tmp_path / "town"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")  # as a stream's write: no file named
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.iterdir())
