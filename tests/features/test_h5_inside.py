"""Features files that refer elsewhere or announce what they do not hold are refused."""

from __future__ import annotations

import resource
from pathlib import Path

import h5py
import numpy as np
import pytest

from hostile_files import COUNT, DIMENSION, H5_OUTSIDE, PICTURE, write_h5_target, write_hloc
from sfumato.core.errors import InvalidInput
from sfumato.features import FeatureWriter, list_feature_names, read_features
from support import features_of


def test_an_honest_file_is_read(tmp_path: Path) -> None:
    path = write_hloc(tmp_path / "f.h5")
    assert list_feature_names(path) == (PICTURE,)
    assert len(read_features(path, PICTURE, extractor="own")) == COUNT


@pytest.mark.parametrize("kind", H5_OUTSIDE)
def test_what_lies_in_another_file_is_never_read(tmp_path: Path, kind: str) -> None:
    target = write_h5_target(tmp_path / "secret.h5")
    path = write_hloc(tmp_path / "f.h5", lambda group: H5_OUTSIDE[kind](group, target))
    with pytest.raises(InvalidInput, match=r"f\.h5 is refused: .* must hold its own data"):
        read_features(path, PICTURE, extractor="own")


@pytest.mark.parametrize("kind", ["external link", "soft link", "linked picture", "linked folder"])
def test_a_file_with_links_is_not_listed_and_not_added_to(tmp_path: Path, kind: str) -> None:
    target = write_h5_target(tmp_path / "secret.h5")
    before = target.read_bytes()
    path = write_hloc(tmp_path / "f.h5", lambda group: H5_OUTSIDE[kind](group, target))
    with pytest.raises(InvalidInput, match="must hold its own data"):
        list_feature_names(path)
    # The same file, with the marks of one that sfumato wrote and may be continued.
    with FeatureWriter(tmp_path / "own.h5", extractor="tiny") as writer:
        writer.add("a.jpg", features_of(np.zeros((3, 8), np.uint8)))
    with h5py.File(tmp_path / "own.h5") as own, h5py.File(path, "a") as file:
        for key, value in own.attrs.items():
            file.attrs[key] = value
    with (
        pytest.raises(InvalidInput, match="must hold its own data"),
        FeatureWriter(path, extractor="tiny") as writer,
    ):
        writer.add("db/2.jpg", features_of(np.zeros((3, 8), np.uint8)))
    assert target.read_bytes() == before


def announce(group: h5py.Group, kind: str) -> None:
    del group["descriptors"]
    if kind == "fill value":
        group.create_dataset("descriptors", (1 << 20, 1 << 10), "f4", chunks=(1 << 10, 1 << 10))
    elif kind == "never written":
        group.create_dataset("descriptors", (1 << 20, 1 << 10), "f4")
    elif kind == "packed":
        chunks = (DIMENSION, 1 << 16)
        shape = (DIMENSION, 1 << 20)
        made = group.create_dataset("descriptors", shape, "f4", chunks=chunks, compression=9)
        packed = group.create_dataset("one", chunks, "f4", chunks=chunks, compression=9)
        packed[:] = 0
        _, data = packed.id.read_direct_chunk((0, 0))
        for place in range(0, 1 << 20, 1 << 16):
            made.id.write_direct_chunk((0, place), data)
    else:
        chunks = (1 << 14, 1 << 15)
        made = group.create_dataset(
            "descriptors",
            (DIMENSION, COUNT),
            "f4",
            maxshape=(None, None),
            chunks=chunks,
            compression=9,
        )
        made.id.write_direct_chunk((0, 0), b"x")


@pytest.mark.parametrize("kind", ["fill value", "never written", "packed", "large chunk"])
def test_memory_is_asked_for_only_where_bytes_stand_behind_it(tmp_path: Path, kind: str) -> None:
    path = write_hloc(tmp_path / "f.h5", lambda group: announce(group, kind))
    assert path.stat().st_size < 2 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidInput, match="announces"):
        read_features(path, PICTURE, extractor="own")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # kB


def test_compressed_files_are_read_and_foreign_programs_refused(tmp_path: Path) -> None:
    def pack(group: h5py.Group, **how: object) -> None:
        values = group["descriptors"][()]
        del group["descriptors"]
        group.create_dataset("descriptors", data=values, **how)

    plain = read_features(write_hloc(tmp_path / "p.h5"), PICTURE, extractor="own")
    for number, how in enumerate(({"compression": "gzip"}, {"compression": "lzf", "shuffle": 1})):
        path = write_hloc(tmp_path / f"{number}.h5", lambda g, how=how: pack(g, **how))  # type: ignore[misc]
        assert read_features(path, PICTURE, extractor="own") == plain
    foreign = {"compression": 32004, "allow_unknown_filter": True, "chunks": (DIMENSION, COUNT)}

    def unknown(group: h5py.Group) -> None:
        del group["descriptors"]
        made = group.create_dataset("descriptors", (DIMENSION, COUNT), "f4", **foreign)
        made.id.write_direct_chunk((0, 0), bytes(4 * DIMENSION * COUNT))

    path = write_hloc(tmp_path / "u.h5", unknown)
    with pytest.raises(InvalidInput, match="names another program"):
        read_features(path, PICTURE, extractor="own")


@pytest.mark.parametrize("value", ["texts", "records", "references"])
def test_only_numbers_are_read(tmp_path: Path, value: str) -> None:
    def change(group: h5py.Group) -> None:
        del group["scores"]
        if value == "texts":
            group["scores"] = np.array(["a"] * COUNT, dtype=h5py.string_dtype())
        elif value == "records":
            group["scores"] = np.zeros(COUNT, dtype=[("a", "f4")])
        else:
            group["scores"] = np.array([group.ref] * COUNT, dtype=h5py.ref_dtype)

    with pytest.raises(InvalidInput, match="must hold numbers"):
        read_features(write_hloc(tmp_path / "f.h5", change), PICTURE, extractor="own")


@pytest.mark.parametrize("size", [np.array([np.nan, 64]), np.array([64]), np.float64(3)])
def test_a_size_that_is_none_is_refused(tmp_path: Path, size: np.ndarray) -> None:
    def change(group: h5py.Group) -> None:
        del group["image_size"]
        group["image_size"] = size

    with pytest.raises(InvalidInput, match="image_size of two"):
        read_features(write_hloc(tmp_path / "f.h5", change), PICTURE, extractor="own")


def nest(path: Path, names: list[bytes], *, cycle: bool = False) -> Path:
    with h5py.File(path, "w", libver="latest") as file:
        group = file.id
        for name in names:
            group = h5py.h5g.create(group, name)
        if cycle:
            h5py.h5o.link(file["/"].id, group, b"again")
        h5py.Group(group)["keypoints"] = np.zeros((1, 2), np.float32)
    return path


@pytest.mark.parametrize("names", [[b"a"] * 20_000, [b"a" * 500] * 10], ids=["deep", "long"])
def test_groups_nest_only_as_deep_as_paths_do(tmp_path: Path, names: list[bytes]) -> None:
    with pytest.raises(InvalidInput, match="may nest 64 levels deep with names of 4,096 bytes"):
        list_feature_names(nest(tmp_path / "f.h5", names))


def test_groups_that_hold_themselves_are_listed_once(tmp_path: Path) -> None:
    path = nest(tmp_path / "f.h5", [b"a", b"b"], cycle=True)
    assert list_feature_names(path) == ("a/b",)
