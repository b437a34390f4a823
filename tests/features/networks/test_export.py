"""Weights become an ONNX file that finds and describes keypoints, or one sentence says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.onnx_file import OnnxFile
from sfumato.features import extract
from sfumato.features.networks import aliked
from sfumato.features.networks.export import export_network
from sfumato.features.networks.extractor import NetworkExtractor
from small_networks import WEIGHTS, aliked_weights, edgepoint2_weights, save_weights

EVERY = pytest.mark.parametrize("family", WEIGHTS)
NAMES = {"edgepoint2": "edgepoint2-t32", "aliked": "aliked-x4"}


@pytest.fixture(scope="module", params=WEIGHTS)
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A file of each family, and what was told of it."""
    folder = tmp_path_factory.mktemp("networks")
    weights = save_weights(folder / "w.safetensors", WEIGHTS[request.param]())
    made = export_network(weights, folder / "net.onnx")
    return folder / "net.onnx", made


def test_the_file_says_what_it_is(network: Any) -> None:
    path, made = network
    assert made.name == NAMES[made.family]
    assert NetworkExtractor(path).name == made.name
    assert path.stat().st_size == made.bytes
    assert made.dimension == {"edgepoint2": 32, "aliked": 16}[made.family]


def test_features_are_unit_vectors_inside_the_picture_strongest_first(
    network: Any, astronaut: NDArray[np.uint8]
) -> None:
    path, made = network
    features = extract(astronaut[:150, :203], NetworkExtractor(path))
    assert len(features) > 20
    assert features.descriptors.shape == (len(features), made.dimension)
    np.testing.assert_allclose(np.linalg.norm(features.descriptors, axis=1), 1, atol=1e-4)
    assert (np.diff(features.scores) <= 0).all()
    assert (features.keypoints >= 0).all()
    assert (features.keypoints <= [202, 149]).all()


def test_fewer_keypoints_are_the_first_of_more(network: Any, astronaut: NDArray[np.uint8]) -> None:
    extractor = NetworkExtractor(network[0])
    many = extract(astronaut[:128, :128], extractor, max_keypoints=40)
    few = extract(astronaut[:128, :128], extractor, max_keypoints=7)
    assert len(few) == 7
    np.testing.assert_array_equal(few.keypoints, many.keypoints[:7])
    np.testing.assert_allclose(few.descriptors, many.descriptors[:7], atol=1e-5)


@pytest.mark.parametrize("size", [(1, 1), (16, 300), (17, 31), (33, 16), (64, 64)])
def test_small_pictures_have_few_or_no_features(network: Any, size: tuple[int, int]) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    features = extract(picture, NetworkExtractor(network[0]))
    assert features.descriptors.shape[1] == network[1].dimension
    assert features.image_size == (size[1], size[0])


def test_a_blank_picture_is_no_error(network: Any) -> None:
    features = extract(np.zeros((80, 80), dtype=np.uint8), NetworkExtractor(network[0]))
    assert np.isfinite(features.descriptors).all()


def test_a_picture_without_keypoints_has_no_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aliked, "_THRESHOLD", 2.0)  # above every score
    weights = save_weights(tmp_path / "w.safetensors", aliked_weights())
    export_network(weights, tmp_path / "net.onnx")
    picture = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    features = extract(picture, NetworkExtractor(tmp_path / "net.onnx"))
    assert features.descriptors.shape == (0, 16)


def test_one_pixel_to_the_right_moves_all_keypoints_by_one(
    tmp_path: Path, astronaut: NDArray[np.uint8]
) -> None:
    """Where nothing is pooled, scores move with the picture: the positions are not off."""
    arrays = aliked_weights()
    kept = arrays["score_head.0.weight"].copy()
    kept[:, 4:] = 0  # the first level alone: it is at full size
    weights = save_weights(tmp_path / "w.safetensors", arrays | {"score_head.0.weight": kept})
    export_network(weights, tmp_path / "net.onnx")
    extractor = NetworkExtractor(tmp_path / "net.onnx")
    first = extract(astronaut[50:146, 60:156], extractor).keypoints
    second = extract(astronaut[50:146, 59:155], extractor).keypoints
    inner = first[((first > 8) & (first < 87)).all(axis=1)]
    near = np.linalg.norm(inner[:, None] + [1, 0] - second[None], axis=2).min(axis=1)
    assert len(inner) > 20
    assert (near < 0.01).mean() == 1


@EVERY
def test_weights_that_do_not_fit_are_refused_with_the_array_that_does_not(
    family: str, tmp_path: Path
) -> None:
    def refused(arrays: dict[str, Any], part: str) -> None:
        weights = save_weights(tmp_path / "w.safetensors", arrays)
        with pytest.raises(InvalidInput, match=part) as caught:
            export_network(weights, tmp_path / "net.onnx")
        assert str(caught.value).count(". ") == 0
        assert not (tmp_path / "net.onnx").exists()

    good = WEIGHTS[family]()
    name = "conv2.weight"
    refused({key: v for key, v in good.items() if key != name}, "has no conv2.weight")
    refused(good | {name: good[name][:, :3]}, r"conv2.weight must have the shape")
    refused(good | {name: good[name] * np.float32(np.nan)}, "conv2.weight has values that are not")
    refused(good | {"more.bias": good[name]}, "1 arrays too many, more.bias")
    refused(good | {name: good[name].reshape(-1)}, "conv2.weight")


def test_another_network_is_named_as_such(tmp_path: Path) -> None:
    weights = save_weights(tmp_path / "w.safetensors", {"conv1a.bias": np.zeros(4, np.float32)})
    with pytest.raises(InvalidInput, match="EdgePoint2 and ALIKED are known"):
        export_network(weights, tmp_path / "net.onnx")


def test_no_file_of_weights_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="there is no file of weights at"):
        export_network(tmp_path / "none.safetensors", tmp_path / "net.onnx")


@pytest.mark.parametrize(
    "change",
    [
        {"conv1.weight": {"dtype": "F32", "shape": [1], "data_offsets": [0, 10**12]}},
        {"conv1.weight": {"dtype": "F32", "shape": [10**9, 10**9], "data_offsets": [0, 4]}},
        {"conv1.weight": {"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}},
        {"conv1.weight": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 4]}},
        {"conv1.weight": {"dtype": "F32", "shape": "1", "data_offsets": [0, 4]}},
        {"conv1.weight": {"dtype": "F32", "shape": [1], "data_offsets": ["0", 4]}},
        {"conv1.weight": 7},
    ],
)
def test_a_table_that_lies_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    weights = save_weights(tmp_path / "w.safetensors", edgepoint2_weights(), **change)
    with pytest.raises(InvalidInput, match="in the form of safetensors"):
        export_network(weights, tmp_path / "net.onnx")


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    data = save_weights(tmp_path / "w.safetensors", edgepoint2_weights()).read_bytes()
    for length in (0, 7, 8, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "cut.safetensors").write_bytes(data[:length])
        with pytest.raises(InvalidInput, match="in the form of safetensors"):
            export_network(tmp_path / "cut.safetensors", tmp_path / "net.onnx")


def test_the_file_refers_to_nothing_outside(network: Any) -> None:
    file = OnnxFile(network[0])
    assert [port.name for port in file.inputs] == ["image", "limit"]
    assert [port.name for port in file.outputs] == ["keypoints", "scores", "descriptors"]
