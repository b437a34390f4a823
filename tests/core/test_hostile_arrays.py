"""A stored array may come from a stranger, with checksums that fit: nothing in it is ever run."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.storage import file_checksum, load_array, load_manifest


class Harmful:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


def write_pickle(folder: Path, trap: Path) -> None:
    (folder / "a.npy").write_bytes(pickle.dumps(Harmful(trap)))


def write_objects(folder: Path, trap: Path) -> None:
    np.save(folder / "a.npy", np.array([Harmful(trap)], dtype=object), allow_pickle=True)


def write_archive(folder: Path, trap: Path) -> None:
    with (folder / "a.npy").open("wb") as file:
        np.savez(file, a=np.zeros(3))


def write_nothing(folder: Path, trap: Path) -> None:
    (folder / "a.npy").write_bytes(b"")


@pytest.mark.parametrize("write", [write_pickle, write_objects, write_archive, write_nothing])
@pytest.mark.parametrize("verify", [True, False])
def test_what_is_no_plain_array_is_refused_and_not_run(
    tmp_path: Path, write: Callable[[Path, Path], None], verify: bool
) -> None:
    trap = tmp_path / "trap"
    write(tmp_path, trap)
    manifest = {"files": {"a.npy": file_checksum(tmp_path / "a.npy")}}
    with pytest.raises(DamagedFile):
        load_array(tmp_path, "a", manifest, verify=verify)
    assert not trap.exists()


def test_a_file_is_no_stored_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(InvalidInput, match="it is a file"):
        load_manifest(tmp_path / "file", kind="map")
