"""The idx files of MNIST: strict, compressed or not."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, Missing
from sfumato.datasets.idx import read_idx, read_split


def idx(array: np.ndarray) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(np.uint8).tobytes()
    )


PICTURES = np.arange(5 * 3 * 4).reshape(5, 3, 4)
LABELS = np.array([3, 1, 4, 1, 5])


def test_a_split_is_read_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(PICTURES))
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS)))
    found = read_split(tmp_path, "train")
    assert found.pictures.tolist() == PICTURES.tolist()
    assert found.labels.tolist() == LABELS.tolist()
    assert len(found) == 5
    with pytest.raises(Missing, match="t10k-images"):
        read_split(tmp_path, "t10k")
    with pytest.raises(InvalidInput, match="train or t10k"):
        read_split(tmp_path, "test")
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS[:4])))
    with pytest.raises(InvalidInput, match="5 pictures but 4 labels"):
        read_split(tmp_path, "train")


GOOD = idx(PICTURES)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "begin like one"),
        (b"\0\0", "begin like one"),
        (b"SFUM" + GOOD, "begin like one"),
        (b"\0\0\x0d" + GOOD[3:], "unsigned bytes"),
        (b"\0\0\x08\0", "begin like one"),
        (b"\0\0\x08\xff" + GOOD[4:], "broken"),
        (GOOD[:10], "broken"),
        (GOOD[:-1], "holds only"),
        (GOOD + b"\0", "holds more"),
        (b"\0\0\x08\x03" + b"\xff" * 12 + b"data", "at most"),
        (gzip.compress(GOOD, mtime=0)[:-9], "cannot be read"),
        (gzip.compress(GOOD + bytes(10_000_000), mtime=0), "holds more"),
        (b"\x1f\x8b nothing", "cannot be read"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, data: bytes, sentence: str) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(InvalidInput, match=sentence):
        read_idx(tmp_path / "file")


def test_axes_and_missing_files_are_checked(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(GOOD)
    with pytest.raises(InvalidInput, match="1 axes"):
        read_idx(tmp_path / "file", num_axes=1)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_idx(tmp_path / "none")


@pytest.mark.parametrize("packed", [True, False])
def test_what_is_announced_must_fit_the_file_before_it_is_read(
    tmp_path: Path, packed: bool
) -> None:
    data = bytes([0, 0, 8, 1]) + struct.pack(">I", 1 << 30) + bytes(40_000)
    (tmp_path / "x").write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(InvalidInput, match="announces 1073741824 bytes, it can hold"):
        read_idx(tmp_path / "x")
