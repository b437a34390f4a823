"""Locks: one process at a time, and nothing of a killed one is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.locks import lock_folder, try_lock
from sfumato.core.storage import TEMPORARY


def test_a_folder_is_locked_once_and_cleared_of_leftovers(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    (folder / f"{TEMPORARY}a").mkdir(parents=True)
    (folder / f"{TEMPORARY}b").write_bytes(b"half")
    (folder / "kept").write_bytes(b"whole")
    lock = lock_folder(folder, "building")
    assert [path.name for path in folder.iterdir()] == ["kept"]
    with pytest.raises(InvalidInput, match=r"another process is building in .*; wait for it"):
        lock_folder(folder, "building")
    os.close(lock)
    os.close(lock_folder(folder, "building"))


def test_a_lock_is_shared_with_those_who_share(tmp_path: Path) -> None:
    first, second, third = (os.open(tmp_path, os.O_RDONLY) for _ in range(3))
    assert try_lock(first, shared=True)
    assert try_lock(second, shared=True)
    assert not try_lock(third)
    for file in (first, second):
        os.close(file)
    assert try_lock(third)
    os.close(third)
