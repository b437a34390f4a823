"""From picture to release: charged first, explained honestly."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sfumato.core.errors import BudgetSpent, InvalidInput, NotPrivate
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import PlainRelease, WordRelease
from sfumato.core.types import PrivacyEvent
from sfumato.device.explain import advantage_sentence, explain, explanation_text, promise, short
from sfumato.device.filters import ConstantCount, KeepStrongest
from sfumato.device.ledger import Caps, Ledger
from sfumato.device.mechanisms import Plain, Quantize, SubsetMechanism
from sfumato.device.protect import Pipeline, protect, select
from sfumato.dictionary import Dictionary
from support import CAMERA, one_of_each_release, photograph

PHOTO = photograph()
WORDS = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
DICTIONARY = Dictionary.from_words(WORDS, extractor="sift")
MECHANISM = SubsetMechanism(10.0, 2, DICTIONARY)


def test_a_photograph_becomes_a_release() -> None:
    release = protect(PHOTO, Pipeline(MECHANISM, filters=(KeepStrongest(300),)))
    assert isinstance(release, WordRelease)
    assert len(release) == 300
    assert release.image_size == (512, 512)
    assert release.dictionary == DICTIONARY.fingerprint
    assert not release.reproducible


def test_a_blank_picture_becomes_an_empty_valid_release() -> None:
    release = protect(np.zeros((64, 64, 3), dtype=np.uint8), Pipeline(MECHANISM))
    assert len(release.to_bytes()) == 104
    padded = Pipeline(MECHANISM, filters=(ConstantCount(50, DICTIONARY),))
    hidden = protect(np.zeros((64, 64, 3), dtype=np.uint8), padded)
    assert isinstance(hidden, WordRelease)
    assert len(hidden) == 50


def test_the_ledger_is_charged_before_anything_is_drawn(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(session=5000))
    pipeline = Pipeline(MECHANISM, filters=(KeepStrongest(300),))
    protect(PHOTO, pipeline, ledger=ledger)
    assert ledger.spent().epsilon == 3000

    class MustNotDraw(SecureRandom):
        def words(self, count: int, bits: int) -> np.ndarray:
            raise AssertionError("drawn after the ledger refused")

    with pytest.raises(BudgetSpent):
        protect(PHOTO, pipeline, ledger=ledger, rng=MustNotDraw())
    assert ledger.spent().epsilon == 3000


def test_a_seeded_generator_makes_no_real_release(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    with pytest.raises(NotPrivate, match="seeded"):
        protect(PHOTO, Pipeline(MECHANISM), rng=SeededRandom(0), ledger=ledger)
    assert ledger.spent().pictures == 0
    assert protect(PHOTO, Pipeline(MECHANISM), rng=SeededRandom(0)).reproducible


def test_features_that_were_selected_are_the_ones_released() -> None:
    pipeline = Pipeline(Plain(), max_keypoints=100)
    features = select(PHOTO, pipeline, rng=SecureRandom())
    release = protect(PHOTO, pipeline)
    assert isinstance(release, PlainRelease)
    sent = {row.tobytes() for row in release.descriptors}
    assert sent == {row.tobytes() for row in features.descriptors}


def test_a_camera_of_another_picture_is_refused() -> None:
    with pytest.raises(InvalidInput, match="scale the intrinsics"):
        protect(PHOTO, Pipeline(MECHANISM), camera=CAMERA)


def test_what_leaves_is_explained_with_its_unit_and_its_limits() -> None:
    features = select(PHOTO, Pipeline(MECHANISM, max_keypoints=200), rng=SecureRandom())
    release = MECHANISM.release(features, rng=SecureRandom())
    facts = explain(release, MECHANISM.event(features), MECHANISM.keep_probability)
    assert facts["epsilon_per_unit"] == 10
    assert facts["epsilon_per_picture"] == 2000
    assert facts["bytes"] == len(release.to_bytes())
    text = explanation_text(facts)
    assert "ε = 10 for one descriptor" in text["guarantee"]
    assert "22,026 times" in text["guarantee"]
    assert "N·ε = 2,000" in text["whole picture"]
    assert f"E = {short(facts['exact_epsilon_per_picture'])}" in text["whole picture"]
    assert "same number of keypoints" in text["what is compared"]
    assert "positions" in text["not protected"]
    assert f"{MECHANISM.keep_probability:.3f}" in text["the true word is sent"]


def test_an_object_is_explained_by_how_often_a_guess_is_right() -> None:
    event = PrivacyEvent("subset", 6.0, 1104, "one descriptor", ("positions",), 16_384)
    facts = promise(event)
    assert facts["object_seen_by"] == 10
    assert round(facts["advantage_per_object"], 3) == 0.215
    assert "at most 61 times in 100" in advantage_sentence(facts["advantage_per_object"])
    assert promise(event, 40)["advantage_per_object"] > facts["advantage_per_object"]
    assert "every time" in advantage_sentence(1.0)
    assert "at most 50 times" in advantage_sentence(0.0)


def test_what_has_no_guarantee_shows_none() -> None:
    features = select(PHOTO, Pipeline(MECHANISM, max_keypoints=20), rng=SecureRandom())
    quantize = Quantize(DICTIONARY)
    release = quantize.release(features, rng=SecureRandom())
    text = explanation_text(explain(release, quantize.event(features), 1.0))
    assert "nothing is hidden" in text["guarantee"]
    lifted = PrivacyEvent("lifting", None, 23, "one descriptor", ("the descriptors",))
    text = explanation_text(explain(one_of_each_release()["subspaces"], lifted, None))
    assert text["guarantee"] == "none"
    assert not any("ε" in sentence for sentence in text.values())
    assert math.isinf(quantize.epsilon)
