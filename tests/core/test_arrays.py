"""Arrays in files: whole or absent, and never more than is there."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.core.arrays import read_arrays, write_arrays
from sfumato.core.errors import InvalidInput


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = {
        "numbers": np.arange(6.0).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "name": np.array("text"),
        "flag": np.array(True),
        "none": np.zeros((0, 3)),
    }
    write_arrays(tmp_path / "a.npz", arrays)
    found = read_arrays(tmp_path / "a.npz")
    assert set(found) == set(arrays)
    for name, value in arrays.items():
        assert np.array_equal(found[name], value)
        assert found[name].dtype == value.dtype
    np.save(tmp_path / "b.npy", arrays["numbers"])
    assert read_arrays(tmp_path / "b.npy")["array"].tolist() == arrays["numbers"].tolist()


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


HUGE = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }")


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, data in members.items():
            made.writestr(f"{name}.npy", data)
    return buffer.getvalue()


def pickled() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nothing of the kind",
        HUGE,
        archive(a=HUGE),
        archive(a=b"\x93NUMPY\x09\x00"),
        archive(a=b""),
        archive(a=npy("{'descr': '<f8', 'shape': 3}")),
        archive(a=npy("__import__('os').getcwd()")),
        pickled(),
        archive(a=pickled()),
        archive(a=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", bytes(9))),
        archive(a=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", bytes(8))),
        archive(**{f"a{i}": b"" for i in range(300)}),
        archive(a=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", bytes(8)))[:-30],
    ],
)
def test_hostile_files_are_refused_in_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(InvalidInput, match="npz") as caught:
        read_arrays(tmp_path / "x.npz")
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        read_arrays(tmp_path / "none.npz")
    objects: Any = {"a": np.array([{}], dtype=object)}
    with pytest.raises(ValueError, match="Object arrays"):
        write_arrays(tmp_path / "o.npz", objects)
    assert not list(tmp_path.iterdir())
