"""The writer of features files: whole or absent, one at a time, never mixed."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.types import Features
from sfumato.features import FeatureWriter, extract, list_feature_names, read_features


@pytest.fixture
def some(astronaut: NDArray[np.uint8]) -> Features:
    return extract(astronaut, max_keypoints=5)


def stop_after(path: Path, name: str, features: Features) -> None:
    """A writer that meets an error after its first picture."""
    writer = FeatureWriter(path, extractor="sift")
    with contextlib.suppress(RuntimeError), writer:
        writer.add(name, features)
        raise RuntimeError


def test_pictures_appear_together_at_the_end(tmp_path: Path, some: Features) -> None:
    path = tmp_path / "f.h5"
    with FeatureWriter(path, extractor="sift") as writer:
        writer.add("a.jpg", some)
        assert "a.jpg" in writer
        assert "b.jpg" not in writer
        assert not path.exists()
    assert list_feature_names(path) == ("a.jpg",)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_grows_and_keeps_what_it_had(tmp_path: Path, some: Features) -> None:
    path = tmp_path / "f.h5"
    for name in ("b.jpg", "a/c.jpg", "a/b.jpg"):
        with FeatureWriter(path, extractor="sift", max_keypoints=5) as writer:
            assert name not in writer
            writer.add(name, some)
    with FeatureWriter(path, extractor="sift", max_keypoints=5) as writer:
        assert "a/c.jpg" in writer
        with pytest.raises(InvalidInput, match="already"):
            writer.add("b.jpg", some)
    assert list_feature_names(path) == ("a/b.jpg", "a/c.jpg", "b.jpg")
    assert read_features(path, "b.jpg") == some


def test_nothing_added_still_makes_a_readable_file(tmp_path: Path) -> None:
    with FeatureWriter(tmp_path / "f.h5", extractor="sift"):
        pass
    assert list_feature_names(tmp_path / "f.h5") == ()


def test_an_error_leaves_the_file_as_it_was_and_the_work_is_kept(
    tmp_path: Path, some: Features
) -> None:
    path = tmp_path / "f.h5"
    with FeatureWriter(path, extractor="sift") as writer:
        writer.add("a.jpg", some)
    before = path.read_bytes()
    stop_after(path, "b.jpg", some)
    assert path.read_bytes() == before
    with FeatureWriter(path, extractor="sift") as writer:
        assert "b.jpg" in writer
    assert list_feature_names(path) == ("a.jpg", "b.jpg")


def test_an_error_before_the_first_picture_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), FeatureWriter(tmp_path / "f.h5", extractor="sift"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_other_settings_are_refused_by_name(tmp_path: Path, some: Features) -> None:
    path = tmp_path / "f.h5"
    with FeatureWriter(path, extractor="sift", max_keypoints=5) as writer:
        writer.add("a.jpg", some)
        with pytest.raises(Mismatch, match="takes sift features, got freak"):
            writer.add("b.jpg", extract(np.zeros((9, 9), dtype=np.uint8), "freak"))
    weights = tmp_path / "w.pth"
    weights.write_bytes(b"weights")
    for other, words in (
        (FeatureWriter(path, extractor="freak", max_keypoints=5), "sift, 5 .* freak, 5"),
        (FeatureWriter(path, extractor="sift"), "5 keypoints, .* all keypoints"),
        (FeatureWriter(path, extractor="sift", max_keypoints=5, weights=weights), "weights"),
    ):
        with pytest.raises(Mismatch, match=words), other:
            pass
    assert not (tmp_path / "f.h5.parts").exists()


def test_parts_of_other_settings_are_refused_too(tmp_path: Path, some: Features) -> None:
    path = tmp_path / "f.h5"
    stop_after(path, "a.jpg", some)
    with pytest.raises(Mismatch, match=r"all keypoints, .* 9 keypoints"):
        FeatureWriter(path, extractor="sift", max_keypoints=9).__enter__()


def test_files_of_others_are_never_written_to(tmp_path: Path) -> None:
    path = tmp_path / "hloc.h5"
    with h5py.File(path, "w") as file:
        file["a/keypoints"] = np.zeros((0, 2))
    with pytest.raises(Mismatch, match="not written by sfumato"):
        FeatureWriter(path, extractor="sift").__enter__()
    path.write_bytes(b"not HDF5")
    with pytest.raises(DamagedFile):
        FeatureWriter(path, extractor="sift").__enter__()
    assert path.read_bytes() == b"not HDF5"
    with pytest.raises(InvalidInput, match="is a folder"):
        FeatureWriter(tmp_path, extractor="sift").__enter__()
    with pytest.raises(InvalidInput, match="does not exist"):
        FeatureWriter(tmp_path / "no" / "f.h5", extractor="sift").__enter__()


def test_two_writers_at_once_are_refused(tmp_path: Path, some: Features) -> None:
    path = tmp_path / "f.h5"
    code = (
        "import sys; from sfumato.core.errors import InvalidInput\n"
        "from sfumato.features import FeatureWriter\n"
        "try: FeatureWriter(sys.argv[1], extractor='sift').__enter__()\n"
        "except InvalidInput as error: print(error)\n"
    )
    with FeatureWriter(path, extractor="sift") as writer:
        with pytest.raises(InvalidInput, match="another process"):
            FeatureWriter(path, extractor="sift").__enter__()
        other = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
        )
        assert "being written by another process; wait" in other.stdout
        writer.add("a.jpg", some)
    assert list_feature_names(path) == ("a.jpg",)


def test_a_writer_must_be_opened(tmp_path: Path, some: Features) -> None:
    with pytest.raises(InvalidInput, match="opened first"):
        FeatureWriter(tmp_path / "f.h5", extractor="sift").add("a.jpg", some)
    with (
        FeatureWriter(tmp_path / "f.h5", extractor="sift") as writer,
        pytest.raises(InvalidInput, match="relative path"),
    ):
        writer.add("../a.jpg", some)


def test_a_damaged_part_is_named(tmp_path: Path, some: Features) -> None:
    path = tmp_path / "f.h5"
    stop_after(path, "a.jpg", some)
    part = next((tmp_path / "f.h5.parts").glob("*.part.h5"))
    part.write_bytes(part.read_bytes()[:200])
    with (
        pytest.raises(DamagedFile, match=r"part\.h5 cannot be added"),
        FeatureWriter(path, extractor="sift"),
    ):
        pass
    assert not path.exists()
