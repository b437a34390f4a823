"""Patches for the learned extractors, with a network of our own in kornia's place."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Missing
from sfumato.features import EXTRACTORS, extract
from sfumato.features.learned import (
    PATCH_RATIO,
    PATCH_SIDE,
    cut_patches,
    extract_learned,
    load_network,
)
from support import hide_packages

LEARNED = [name for name, spec in EXTRACTORS.items() if not spec.offline]


def mean_and_rows(patches: NDArray[np.float32]) -> NDArray[np.float32]:
    """A network that needs no training: 4 rows of each patch, averaged over every 8 pixels."""
    rows = patches[:, 0].reshape(len(patches), 32, 4, 8).mean(axis=3)
    return np.asarray(rows.reshape(len(patches), 128), dtype=np.float32)


def gray_of(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), dtype=np.uint8)


@pytest.mark.parametrize("name", LEARNED)
def test_without_packages_the_error_says_what_to_install(
    name: str, astronaut: NDArray[np.uint8], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_packages(monkeypatch, "torch", "kornia")
    for weights in (None, tmp_path / "weights.pth"):
        with pytest.raises(Missing, match=r"sfumato\[train\].*torch, kornia"):
            extract(astronaut, name, weights=weights)


@pytest.mark.parametrize("name", LEARNED)
def test_without_weights_the_error_says_to_give_a_path(
    name: str,
    astronaut: NDArray[np.uint8],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: object())
    with pytest.raises(Missing, match=r"pass weights=PATH, sfumato downloads nothing"):
        extract(astronaut, name)
    with pytest.raises(Missing, match="there is none at"):
        extract(astronaut, name, weights=tmp_path / "absent.pth")


@pytest.mark.needs("train")
@pytest.mark.parametrize("name", LEARNED)
def test_a_wrong_file_of_weights_is_refused(name: str, tmp_path: Path) -> None:
    weights = tmp_path / "weights.pth"
    weights.write_bytes(b"no weights")
    with pytest.raises(InvalidInput, match="not a state dict"):
        load_network(name, weights)


@pytest.mark.parametrize("name", LEARNED)
def test_weights_are_read_from_the_path_without_running_code(
    name: str, astronaut: NDArray[np.uint8], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch and kornia as we call them: weights_only, pretrained=False, eval, state_dict."""
    calls: list[object] = []

    class Model:
        def __init__(self, *, pretrained: bool) -> None:
            calls.append(("pretrained", pretrained))

        def load_state_dict(self, state: object) -> None:
            calls.append(state)

        def eval(self) -> None:
            calls.append("eval")

        def __call__(self, patches: NDArray[np.float32]) -> SimpleNamespace:
            return SimpleNamespace(numpy=lambda: mean_and_rows(patches))

    def load(path: str, *, map_location: str, weights_only: bool) -> dict[str, object]:
        calls.append((map_location, weights_only))
        return {"state_dict": "the weights"}

    torch = SimpleNamespace(
        load=load, inference_mode=contextlib.nullcontext, from_numpy=lambda array: array
    )
    feature = SimpleNamespace(HardNet=Model, SOSNet=Model)
    modules = {"torch": torch, "kornia.feature": feature}
    modules["kornia"] = SimpleNamespace(feature=feature)
    for module, fake in modules.items():
        monkeypatch.setitem(sys.modules, module, fake)
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: object())
    weights = tmp_path / "weights.pth"
    weights.touch()
    features = extract(astronaut, name, max_keypoints=9, weights=weights)
    assert extract(astronaut, name, max_keypoints=9, weights=weights) == features
    assert features == extract_learned(astronaut, EXTRACTORS[name], 9, mean_and_rows)
    assert calls == [("pretrained", False), ("cpu", True), "the weights", "eval"]


def test_an_injected_network_describes_the_sift_keypoints(astronaut: NDArray[np.uint8]) -> None:
    spec = EXTRACTORS["hardnet"]
    features = extract_learned(astronaut, spec, None, mean_and_rows)
    sift = extract(astronaut, "sift")
    assert features.extractor == "hardnet"
    assert np.array_equal(features.keypoints, sift.keypoints)
    assert features.descriptors.shape == (len(sift), 128)
    assert features.descriptors.dtype == np.float32
    few = extract_learned(astronaut, spec, 20, mean_and_rows)
    assert few == features.take(np.arange(20))


def test_a_blank_picture_gives_empty_features_and_never_asks_the_network() -> None:
    def never(patches: NDArray[np.float32]) -> NDArray[np.float32]:
        raise AssertionError("no patch, no call")

    blank = np.full((40, 50, 3), 90, dtype=np.uint8)
    features = extract_learned(blank, EXTRACTORS["sosnet"], None, never)
    assert features.descriptors.shape == (0, 128)
    assert features.descriptors.dtype == np.float32


def test_a_patch_at_its_own_scale_is_a_copy_of_the_picture(astronaut: NDArray[np.uint8]) -> None:
    gray = gray_of(astronaut)
    size = PATCH_SIDE / PATCH_RATIO  # one pixel of the picture per pixel of the patch
    point = cv2.KeyPoint(100.5, 80.5, size, 0.0)
    patch = cut_patches(gray, [point])[0, 0]
    assert patch == pytest.approx(gray[65:97, 85:117] / 255, abs=1e-3)
    without_angle = cut_patches(gray, [cv2.KeyPoint(100.5, 80.5, size, -1.0)])[0, 0]
    assert np.array_equal(without_angle, patch)


@pytest.mark.parametrize("quarter", [1, 2, 3])
def test_turning_the_picture_and_the_angle_together_changes_no_patch(
    quarter: int, astronaut: NDArray[np.uint8]
) -> None:
    gray = gray_of(astronaut)
    centre = np.array([100.0, 80.0])
    patch = cut_patches(gray, [cv2.KeyPoint(100, 80, 9.0, 30.0)])
    turned = np.ascontiguousarray(np.rot90(gray, -quarter))  # clockwise, as angles run
    for _ in range(quarter):
        centre = np.array([255 - centre[1], centre[0]])
    point = cv2.KeyPoint(centre[0], centre[1], 9.0, 30.0 + 90 * quarter)
    assert cut_patches(turned, [point]) == pytest.approx(patch, abs=0.02)


def test_a_large_patch_is_smoothed_not_aliased() -> None:
    stripes = np.zeros((400, 400), dtype=np.uint8)
    stripes[:, ::2] = 255
    patch = cut_patches(stripes, [cv2.KeyPoint(200, 200, 40.0, 0.0)])
    assert patch.std() < 0.01
    assert patch.mean() == pytest.approx(0.5, abs=0.02)


def test_patches_beyond_the_border_repeat_the_edge() -> None:
    gray = np.full((30, 30), 128, dtype=np.uint8)
    points = [cv2.KeyPoint(0, 0, 50.0, 45.0), cv2.KeyPoint(29, 29, 500.0, 10.0)]
    assert cut_patches(gray, points) == pytest.approx(128 / 255, abs=1e-4)
