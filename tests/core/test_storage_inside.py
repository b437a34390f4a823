"""A stored folder that someone else packed: nothing in it leads out of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hostile_files import sign_manifest
from sfumato.client.archives import TarStream
from sfumato.core.errors import DamagedFile, InvalidInput, SfumatoError
from sfumato.core.storage import MAX_MANIFEST_BYTES, load_array, load_manifest, save_arrays


def stored(path: Path) -> Path:
    save_arrays(path, {"a": np.arange(50)}, {"kind": "map"})
    return path


@pytest.mark.parametrize("name", ["a.npy", "manifest.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_in_it_are_refused(tmp_path: Path, name: str, kind: str) -> None:
    outside, folder = stored(tmp_path / "outside"), stored(tmp_path / "given")
    (folder / name).unlink()
    if kind == "link":
        (folder / name).symlink_to(outside / name)
    else:
        os.mkfifo(folder / name)
    for verify in (True, False):
        with pytest.raises(InvalidInput, match="must be a plain file, it is a"):
            load_array(folder, "a", load_manifest(folder, kind="map"), verify=verify)
    with pytest.raises(InvalidInput, match="must be a plain file, it is a"):
        TarStream.of_map(folder)


@pytest.mark.parametrize(
    "files",
    [
        {"../outside": "0" * 64},
        {"/etc/hostname": "0" * 64},
        {"..": "0"},
        {"a/b.npy": "0"},
        {"": "0"},
        {"a.npy": 3},
        ["a.npy"],
        None,
    ],
)
def test_a_manifest_names_files_of_its_own_folder_only(tmp_path: Path, files: Any) -> None:
    (tmp_path / "outside").write_bytes(b"secret")
    folder = sign_manifest(stored(tmp_path / "given"), {"kind": "map", "files": files})
    with pytest.raises(DamagedFile, match="plain names of its files"):
        load_manifest(folder, kind="map")
    with pytest.raises(DamagedFile, match="plain names of its files"):
        b"".join(TarStream.of_map(folder))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "\ud800", "[]"])
def test_a_manifest_of_any_text_gives_our_own_error(tmp_path: Path, text: str) -> None:
    folder = stored(tmp_path / "given")
    (folder / "manifest.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(SfumatoError, match="is damaged"):
        load_manifest(folder, kind="map")


def test_nesting_as_deep_as_it_can_be_parsed_gives_our_own_error(tmp_path: Path) -> None:
    folder = stored(tmp_path / "given")
    for depth in (900, 950, 980, 990, 1000, 5000):
        text = '{"kind": "map", "x": ' + "[" * depth + "]" * depth + ', "checksum": "0"}'
        (folder / "manifest.json").write_text(text)
        with pytest.raises(SfumatoError, match="is damaged"):
            load_manifest(folder, kind="map")


def test_a_long_manifest_is_neither_written_nor_read(tmp_path: Path) -> None:
    names = ["x" * 100] * (MAX_MANIFEST_BYTES // 100)
    with pytest.raises(InvalidInput, match=r"of a map may take 4,194,304 bytes, these take"):
        save_arrays(tmp_path / "m", {}, {"kind": "map", "image_names": names})
    folder = sign_manifest(
        stored(tmp_path / "given"), {"kind": "map", "files": {}, "image_names": names}
    )
    with pytest.raises(InvalidInput, match="a manifest may have 4,194,304 bytes"):
        load_manifest(folder, kind="map")


def test_twenty_thousand_images_with_a_camera_each_fit(tmp_path: Path) -> None:
    count = 20_000
    camera = ["SIMPLE_RADIAL", 1600, 1063, [1469.2138241, 800.0, 531.5, -0.0412345678]]
    manifest = {
        "kind": "map",
        "image_names": [f"db/{number:05}.jpg" for number in range(count)],
        "cameras": [camera] * count,
    }
    save_arrays(tmp_path / "m", {}, manifest)
    assert len(load_manifest(tmp_path / "m", kind="map")["image_names"]) == count
