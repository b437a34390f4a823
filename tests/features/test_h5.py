"""Features files: ours read by hloc, hloc's read by us, damaged ones refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch, SfumatoError
from sfumato.core.types import Features
from sfumato.features import (
    EXTRACTORS,
    FeatureWriter,
    extract,
    list_feature_names,
    read_features,
)


def write(path: Path, extractor: str, pictures: dict[str, Features]) -> Path:
    with FeatureWriter(path, extractor=extractor) as writer:
        for name, features in pictures.items():
            writer.add(name, features)
    return path


@pytest.mark.parametrize("name", [name for name, spec in EXTRACTORS.items() if spec.offline])
def test_what_is_written_is_read_back_exactly(
    tmp_path: Path, astronaut: NDArray[np.uint8], name: str
) -> None:
    full = extract(astronaut, name, max_keypoints=50)
    empty = extract(np.zeros((5, 4), dtype=np.uint8), name)
    path = write(tmp_path / "f.h5", name, {"a.jpg": full, "db/x/b é.jpg": empty})
    assert list_feature_names(path) == ("a.jpg", "db/x/b é.jpg")
    assert read_features(path, "a.jpg") == full
    assert read_features(path, "db/x/b é.jpg", extractor=name) == empty


def test_hloc_finds_its_own_layout(tmp_path: Path, astronaut: NDArray[np.uint8]) -> None:
    features = extract(astronaut, "rootsift")
    path = write(tmp_path / "f.h5", "rootsift", {"db/1.jpg": features})
    with h5py.File(path, "r", libver="latest") as file:
        group = file["db/1.jpg"]
        keypoints = group["keypoints"].__array__()
        assert keypoints.dtype == np.float32
        assert np.array_equal(keypoints, features.keypoints)
        assert np.array_equal(group["descriptors"].__array__(), features.descriptors.T)
        assert group["descriptors"].shape == (128, len(features))
        assert np.array_equal(group["scores"].__array__(), features.scores)
        assert group["image_size"].__array__().tolist() == [256, 256]
        datasets: list[str] = []
        file.visititems(
            lambda _, item: (
                datasets.append(item.parent.name.strip("/"))
                if isinstance(item, h5py.Dataset)
                else None
            )
        )
        assert set(datasets) == {"db/1.jpg"}


def test_files_made_by_hloc_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "hloc.h5"
    descriptors = rng.normal(size=(256, 3)).astype(np.float16)
    points = np.array([[0.0, 0.5], [1999.9, 10], [2048.9, 1500.2]])
    with h5py.File(path, "w") as file:
        group = file.create_group("query/night.jpg")
        group["keypoints"] = points.astype(np.float16)
        group["keypoints"].attrs["uncertainty"] = 1.0
        group["descriptors"] = descriptors
        group["scores"] = np.array([0.1, 0.3, 0.2], dtype=np.float16)
        group["image_size"] = np.array([2050, 1501])
    with pytest.raises(InvalidInput, match="extractor='…'"):
        read_features(path, "query/night.jpg")
    features = read_features(path, "query/night.jpg", extractor="superpoint")
    assert features.extractor == "superpoint"
    assert np.array_equal(features.descriptors, descriptors.T.astype(np.float32))
    assert np.abs(features.keypoints - points).max() <= 1
    assert features.image_size == (2050, 1501)
    assert (features.angles == -1).all()
    assert (features.scales == 0).all()
    with h5py.File(path, "r+") as file:
        file["query/night.jpg/scales"] = np.array([1, 2, 3], dtype=np.float16)
        file["query/night.jpg/oris"] = np.array([-90, 0, 400], dtype=np.float16)
    features = read_features(path, "query/night.jpg", extractor="superpoint")
    assert features.scales.tolist() == [2, 4, 6]
    assert features.angles.tolist() == [270, 0, 40]


def test_files_that_hold_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    with h5py.File(path, "w") as file:
        file["a/keypoints"] = np.zeros((2, 2), dtype=np.float32)
        file["b/keypoints"] = np.zeros(7)
        file["b/descriptors"] = np.zeros((4, 7))
        file["b/image_size"] = np.array([5, 5])
        file["c/global_descriptor"] = np.zeros(9)
    assert list_feature_names(path) == ("a", "b")
    for name, words in (("a", "descriptors, image_size is missing"), ("b", "shape"), ("c", "no")):
        with pytest.raises(InvalidInput, match=words):
            read_features(path, name, extractor="sift")


def test_names_and_extractors_must_fit(tmp_path: Path, astronaut: NDArray[np.uint8]) -> None:
    path = write(tmp_path / "f.h5", "sift", {"db/1.jpg": extract(astronaut, max_keypoints=3)})
    with pytest.raises(Mismatch, match="holds sift features, freak"):
        read_features(path, "db/1.jpg", extractor="freak")
    for name in ("db", "2.jpg", "db/1.jpg/keypoints"):
        with pytest.raises(InvalidInput, match="holds no picture"):
            read_features(path, name)
    for name in ("", "/db/1.jpg", "db//1.jpg", "../1.jpg", "./1.jpg", "db/", "a\0b"):
        with pytest.raises(InvalidInput, match="relative path"):
            read_features(path, name)
    for name in ("a\nb", "a.jpg\n", "db/\r.jpg", "\u2028.jpg"):
        with pytest.raises(InvalidInput, match="one line"):
            read_features(path, name)
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_features(path, "\udcff.jpg")


def test_a_truncated_or_foreign_file_is_called_damaged(
    tmp_path: Path, astronaut: NDArray[np.uint8]
) -> None:
    path = write(tmp_path / "f.h5", "sift", {"1.jpg": extract(astronaut, max_keypoints=40)})
    data = path.read_bytes()
    for length in (0, 3, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(DamagedFile, match="damaged"):
            list_feature_names(path)
        with pytest.raises(DamagedFile, match="make it again"):
            read_features(path, "1.jpg")
    with pytest.raises(InvalidInput, match="no features file"):
        read_features(tmp_path / "absent.h5", "1.jpg")
    with pytest.raises(InvalidInput, match="no features file"):
        list_feature_names(tmp_path)


def test_a_flipped_bit_in_the_values_is_noticed(
    tmp_path: Path, astronaut: NDArray[np.uint8]
) -> None:
    features = extract(astronaut, max_keypoints=40)
    path = write(tmp_path / "f.h5", "sift", {"1.jpg": features})
    data = bytearray(path.read_bytes())
    for stored in (features.keypoints, features.descriptors.T, features.scales):
        place = data.find(stored.tobytes())
        assert place > 0
        data[place + 21] ^= 1
        path.write_bytes(data)
        with pytest.raises(DamagedFile):
            read_features(path, "1.jpg")
        data[place + 21] ^= 1
    path.write_bytes(data)
    assert read_features(path, "1.jpg") == features


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, astronaut: NDArray[np.uint8]) -> bytes:
    path = tmp_path_factory.mktemp("h5") / "f.h5"
    return write(path, "sift", {"1.jpg": extract(astronaut, max_keypoints=4)}).read_bytes()


@settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(edits=st.lists(st.tuples(st.integers(0, 10**5), st.integers(1, 255)), min_size=1))
def test_damage_anywhere_is_refused_or_harmless(
    tmp_path: Path, stored: bytes, edits: list[tuple[int, int]]
) -> None:
    path = tmp_path / "f.h5"
    path.write_bytes(stored)
    whole = read_features(path, "1.jpg")
    data = bytearray(stored)
    for place, change in edits:
        data[place % len(data)] ^= change
    path.write_bytes(data)
    try:
        features = read_features(path, "1.jpg", extractor="sift")
    except SfumatoError:
        return
    assert features == whole
