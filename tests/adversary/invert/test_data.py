"""Examples are a function of seed and step, with or without a cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sfumato.adversary.invert import crops
from sfumato.adversary.invert.crops import CropSource, find_pictures, fit_square, random_crop
from sfumato.adversary.invert.data import DataOptions, Example, PaintRecipe, View
from sfumato.adversary.invert.encoders import as_released
from sfumato.adversary.invert.sparse import MapOptions
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.features.image import decode_image

MAPS = MapOptions(multiple=16)


def source(
    folder: Path, cache: Path | None = None, view: View | None = None, **options: float
) -> CropSource[Example]:
    settings = DataOptions(crop=64, variants=2, **options)  # type: ignore[arg-type]
    found = find_pictures([folder], 64)
    return CropSource(found, PaintRecipe(view or View(), settings, MAPS), 3, cache)


def same(a: Example, b: Example) -> bool:
    return (
        np.array_equal(a.picture, b.picture)
        and np.array_equal(a.encoded.rows, b.encoded.rows)
        and np.array_equal(a.pixels.index, b.pixels.index)
        and np.array_equal(a.pixels.offsets, b.pixels.offsets)
    )


def test_the_cache_changes_nothing_but_time(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    plain, kept = source(folder), source(folder, cache)
    for step in (0, 1, 0, 5):
        for a, b in zip(plain.batch(step, 3), kept.batch(step, 3), strict=True):
            assert same(a, b)
    files = sorted(cache.iterdir())
    assert files
    assert all(file.suffix == ".npz" for file in files)
    files[0].write_bytes(b"damaged")
    assert all(same(a, b) for a, b in zip(plain.batch(0, 3), kept.batch(0, 3), strict=True))


def test_the_cache_stays_within_its_bound(folder: Path, tmp_path: Path) -> None:
    made = source(folder, tmp_path / "cache", cache_gb=3e-5)
    made.batch(0, 10)
    total = sum(file.stat().st_size for file in (tmp_path / "cache").iterdir())
    assert 0 < total <= 30_000


def test_every_picture_comes_once_per_epoch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Path] = []

    def noted(path: Path) -> NDArray[np.uint8]:
        seen.append(path)
        return decode_image(path)

    made = source(folder)
    monkeypatch.setattr(crops, "decode_image", noted)
    made.batch(0, 5)
    made.batch(1, 5)
    assert sorted(seen[:5]) == sorted(seen[5:]) == sorted(folder.iterdir())


def test_dropout_leaves_keypoints_out(folder: Path) -> None:
    whole = source(folder, dropout=0.0).batch(0, 4)
    dropped = source(folder, dropout=0.9).batch(0, 4)
    assert sum(len(e.encoded) for e in dropped) < sum(len(e.encoded) for e in whole)


def test_a_release_stands_between_features_and_rows(folder: Path) -> None:
    seeds: list[int] = []

    def half(features: Features, seed: int) -> Features:
        seeds.append(seed)
        return features.take(np.arange(len(features) // 2))

    one = source(folder, dropout=0.0).batch(0, 2)
    other = source(folder, view=View(release=half), dropout=0.0).batch(0, 2)
    assert [len(e.encoded) for e in other] == [len(e.encoded) // 2 for e in one]
    assert len(set(seeds)) == 2


def test_pictures_too_small_or_unreadable_are_counted(folder: Path) -> None:
    Image.fromarray(np.zeros((40, 90, 3), dtype=np.uint8)).save(folder / "small.png")
    (folder / "broken.png").write_bytes(b"no picture")
    found = find_pictures([folder], 64)
    assert (len(found.paths), found.small, found.unreadable) == (5, 1, 1)


def test_a_folder_without_a_usable_picture_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"at least 128×128 .* 5 are smaller"):
        find_pictures([folder], 128)
    with pytest.raises(InvalidInput, match="no folder of pictures"):
        find_pictures([tmp_path / "absent"], 64)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InvalidInput, match="holds no picture"):
        find_pictures([empty], 64)


def test_crops_are_square_and_inside() -> None:
    image = np.arange(90 * 70 * 3, dtype=np.uint32).reshape(70, 90, 3).astype(np.uint8)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert random_crop(image, 64, rng).shape == (64, 64, 3)
    assert fit_square(image, 64).shape == (64, 64, 3)
    assert fit_square(image, 70).shape == (70, 70, 3)
    assert np.array_equal(fit_square(image, 70), image[:, 10:80])


def test_either_shows_half_of_the_examples_without_their_frames(folder: Path) -> None:
    view, whole = View(frames="either"), source(folder).whole(0)
    features = extract(whole.picture)
    certainty = [np.hypot(*view.encode(features, seed).rows[0, -2:]) for seed in range(4)]
    assert certainty == pytest.approx([1, 0.5, 1, 0.5])


def test_either_with_a_release_sends_half_of_the_examples(folder: Path) -> None:
    sent: list[int] = []

    def release(features: Features, seed: int) -> KeypointRelease:
        sent.append(seed)
        return as_released(features)

    features = extract(source(folder).whole(0).picture)
    view = View(frames="either", release=release)
    for seed in range(8):
        view.encode(features, seed)
    assert sent == [2, 3, 6, 7]


@pytest.mark.parametrize(("epsilon", "near"), [(12.0, True), (6.0, False)])
def test_words_that_are_mostly_true_come_with_frames_as_an_attacker_finds_them(
    folder: Path, epsilon: float, near: bool
) -> None:
    public = Dictionary.load("open-64k")
    mechanism = SubsetMechanism(epsilon, 1, public.at_epsilon(epsilon))

    def release(features: Features, seed: int) -> KeypointRelease:
        return mechanism.release(features, rng=SeededRandom(seed))

    features = extract(source(folder).whole(0).picture)
    seen = View(frames="either", dictionary=public, release=release).encode(features, 2)
    assert seen.scales is not None
    assert (np.median(np.abs(np.log2(seen.scales / features.scales))) < 0.2) == near
    certainty = 0.5 * mechanism.keep_probability
    assert np.hypot(*seen.rows[:, -2:].T) == pytest.approx(certainty, abs=1e-5)
