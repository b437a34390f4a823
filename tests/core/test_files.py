"""Only plain files are opened, and only up to a limit; JSON of any kind is read or refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfumato.core.arrays import read_arrays
from sfumato.core.errors import InvalidInput
from sfumato.core.files import open_plain, parse_json, read_limited
from sfumato.core.onnx_file import OnnxFile
from sfumato.datasets.idx import read_idx


def test_a_link_is_followed_only_where_the_user_named_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    (tmp_path / "b").symlink_to("a")
    with open_plain(tmp_path / "b") as file:
        assert file.read() == b"123"
    with pytest.raises(InvalidInput, match="it is a symbolic link"):
        open_plain(tmp_path / "b", follow_links=False)


@pytest.mark.parametrize("read", [open_plain, read_arrays, read_idx, OnnxFile])
def test_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path, read: object) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert callable(read)
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(InvalidInput, match="must be a plain file, it is a"):
            read(path)


def test_a_limit_is_the_last_length_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"123")
    assert read_limited(tmp_path / "a", 3) == b"123"
    with pytest.raises(InvalidInput, match=r"a list may have 2 bytes, .* has more"):
        read_limited(tmp_path / "a", 2, what="list")


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b"{]", b"[1,]"]
)
def test_whatever_is_no_json_is_one_kind_of_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="not valid JSON"):
        parse_json(data)
    assert parse_json(b'{"a": [1]}') == parse_json('{"a": [1]}') == {"a": [1]}
