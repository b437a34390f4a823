"""Any ONNX file as an extractor: what fits runs, anything else is refused in one sentence."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onnx_models import node, write_model
from sfumato.core.errors import InvalidInput, Missing
from sfumato.features import extract
from sfumato.features.networks import extractor as module
from sfumato.features.networks.export import export_network
from sfumato.features.networks.extractor import NetworkExtractor, network_extractor
from small_networks import edgepoint2_weights, save_weights

PLACES = np.array([[3, 4], [20, 30], [10.5, 8.25]], dtype=np.float32)
SCORES = np.array([0.1, 0.7, 0.3], dtype=np.float32)
ROWS = np.eye(3, 8, dtype=np.float32)


def foreign(
    path: Path,
    answers: Sequence[NDArray[Any]] = (PLACES, SCORES, ROWS),
    names: Sequence[str] = ("keypoints", "scores", "descriptors"),
    shape: Sequence[int | str] = (1, 1, "h", "w"),
) -> Path:
    """Somebody's network that answers the same, whatever it is shown."""
    return write_model(
        path,
        [node("Identity", [f"a{name}"], name) for name in names],
        {"image": shape},
        {name: answer.shape for name, answer in zip(names, answers, strict=True)},
        tensors={f"a{name}": answer for name, answer in zip(names, answers, strict=True)},
    )


@pytest.fixture
def picture() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("batch", [False, True])
def test_a_network_of_others_needs_a_name_and_is_sorted(
    channels: int, batch: bool, tmp_path: Path, picture: NDArray[np.uint8]
) -> None:
    answers = [one[None] if batch else one for one in (PLACES, SCORES, ROWS)]
    path = foreign(tmp_path / "net.onnx", answers, shape=(1, channels, "h", "w"))
    with pytest.raises(InvalidInput, match=r"superpoint:net\.onnx"):
        network_extractor(str(path))
    features = extract(picture, network_extractor(f"superpoint:{path}"))
    assert features.extractor == "superpoint"
    np.testing.assert_array_equal(features.keypoints, PLACES[[1, 2, 0]])
    np.testing.assert_array_equal(features.descriptors, ROWS[[1, 2, 0]])
    assert (features.angles == -1).all()


def test_keypoints_outside_of_the_picture_are_left_out(
    tmp_path: Path, picture: NDArray[np.uint8]
) -> None:
    places = PLACES.copy()
    places[1] = (60, 5)
    path = foreign(tmp_path / "net.onnx", (places, SCORES, ROWS))
    assert len(extract(picture, NetworkExtractor(path, "mine"))) == 2


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"names": ("points", "scores", "descriptors")}, "keypoints is missing"),
        ({"shape": (1, 2, "h", "w")}, "must take one picture"),
        ({"shape": (1, 3, 480, 640)}, "pictures of one size only"),
        ({"shape": ("n", 128)}, "must take one picture"),
    ],
)
def test_other_networks_are_refused_when_they_are_named(
    change: dict[str, Any], part: str, tmp_path: Path
) -> None:
    path = foreign(tmp_path / "net.onnx", **change)
    with pytest.raises(InvalidInput, match=part):
        network_extractor(f"mine:{path}")


@pytest.mark.parametrize(
    ("answers", "part"),
    [
        ((PLACES, SCORES[:2], ROWS), "must answer with keypoints"),
        ((PLACES, SCORES, ROWS.T), "must answer with keypoints"),
        ((PLACES[:, :1], SCORES, ROWS), "must answer with keypoints"),
        ((PLACES, SCORES, ROWS * np.float32(np.nan)), "values that are not finite"),
        ((PLACES * np.float32(np.inf), SCORES, ROWS), "values that are not finite"),
    ],
)
def test_answers_of_another_form_are_refused(
    answers: Sequence[NDArray[Any]], part: str, tmp_path: Path, picture: NDArray[np.uint8]
) -> None:
    path = foreign(tmp_path / "net.onnx", answers)
    with pytest.raises(InvalidInput, match=part):
        extract(picture, NetworkExtractor(path, "mine"))


def test_what_is_no_network_is_refused_before_any_picture(tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no network")
    with pytest.raises(InvalidInput, match="is not an extractor that can be run"):
        network_extractor(str(tmp_path / "text.onnx"))
    with pytest.raises(Missing, match="there is no file of an extractor"):
        network_extractor(str(tmp_path / "none.onnx"))
    with pytest.raises(InvalidInput, match="extractor must be a name"):
        network_extractor(f"Bad Name:{tmp_path / 'text.onnx'}")


def test_a_file_that_says_its_name_keeps_it(tmp_path: Path) -> None:
    weights = save_weights(tmp_path / "w.safetensors", edgepoint2_weights())
    export_network(weights, tmp_path / "net.onnx", name="mine")
    assert network_extractor(str(tmp_path / "net.onnx")).name == "mine"
    assert network_extractor(f"mine:{tmp_path / 'net.onnx'}").name == "mine"
    with pytest.raises(InvalidInput, match="holds mine, it was given as superpoint"):
        network_extractor(f"superpoint:{tmp_path / 'net.onnx'}")


def test_an_extractor_travels_to_workers_and_notices_another_file(tmp_path: Path) -> None:
    weights = save_weights(tmp_path / "w.safetensors", edgepoint2_weights())
    path = tmp_path / "net.onnx"
    export_network(weights, path, name="first")
    sent = pickle.loads(pickle.dumps(NetworkExtractor(path)))
    assert sent.name == "first"
    path.unlink()
    export_network(weights, path, name="second")
    assert sent.name == "second"


def test_a_picture_too_large_for_a_network_is_refused(
    tmp_path: Path, picture: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = foreign(tmp_path / "net.onnx")
    monkeypatch.setattr(module, "MAX_PIXELS", 100)
    with pytest.raises(InvalidInput, match="at most 100 pixels, got 60×40"):
        extract(picture, NetworkExtractor(path, "mine"))
