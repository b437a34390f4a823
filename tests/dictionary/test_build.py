"""From pictures or descriptors to a dictionary with an honest manifest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch, UnreadableImage
from sfumato.dictionary import Dictionary, build_dictionary
from sfumato.dictionary.build import count_single_image_words
from sfumato.features import extract, extract_folder


def test_a_folder_becomes_a_dictionary_with_its_story(photos: Path, tmp_path: Path) -> None:
    stages: set[str] = set()
    made = build_dictionary(
        photos,
        num_words=50,
        output=tmp_path / "words",
        iterations=3,
        seed=4,
        progress=lambda stage, done, total: stages.add(stage),
    )
    assert stages == {"extracting", "grouping", "clustering", "making levels", "indexing"}
    assert made.words.shape == (50, 128)
    assert made.words.dtype == np.uint8
    manifest = made.manifest
    total = sum(len(extract(photos / f"{number}.png")) for number in range(3))
    assert manifest["provenance"] == "photos"
    assert manifest["num_images"] == 3
    assert manifest["unreadable_images"] == 1
    assert manifest["descriptors_seen"] == manifest["descriptors_used"] == total
    assert manifest["extractor_settings"] == {"max_keypoints": None}
    assert manifest["built_from_map"] is False
    assert manifest["index"] == {"kind": "exact", "recall_at_1": 1.0}
    assert manifest["clustering"] == {
        "method": "k-means",
        "start": "kmeans++",
        "iterations": 3,
        "seed": 4,
        "reseeded_empty_words": 0,
    }
    descriptors = np.concatenate([extract(photos / f"{n}.png").descriptors for n in range(3)])
    nearest = made.words[made.nearest(descriptors)].astype(int)
    error = np.square(nearest - descriptors).sum(axis=1).mean()
    assert manifest["mean_quantisation_error"] == pytest.approx(error, rel=1e-6)
    assert manifest["measured_on"] == total
    assert str(tmp_path) not in json.dumps(manifest)
    assert Dictionary.load(tmp_path / "words").manifest == manifest
    assert not (tmp_path / "words.partial").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photos", "words"]


def test_a_features_file_gives_the_same_words_as_its_folder(photos: Path, tmp_path: Path) -> None:
    (photos / "broken.png").unlink()
    extract_folder(photos, tmp_path / "features.h5", max_keypoints=200)
    direct = build_dictionary(photos, num_words=20, max_keypoints=60, iterations=2)
    through = build_dictionary(
        tmp_path / "features.h5", num_words=20, max_keypoints=60, iterations=2
    )
    assert direct == through
    assert through.manifest["provenance"] == "features"
    with pytest.raises(Mismatch):
        build_dictionary(tmp_path / "features.h5", num_words=20, extractor="freak")


def test_strict_stops_at_an_unreadable_picture(photos: Path) -> None:
    with pytest.raises(UnreadableImage):
        build_dictionary(photos, num_words=20, strict=True)


def test_float_words_stay_float_and_bits_stay_bits(photos: Path) -> None:
    roots = build_dictionary(photos, num_words=20, extractor="rootsift", iterations=2)
    assert roots.words.dtype == np.float32
    bits = build_dictionary(photos, num_words=20, extractor="freak", iterations=2)
    assert bits.words.shape == (20, 64)
    assert bits.words.dtype == np.uint8
    assert bits.metric == "hamming"
    descriptors = extract(photos / "0.png", "freak").descriptors
    assert len(np.unique(bits.nearest(descriptors))) > 5


def test_spherical_words_are_as_long_as_descriptors(sift: NDArray[np.uint8]) -> None:
    made = build_dictionary(sift, num_words=100, spherical=True, iterations=5)
    plain = build_dictionary(sift, num_words=100, iterations=5)
    lengths = np.linalg.norm(made.words.astype(float), axis=1)
    assert lengths == pytest.approx(np.full(100, 512), rel=0.01)
    assert made.manifest["clustering"]["method"] == "spherical k-means"
    errors = [d.manifest["mean_quantisation_error"] for d in (made, plain)]
    assert errors[1] < errors[0] < 1.4 * errors[1]
    with pytest.raises(InvalidInput, match="freak gives bits"):
        build_dictionary(sift[:, :64], num_words=100, extractor="freak", spherical=True)


def test_the_sample_respects_the_memory_and_is_uniform(sift: NDArray[np.uint8]) -> None:
    # 10 words of 128 floats, 5 copies, and 1000 rows of 2·128 + 48 bytes.
    memory_gb = (5 * 4 * 10 * 128 + 1000 * (2 * 128 + 48)) / 1e9
    made = build_dictionary(sift, num_words=10, memory_gb=memory_gb, iterations=1)
    assert made.manifest["descriptors_used"] == 1000
    assert made.manifest["descriptors_seen"] == len(sift)
    with pytest.raises(InvalidInput, match=r"memory_gb must be at least .* for 5000 words"):
        build_dictionary(sift, num_words=5000, memory_gb=0.001)


def test_words_of_a_single_picture_are_counted() -> None:
    assignment = np.array([0, 0, 1, 1, 2, 4], dtype=np.int32)
    images = np.array([7, 7, 7, 8, 9, 9], dtype=np.int32)
    # Words 0, 2 and 4 belong to one picture, 1 to two, 3 to none.
    assert count_single_image_words(assignment, images, 5) == 3


def test_single_picture_words_of_a_constructed_world() -> None:
    # Ten places; seven are seen in two pictures, three in one picture only.
    places = np.random.default_rng(0).integers(0, 256, (10, 32), dtype=np.uint8)
    rows = np.concatenate([places, places[:7]])
    images = np.array([100] * 10 + [-5] * 7)
    made = build_dictionary(rows, num_words=10, extractor="tiny", image_ids=images)
    assert made.manifest["mean_quantisation_error"] == 0
    assert made.manifest["single_image_words"] == {"count": 3, "share": 0.3}
    assert made.manifest["num_images"] == 2
    unknown = build_dictionary(rows, num_words=10, extractor="tiny")
    assert unknown.manifest["single_image_words"] is None


def test_the_manifest_says_when_the_map_was_the_source(sift: NDArray[np.uint8]) -> None:
    made = build_dictionary(sift, num_words=4, built_from_map=True, provenance="my map")
    assert made.manifest["built_from_map"] is True
    assert made.manifest["provenance"] == "my map"


def test_a_graph_index_is_measured_and_stored(sift: NDArray[np.uint8], tmp_path: Path) -> None:
    build_dictionary(sift, num_words=200, index="graph", output=tmp_path / "d", iterations=2)
    loaded = Dictionary.load(tmp_path / "d")
    assert loaded.index.kind == loaded.manifest["index"]["kind"] == "graph"
    assert loaded.manifest["index"]["recall_at_1"] > 0.97


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_words": 1}, "num_words must be between 2 and 1000000"),
        ({"num_words": 2_000_000}, "num_words must be between"),
        ({"num_words": 100_000}, "at least as many descriptors"),
        ({"iterations": 0}, "iterations"),
        ({"start": "best"}, "start must be one of kmeans"),
        ({"index": "fast"}, "index must be one of"),
        ({"seed": -1}, "seed"),
        ({"extractor": "rootsift"}, "'rootsift' descriptors are 128-D float32"),
        ({"memory_gb": -1}, "memory_gb"),
        ({"memory_gb": float("nan")}, "NaN"),
        ({"image_ids": [1, 2]}, "image_ids must have shape"),
        ({"image_ids": np.zeros(0)}, "image_ids"),
        ({"max_keypoints": 5}, "max_keypoints needs pictures"),
        ({"provenance": "two\nlines"}, "provenance must be one line"),
    ],
)
def test_bad_requests_are_refused_in_one_sentence(
    sift: NDArray[np.uint8], changes: dict[str, object], message: str
) -> None:
    options: dict[str, object] = {"num_words": 10, "iterations": 1, **changes}
    with pytest.raises(InvalidInput, match=message):
        build_dictionary(sift, **options)  # type: ignore[arg-type]


def test_bad_descriptors_are_refused() -> None:
    with pytest.raises(InvalidInput, match="NaN"):
        build_dictionary(np.full((9, 4), np.nan), num_words=2, extractor="tiny")
    with pytest.raises(InvalidInput, match="int64"):
        build_dictionary(np.zeros((9, 4), dtype=np.int64), num_words=2, extractor="tiny")
    with pytest.raises(InvalidInput, match="shape"):
        build_dictionary(np.zeros(9), num_words=2, extractor="tiny")


def test_nothing_is_overwritten_and_empty_folders_are_refused(
    sift: NDArray[np.uint8], tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="exists already"):
        build_dictionary(sift, num_words=4, output=tmp_path)
    with pytest.raises(InvalidInput, match="no picture"):
        build_dictionary(tmp_path, num_words=4)
    with pytest.raises(InvalidInput, match="no folder"):
        build_dictionary(tmp_path / "nowhere", num_words=4)
