""".npy files: what NumPy writes is read, hostile headers are refused before memory is asked for."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hostile_files import NPY_HOSTILE, npy, npy_header, sign_manifest
from sfumato.core.arrays import read_arrays
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.storage import load_array, load_manifest, save_arrays


def stored(folder: Path, data: bytes) -> Path:
    """A stored directory with this file as its array, and a manifest that agrees."""
    save_arrays(folder, {"a": np.arange(3)}, {"kind": "thing"}, replace=True)
    (folder / "a.npy").write_bytes(data)
    return sign_manifest(
        folder, {"kind": "thing", "files": {"a.npy": hashlib.sha256(data).hexdigest()}}
    )


@pytest.mark.parametrize("kind", NPY_HOSTILE)
@pytest.mark.parametrize("verify", [True, False])
def test_hostile_headers_are_refused_in_a_stored_folder(
    tmp_path: Path, kind: str, verify: bool
) -> None:
    folder = stored(tmp_path / "d", NPY_HOSTILE[kind])
    manifest = load_manifest(folder, kind="thing")
    with pytest.raises(DamagedFile, match=r"a\.npy is damaged and cannot be mapped") as refused:
        load_array(folder, "a", manifest, verify=verify)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", NPY_HOSTILE)
def test_hostile_headers_are_refused_alone_and_in_archives(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.npy").write_bytes(NPY_HOSTILE[kind])
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", NPY_HOSTILE[kind])
    for name in ("a.npy", "a.npz"):
        with pytest.raises(InvalidInput, match=r"is not a readable \.npz or \.npy") as refused:
            read_arrays(tmp_path / name)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4),
        np.asfortranarray(np.arange(24, dtype=np.int16).reshape(4, 6)),
        np.array(3.5),
        np.zeros((0, 3), np.float32),
        np.zeros((3, 0), np.uint8, order="F"),
        np.array(["a", "bcd"]),
        np.array([True, False]),
        np.arange(5, dtype=">f8"),
        np.zeros((1,) * 20),
    ],
)
def test_every_array_that_numpy_writes_is_read_and_mapped(
    tmp_path: Path, array: np.ndarray[Any, Any]
) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array)
    folder = stored(tmp_path / "d", buffer.getvalue())
    mapped = load_array(folder, "a", load_manifest(folder, kind="thing"))
    alone = read_arrays(folder / "a.npy")["array"]
    for found in (mapped, alone):
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)
        assert found.flags.f_contiguous == array.flags.f_contiguous


@pytest.mark.parametrize(
    "header",
    [
        "{'shape': (2,), 'fortran_order': False, 'descr': '<f8'}",
        "{'descr':'<f8','fortran_order':False,'shape':(2,)}\n",
        npy_header("( 2 , )").ljust(500),
    ],
)
def test_other_programs_may_space_and_order_it_otherwise(tmp_path: Path, header: str) -> None:
    (tmp_path / "a.npy").write_bytes(npy(header, np.arange(2.0).tobytes()))
    assert read_arrays(tmp_path / "a.npy")["array"].tolist() == [0, 1]


def test_a_packed_archive_unpacks_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1000), b=np.zeros(1000))
    assert len(read_arrays(tmp_path / "a.npz")) == 2
    monkeypatch.setattr("sfumato.core.arrays.MAX_UNPACKED", 16_000)
    with pytest.raises(InvalidInput, match="2 arrays of 16256 bytes are too many"):
        read_arrays(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a.npy", b"x")
    with pytest.raises(InvalidInput, match=r"a kind of \.npz archive that is not read"):
        read_arrays(tmp_path / "b.npz")
