"""Every offline extractor keeps the same promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from sfumato.core.errors import InvalidInput, SfumatoError, UnreadableImage
from sfumato.device.mechanisms import Plain
from sfumato.device.protect import Pipeline, protect
from sfumato.features import EXTRACTORS, Extractor, extract
from sfumato.features.folder import iter_folder_features
from sfumato.features.image import MAX_SIFT_PIXELS
from sfumato.features.opencv import (
    HARRIS_DIAMETER,
    _whole_bytes,
    harris_corners,
    root,
    strongest,
)

OFFLINE = [name for name, spec in EXTRACTORS.items() if spec.offline]


def test_the_registry_names_what_is_offered() -> None:
    assert OFFLINE == ["sift", "rootsift", "sift-harris", "freak", "vgg", "beblid"]
    assert [name for name, spec in EXTRACTORS.items() if spec.binary] == ["freak", "beblid"]
    assert all(name == spec.name for name, spec in EXTRACTORS.items())


@pytest.mark.parametrize("name", OFFLINE)
def test_features_are_what_the_registry_promises(name: str, astronaut: NDArray[np.uint8]) -> None:
    spec = EXTRACTORS[name]
    features = extract(astronaut, name)
    assert len(features) > 50
    assert features.extractor == name
    assert features.image_size == (256, 256)
    assert features.descriptors.shape == (len(features), spec.dimension)
    assert features.descriptors.dtype == spec.dtype
    assert (np.diff(features.scores) <= 0).all()
    assert features.keypoints.min() >= 0
    assert features.keypoints.max() <= 255
    assert (features.scales > 0).all()
    assert len(np.unique(features.descriptors, axis=0)) > 0.9 * len(features)


@pytest.mark.parametrize("name", OFFLINE)
def test_a_limit_gives_a_prefix_and_every_run_the_same(
    name: str, astronaut: NDArray[np.uint8]
) -> None:
    everything = extract(astronaut, name)
    assert extract(astronaut, name) == everything
    for limit in (1, 2, 37):
        assert extract(astronaut, name, max_keypoints=limit) == everything.take(np.arange(limit))
    assert extract(astronaut, name, max_keypoints=10**6) == everything


@pytest.mark.parametrize("name", OFFLINE)
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 3), (7, 7), (12, 200)])
def test_tiny_and_blank_pictures_give_correct_empty_features(
    name: str, shape: tuple[int, int]
) -> None:
    spec = EXTRACTORS[name]
    for value in (0, 128, 255):
        features = extract(np.full(shape, value, dtype=np.uint8), name)
        assert features.descriptors.shape == (0, spec.dimension)
        assert features.descriptors.dtype == spec.dtype
        assert features.keypoints.shape == (0, 2)
        assert features.image_size == shape[::-1]


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(OFFLINE),
    height=st.integers(1, 90),
    width=st.integers(1, 90),
    seed=st.integers(0, 99),
    cell=st.sampled_from([1, 4, 12]),
)
def test_any_picture_passes_the_door_of_features(
    name: str, height: int, width: int, seed: int, cell: int
) -> None:
    coarse = np.random.default_rng(seed).integers(0, 256, (90, 90), dtype=np.uint8)
    image = np.kron(coarse, np.ones((cell, cell), dtype=np.uint8))[:height, :width]
    features = extract(image, name, max_keypoints=200)
    assert features.descriptors.shape[1] == EXTRACTORS[name].dimension
    assert len(features) <= 200


def test_a_path_an_array_and_gray_agree(tmp_path: Path, astronaut: NDArray[np.uint8]) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(astronaut).save(path)
    expected = extract(astronaut)
    assert extract(path) == expected
    assert extract(str(path)) == expected
    gray = np.asarray(cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY), dtype=np.uint8)
    assert extract(gray) == expected
    with pytest.raises(UnreadableImage, match="no such file"):
        extract(tmp_path / "absent.png")


def test_positions_count_from_the_centre_of_the_first_pixel() -> None:
    y, x = np.mgrid[:101, :121]
    for sigma in (2, 4, 8):
        blob = 200 * np.exp(-((x - 60.3) ** 2 + (y - 50.7) ** 2) / (2 * sigma**2))
        found = extract(blob.astype(np.uint8)).keypoints[0]
        assert np.abs(found - [60.3, 50.7]).max() < 0.1


def test_sift_is_stored_without_loss(astronaut: NDArray[np.uint8]) -> None:
    gray = cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY)
    detector = cv2.SIFT.create(enable_precise_upscale=True)
    found, descriptors = detector.detectAndCompute(gray, None)
    expected = np.asarray(descriptors)[strongest(found, None)]
    assert np.array_equal(extract(astronaut).descriptors, expected)
    for bad in (0.5, -1.0, 256.0, np.nan):
        with pytest.raises(SfumatoError, match="whole numbers"), np.errstate(invalid="ignore"):
            _whole_bytes(np.full((1, 128), bad, dtype=np.float32))


def test_rootsift_has_unit_length_and_squares_back_to_sift(astronaut: NDArray[np.uint8]) -> None:
    plain, rooted = extract(astronaut), extract(astronaut, "rootsift")
    assert np.linalg.norm(rooted.descriptors, axis=1) == pytest.approx(1.0, abs=1e-6)
    shares = plain.descriptors / plain.descriptors.sum(axis=1, keepdims=True)
    assert rooted.descriptors**2 == pytest.approx(shares, abs=1e-6)
    assert np.array_equal(plain.keypoints, rooted.keypoints)
    assert (root(np.zeros((1, 128))) == 0).all()


def test_equal_responses_are_ordered_by_place() -> None:
    points = [(5, 9, 10.0, 2.0), (5, 3, 10.0, 1.0), (1, 3, 10.0, 1.0), (5, 3, 0.0, 1.0)]
    found = [cv2.KeyPoint(x, y, size, angle, 0.5) for x, y, angle, size in points]
    found.append(cv2.KeyPoint(50, 50, 1.0, 0.0, 0.9))
    assert strongest(found, None) == [4, 2, 3, 1, 0]
    assert strongest(found, 2) == [4, 2]


def test_harris_finds_the_corners_of_a_square() -> None:
    image = np.zeros((80, 100), dtype=np.uint8)
    image[20:50, 30:70] = 255
    places = np.array([corner.pt for corner in harris_corners(image)])
    assert len(places) == 4
    expected = np.array([[30, 20], [69, 20], [30, 49], [69, 49]])
    distances = np.abs(places[:, None] - expected[None]).max(axis=2)
    assert (distances.min(axis=0) <= 1).all()


def test_harris_corners_keep_their_distance(astronaut: NDArray[np.uint8]) -> None:
    features = extract(astronaut, "sift-harris")
    gaps = np.abs(features.keypoints[:, None] - features.keypoints[None]).max(axis=2)
    assert gaps[~np.eye(len(features), dtype=bool)].min() >= 4
    assert (features.keypoints == np.rint(features.keypoints)).all()
    assert (features.scales == HARRIS_DIAMETER).all()
    assert (features.angles == -1).all()


def test_freak_rows_belong_to_their_corners(astronaut: NDArray[np.uint8]) -> None:
    """Corners near the border are left out; what remains is a subsequence, aligned."""
    corners, freak = extract(astronaut, "sift-harris"), extract(astronaut, "freak")
    assert 0 < len(freak) < len(corners)
    place = {tuple(point): score for point, score in zip(corners.keypoints, corners.scores)}  # noqa: B905
    assert all(
        place[tuple(point)] == score
        for point, score in zip(freak.keypoints, freak.scores, strict=True)
    )
    gray = np.asarray(cv2.cvtColor(astronaut, cv2.COLOR_RGB2GRAY))
    for row in (0, len(freak) // 2, len(freak) - 1):
        x, y = freak.keypoints[row]
        alone = cv2.xfeatures2d.FREAK.create().compute(gray, [cv2.KeyPoint(x, y, 7.0)])[1]
        assert np.array_equal(alone[0], freak.descriptors[row])


@pytest.mark.parametrize("name", OFFLINE)
def test_the_same_place_is_recognised_after_a_shift(
    name: str, astronaut: NDArray[np.uint8]
) -> None:
    """Nearest descriptors of a moved picture lie where the picture was moved to."""
    moved = np.roll(astronaut, (6, 10), axis=(0, 1))
    a, b = extract(astronaut, name), extract(moved, name)
    norm = cv2.NORM_HAMMING if EXTRACTORS[name].binary else cv2.NORM_L2
    left, right = (
        f.descriptors if EXTRACTORS[name].binary else f.descriptors.astype(np.float32)
        for f in (a, b)
    )
    pairs = cv2.BFMatcher(norm, crossCheck=True).match(left, right)
    shift = (
        b.keypoints[[pair.trainIdx for pair in pairs]]
        - a.keypoints[[pair.queryIdx for pair in pairs]]
    )
    assert (np.abs(shift - [10, 6]).max(axis=1) < 1).mean() > 0.8


def test_requests_that_make_no_sense_are_refused(astronaut: NDArray[np.uint8]) -> None:
    with pytest.raises(InvalidInput, match=r"one of sift, .*got 'surf'"):
        extract(astronaut, "surf")
    for limit in (0, -3, True, 2.5):
        with pytest.raises(InvalidInput, match="max_keypoints"):
            extract(astronaut, max_keypoints=limit)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="takes no weights"):
        extract(astronaut, weights="weights.pth")
    with pytest.raises(InvalidInput, match="uint8"):
        extract(astronaut / 255)


def test_a_picture_too_large_for_the_pyramid_is_refused_before_the_work() -> None:
    side = 6000
    assert side * side > MAX_SIFT_PIXELS
    broad = np.broadcast_to(np.zeros((1, 1, 3), dtype=np.uint8), (side, side, 3))
    with pytest.raises(InvalidInput, match="6000×6000; make the picture smaller"):
        extract(broad)


def test_importing_features_stays_light() -> None:
    code = (
        "import sys, sfumato, sfumato.features as f; f.EXTRACTORS; "
        "print([m for m in ('cv2', 'h5py', 'torch', 'kornia', 'skimage') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


def test_a_picture_too_large_for_features_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.png"
    Image.new("1", (11_500, 8_000)).save(path)  # 92 megapixels

    def decode(_: object) -> None:
        raise AssertionError("it was decoded")

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", decode)
    with pytest.raises(UnreadableImage, match="may have 30000000 pixels, its header announces"):
        extract(path)
    with pytest.raises(InvalidInput, match="30000000 pixels"):
        list(iter_folder_features(tmp_path, strict=True))
    pipeline = Pipeline(mechanism=Plain())
    with pytest.raises(InvalidInput, match="30000000 pixels"):
        protect(path, pipeline)


def test_a_shipped_extractor_is_an_extractor_like_ones_own(astronaut: NDArray[np.uint8]) -> None:
    own: Extractor = EXTRACTORS["sift"]
    assert own(astronaut) == extract(astronaut, own) == extract(astronaut, "sift")
