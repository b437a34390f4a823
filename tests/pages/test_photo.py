"""One photograph under every attack, and the page about it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from numpy.typing import NDArray

from onnx_bytes import save_painter
from sfumato.adversary.invert.architecture import Architecture
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import WordRelease
from sfumato.detectors import Boxes, GivenBoxes
from sfumato.device.explain import Observed
from sfumato.device.filters import Decoys, Suppress
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import Pipeline, protect
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.pages.photo import run_photo, shrink
from sfumato.pages.photo_page import photo_page
from sfumato.pages.photo_result import (
    LIFTED,
    RAW,
    RECOVERIES,
    WORDS,
    PhotoResult,
    PhotoSettings,
    Send,
)
from sfumato.pages.photo_sending import own_keypoints
from sfumato.pages.photo_text import as_dict, cells, short_cells
from support import photograph

SMALL = PhotoSettings(dimensions=(2,), epsilons=(14.0, 4.0), max_side=96)


def cut() -> NDArray[np.uint8]:
    return np.ascontiguousarray(photograph()[60:164, 170:290])


@cache
def words() -> Dictionary:
    """Descriptors of another part of the photograph, two parts of which are alike to a lifting."""
    found = extract(np.ascontiguousarray(photograph()[256:])).descriptors
    found = np.unique(found, axis=0)
    return Dictionary.from_words(found[: len(found) // 32 * 32], extractor="sift")


@cache
def a_result() -> PhotoResult:
    with TemporaryDirectory() as folder:
        save_painter(Path(folder) / "sift-raw.onnx", Architecture(depth=4))
        return run_photo(cut(), SMALL, networks=folder, dictionary=words(), threads=1)


@cache
def a_page() -> str:
    return photo_page(a_result(), "sfumato attack photo IMAGE --epsilon '<14>'")


def test_every_mechanism_is_attacked_by_every_attack() -> None:
    result = a_result()
    assert [row.mechanism for row in result.rows] == [RAW, *[WORDS] * 2, *[LIFTED] * 4]
    assert [row.attack for row in result.of(LIFTED)] == list(RECOVERIES)
    for row in result.rows:
        assert row.picture.shape == result.photo.shape
        assert row.num_bytes > 40
    assert result.left_out == ()


def test_what_is_read_exactly_is_painted_as_the_raw_descriptors_are() -> None:
    result = a_result()
    vertex = next(row for row in result.rows if row.attack == "vertex")
    nearest = next(row for row in result.rows if row.attack == "nearest")
    assert vertex.right is not None
    assert nearest.right is not None
    assert vertex.right > 0.9 > nearest.right
    away = [np.abs(row.picture - result.raw.picture).mean() for row in (vertex, nearest)]
    assert away[0] < 0.2 * away[1]


def test_fewer_true_words_are_read_where_epsilon_is_small() -> None:
    many, few = a_result().of(WORDS)
    assert many.right is not None
    assert few.right is not None
    assert many.right > 0.9
    assert few.right < 0.5
    assert (many.epsilon, few.epsilon) == (14.0, 4.0)
    assert many.event.picture_epsilon == 14.0 * len(a_result().features)


def test_all_keypoints_of_the_whole_photograph_are_sent_and_only_the_painting_is_smaller() -> None:
    result = a_result()
    level = words().at_epsilon(14.0, 1)
    release = protect(cut(), Pipeline(SubsetMechanism(14.0, 1, level)), rng=SeededRandom(0))
    assert isinstance(release, WordRelease)
    assert np.array_equal(result.sent[0].release.keypoints, release.keypoints)
    assert result.sent[0].facts["bytes"] == len(release.to_bytes())
    assert result.sent[0].release.image_size == (120, 104)
    assert result.photo.shape == result.raw.picture.shape == (83, 96, 3)
    facts = as_dict(result)["would_be_sent"][0]
    assert facts["exact_epsilon_per_picture"] <= facts["epsilon_per_picture"] == 14 * len(release)


def hiding_a_box(dictionary: Dictionary, *, decoys: bool) -> Send:
    box = GivenBoxes(Boxes(np.array([[60.0, 60, 160, 200]]), ("face",), np.ones(1)))

    def send(epsilon: float) -> tuple[Pipeline, Observed]:
        observed = Observed()
        hide = Suppress(
            box, decoys=Decoys(dictionary) if decoys else None, report=observed.hidden.append
        )
        mechanism = SubsetMechanism(epsilon, 1, dictionary)
        return Pipeline(mechanism, filters=(hide,)), observed

    return send


@pytest.mark.parametrize("decoys", [False, True])
def test_what_is_hidden_is_shaded_and_its_keypoints_are_not_sent(
    tmp_path: Path, decoys: bool
) -> None:
    save_painter(tmp_path / "sift-raw.onnx", Architecture(depth=4))
    settings = PhotoSettings(dimensions=(), epsilons=(6.0,), max_side=96)
    send = hiding_a_box(words(), decoys=decoys)
    photo = np.ascontiguousarray(photograph()[:256, :256])
    result = run_photo(photo, settings, send=send, networks=tmp_path, dictionary=words(), threads=1)
    (sent,) = result.sent
    assert result.preview is not None
    shade = result.preview.astype(float) / np.maximum(result.photo, 1)
    assert np.median(shade[25:72, 25:58]) < 0.5
    assert np.median(shade[:, 66:]) > 0.9
    kept, own = own_keypoints(result.features, sent.features)
    inside = (abs(result.features.keypoints - (110, 130)) <= (50, 70)).all(axis=1)
    assert inside.any()
    assert not (inside & kept).any()
    assert (~own).any() == decoys
    page = photo_page(result, "x", ("--boxes", "my boxes.json"))
    assert ("decoys are sent in their place" in page) == decoys
    assert ["Nothing: no such option" in one for one in (page, a_page())] == [False, True]


def test_nothing_left_to_send_is_said(tmp_path: Path) -> None:
    save_painter(tmp_path / "sift-raw.onnx", Architecture(depth=4))

    def send(epsilon: float) -> tuple[Pipeline, Observed]:
        mechanism = SubsetMechanism(epsilon, 1, words())
        return Pipeline(mechanism, filters=(lambda features, rng: features.take([]),)), Observed()

    settings = PhotoSettings(dimensions=(), epsilons=(6.0,), max_side=96)
    result = run_photo(cut(), settings, send=send, networks=tmp_path, dictionary=words(), threads=1)
    assert "nothing is left to send" in result.left_out[0]
    assert [row.mechanism for row in result.rows] == [RAW]


def test_an_epsilon_is_never_without_its_unit_and_never_beside_a_subspace() -> None:
    for row in a_result().rows:
        shown = " ".join(cells(row))
        if row.mechanism == WORDS:
            assert re.search(r"ε = \d+ per descriptor", shown)
            assert "per picture" in shown
        else:
            assert "ε" not in shown
            assert row.epsilon is None
            assert short_cells(row)[2:4] == ("none", "none")
    for row in as_dict(a_result())["rows"]:
        assert ("epsilon_per_descriptor" in row) == (row["sent"] == WORDS)
        assert "the positions of the keypoints" in row["not_protected"]


def test_the_same_seed_gives_the_same_page(tmp_path: Path) -> None:
    save_painter(tmp_path / "sift-raw.onnx", Architecture(depth=4))
    fast = PhotoSettings(dimensions=(), epsilons=(8.0,), max_side=96)
    made = [
        photo_page(
            run_photo(cut(), settings, networks=tmp_path, dictionary=words(), threads=1), "x"
        )
        for settings in (fast, fast, PhotoSettings(**{**vars(fast), "seed": 1}))
    ]
    assert made[0] == made[1] != made[2]


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    page = a_page()
    root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    pictures = root.findall(".//img")
    assert len(pictures) == 2 + 2 + 4
    assert all((image.get("src") or "").startswith("data:image/jpeg;base64,") for image in pictures)
    assert all(image.get("alt") for image in pictures)
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "--epsilon &#39;&lt;14&gt;&#39;" in page


def test_the_page_says_what_is_not_protected_and_gives_the_figures() -> None:
    text = " ".join("".join(ElementTree.fromstring(a_page().split("\n", 1)[1]).itertext()).split())
    assert "Guarantee: none." in text
    assert "Not protected: the positions of the keypoints" in text
    assert "This page holds the photograph" in text
    assert "mean colour" in text
    assert "where guessing is right 50 times" in text
    for row in a_result().rows:
        assert f"{row.similarity.ssim:.3f}" in text
        assert f"{row.num_bytes:,}" in text


def test_no_keypoints_give_a_blank_picture_and_say_so(tmp_path: Path) -> None:
    save_painter(tmp_path / "sift-raw.onnx", Architecture(depth=4))
    blank = np.full((40, 60, 3), 120, dtype=np.uint8)
    result = run_photo(blank, SMALL, networks=tmp_path, dictionary=words(), threads=1)
    assert [row.mechanism for row in result.rows] == [RAW]
    assert "no keypoints" in result.raw.remark
    assert "no keypoints to send" in result.left_out[0]
    page = photo_page(result, "sfumato attack photo IMAGE")
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))
    assert "No keypoints: nothing to reconstruct from" in page


def test_networks_for_what_is_sent_are_used_where_they_fit(tmp_path: Path) -> None:
    save_painter(tmp_path / "sift-raw.onnx", Architecture(depth=4))
    save_painter(tmp_path / "sift-words.onnx", Architecture(depth=4, kind="words"))
    save_painter(
        tmp_path / "sift-positions.onnx", Architecture(depth=4, kind="positions", channels=1)
    )
    small = Architecture(depth=4, kind="subspace", channels=3 * 128)
    save_painter(tmp_path / "sift-subspace.onnx", small)
    settings = PhotoSettings(
        dimensions=(2, 3), attacks=("nearest",), epsilons=(8.0,), max_lifted=20, max_side=96
    )
    result = run_photo(cut(), settings, networks=tmp_path, dictionary=words(), threads=1)
    read = [(row.mechanism, row.dimension, row.attack) for row in result.rows]
    assert (LIFTED, 2, "direct") in read
    assert (LIFTED, 3, "direct") not in read
    assert read.index((WORDS, None, "direct")) < read.index((WORDS, None, "posterior"))
    assert "m = 3: it is for another dimension" in result.left_out[0]
    assert [one.name for one in result.baselines] == ["mean colour", "positions only"]
    assert len(result.networks) == 4
    page = photo_page(result, "x")
    assert page.index("painted by a network trained for it") < page.index("The same words, painted")


def test_an_extractor_without_words_is_shown_raw_and_the_rest_is_named(tmp_path: Path) -> None:
    save_painter(
        tmp_path / "freak-raw.onnx", Architecture(depth=4, extractor="freak", channels=512)
    )
    settings = PhotoSettings(extractor="freak", max_side=128)
    result = run_photo(cut(), settings, networks=tmp_path, dictionary=words(), threads=1)
    assert [row.mechanism for row in result.rows] == [RAW]
    assert "they need a dictionary of freak words" in result.left_out[0]


def test_words_too_few_to_lift_with_are_still_sent(tmp_path: Path) -> None:
    save_painter(tmp_path / "sift-raw.onnx", Architecture(depth=4))
    few = Dictionary.from_words(words().words[:40], extractor="sift")
    settings = PhotoSettings(dimensions=(4,), epsilons=(3.0,), max_side=96)
    result = run_photo(cut(), settings, networks=tmp_path, dictionary=few, threads=1)
    assert [row.mechanism for row in result.rows] == [RAW, WORDS]
    assert "needs 32 words of its own, there are 20" in result.left_out[0]
    with pytest.raises(InvalidInput, match="dimension must be between 2 and 127"):
        run_photo(cut(), PhotoSettings(dimensions=(128,)), networks=tmp_path)


def test_a_network_under_a_wrong_name_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="invert train"):
        run_photo(cut(), PhotoSettings(extractor="vgg"), networks=tmp_path)
    save_painter(tmp_path / "vgg-raw.onnx")
    with pytest.raises(InvalidInput, match="it is one for sift raw"):
        run_photo(cut(), PhotoSettings(extractor="vgg"), networks=tmp_path)


def test_large_pictures_are_scaled_and_tiny_ones_refused() -> None:
    wide = np.zeros((100, 400, 3), dtype=np.uint8)
    assert shrink(wide, 200).shape == (50, 200, 3)
    assert shrink(wide, 400) is wide
    with pytest.raises(InvalidInput, match="at least 16×16 pixels, got 400×8"):
        shrink(wide[:8], 200)
