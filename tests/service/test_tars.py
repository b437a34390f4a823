"""What is not exactly the tar of one whole map is refused."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from served import Served, files_of, nothing_is_left, refused, tar_of
from sfumato.core.storage import load_manifest, save_arrays
from sfumato.server.mapping.map import ARRAY_NAMES


def tar_with(*entries: tuple[str, bytes, dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data, more in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            for field, value in more.items():
                setattr(entry, field, value)
            tar.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("entry", "word"),
    [
        (("../evil", b"x", {}), "does not have"),
        (("/etc/passwd", b"x", {}), "does not have"),
        (("words-a/../../evil", b"x", {}), "does not have"),
        (("a/points.npy", b"x", {}), "does not have"),
        (("notes.txt", b"x", {}), "does not have"),
        (("points.npy", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}), "regular"),
        (("points.npy", b"", {"type": tarfile.LNKTYPE, "linkname": "x"}), "regular"),
        (("points.npy", b"", {"type": tarfile.CHRTYPE}), "regular"),
        (("points.npy", b"", {"type": tarfile.GNUTYPE_SPARSE}), "regular"),
        (("folder", b"", {"type": tarfile.DIRTYPE}), "folder"),
        (("x", b"0" * 70_000, {"type": tarfile.XHDTYPE}), "extended header"),
    ],
)
def test_tricks_in_a_tar_are_refused(
    served: Served, tmp_path: Path, entry: tuple[str, bytes, dict[str, Any]], word: str
) -> None:
    refused(served.upload(content=tar_with(entry)), 400, word)
    nothing_is_left(served)
    assert not list(tmp_path.rglob("evil"))


def test_what_is_not_a_map_is_refused(served: Served) -> None:
    twice = tar_with(("points.npy", b"x", {}), ("points.npy", b"y", {}))
    refused(served.upload(content=twice), 400, "twice")
    refused(served.upload(content=tar_with(("points.npy", b"x", {}))), 400, "manifest")
    refused(served.upload(content=tar_with(("manifest.json", b"{}", {}))), 400, "damaged")
    refused(served.upload(content=tar_with(("manifest.json", b"[" * 100_000, {}))), 400, "map")
    refused(served.upload(content=b"\xff\xd8" + bytes(3000)), 400, "tar")
    refused(served.upload(content=served.world.tar() + b"x"), 400, "follows the end")
    refused(served.upload(content=tar_of(served.world.words)), 400, "does not have")
    nothing_is_left(served)


@pytest.mark.parametrize(
    "spoil",
    [
        {"points": lambda a: a[:-1]},
        {"point_of_feature": lambda a: a + 5000},
        {"feature_start": lambda a: a[::-1].copy()},
        {"keypoints": lambda a: np.full_like(a, np.nan)},
        {"descriptors": lambda a: a.astype(np.float64)},
        {"descriptors": lambda a: a[:, :4]},
        {"points": lambda a: a.astype(">f8")},
        {"rotations": lambda a: a * 2},
        {"point_of_feature": lambda a: np.full_like(a, -1)},
    ],
    ids=lambda spoil: next(iter(spoil)),
)
def test_arrays_that_make_no_map_are_refused_with_valid_checksums(
    served: Served, tmp_path: Path, spoil: dict[str, Any]
) -> None:
    manifest = load_manifest(served.world.folder, kind="map")
    arrays = {name: np.load(served.world.folder / f"{name}.npy") for name in ARRAY_NAMES}
    for name, change in spoil.items():
        arrays[name] = change(arrays[name])
    kept = {key: value for key, value in manifest.items() if key not in ("files", "checksum")}
    save_arrays(tmp_path / "bad", arrays, kept)
    answer = served.upload(content=tar_of(tmp_path / "bad"))
    refused(answer, 400, "map")
    assert str(tmp_path) not in answer.text
    nothing_is_left(served)


def test_an_empty_array_file_with_a_valid_checksum_is_refused(
    served: Served, tmp_path: Path
) -> None:
    manifest = load_manifest(served.world.folder, kind="map")
    arrays = {
        name: np.load(served.world.folder / f"{name}.npy")
        for name in ARRAY_NAMES
        if name != "points"
    }
    kept = {key: value for key, value in manifest.items() if key not in ("files", "checksum")}
    save_arrays(tmp_path / "bad", arrays, kept, files={"points.npy": b""})
    refused(served.upload(content=tar_of(tmp_path / "bad")), 400, "cannot be mapped")
    nothing_is_left(served)


def test_indices_that_come_along_are_not_trusted(served: Served, tmp_path: Path) -> None:
    shutil.copytree(served.world.folder, tmp_path / "map")
    for name in (f"words-{'ab' * 32}", "derived"):
        (tmp_path / "map" / name).mkdir()
        (tmp_path / "map" / name / "manifest.json").write_text(json.dumps({"evil": True}))
    answer = served.upload(content=tar_of(tmp_path / "map"))
    assert answer.status_code == 201
    folder = served.service.store.folder_of(answer.json()["id"])
    assert not any("ab" * 32 in name for name in files_of(folder))
    assert "evil" not in (folder / "derived" / "manifest.json").read_text()


def test_tars_of_other_tools_are_taken(served: Served) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for file in served.world.folder.iterdir():
            tar.add(file, arcname=file.name)  # float mtimes make a pax header each
    assert served.upload(content=stream.getvalue()).status_code == 201
