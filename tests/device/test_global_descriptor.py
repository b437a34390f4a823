"""One private vector beside the words: charged together, and nothing else of the picture in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bag_spaces import bag_space
from sfumato.core.errors import BudgetSpent, InvalidInput, Mismatch, NotPrivate
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import Release, VectorRelease
from sfumato.core.vector_space import VectorSpace
from sfumato.device.global_descriptor import UNIT, GlobalDescriptor
from sfumato.device.ledger import Caps, Ledger
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import send_together
from support import CAMERA, features_of, tiny_dictionary

WORDS = tiny_dictionary(64)
SPACE = bag_space(WORDS)
FEATURES = features_of(WORDS.words[np.arange(100) % 10])
VECTOR = GlobalDescriptor(8.0, WORDS, SPACE)
BOTH = (SubsetMechanism(6.0, 1, WORDS), VECTOR)


class MustNotDraw(SecureRandom):
    def words(self, count: int, bits: int) -> np.ndarray:
        raise AssertionError("drawn after the ledger refused")


def test_words_and_vector_are_charged_together_and_the_vector_says_nothing_else(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path / "l")
    words, vector = send_together(FEATURES, BOTH, rng=SecureRandom(), ledger=ledger, camera=CAMERA)
    assert ledger.spent().epsilon == 100 * 6 + 8
    assert words.kind == "words"
    assert isinstance(vector, VectorRelease)
    assert (len(vector), vector.epsilon, vector.space) == (1, 8.0, SPACE.fingerprint)
    assert (vector.image_size, vector.camera, vector.reproducible) == ((1, 1), None, False)
    assert Release.from_bytes(vector.to_bytes()) == vector


def test_the_event_names_the_unit_and_what_is_not_protected() -> None:
    event = VECTOR.event(FEATURES)
    assert (event.epsilon, event.num_units, event.unit) == (8.0, 1, UNIT)
    assert "that a global descriptor is sent" in event.not_protected


@pytest.mark.parametrize(
    "caps",
    [
        Caps(session=607),
        Caps(picture=607),  # each release alone would pass
        Caps(descriptor=13),  # a descriptor is in its word and in the vector
        Caps(exact=1.0),
    ],
)
def test_a_cap_holds_for_both_together_and_a_refusal_charges_and_draws_nothing(
    caps: Caps, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "l", caps=caps)
    with pytest.raises(BudgetSpent):
        send_together(FEATURES, BOTH, rng=MustNotDraw(), ledger=ledger)
    assert (ledger.spent().epsilon, ledger.spent().pictures) == (0, 0)


def test_caps_that_both_together_meet_exactly_let_them_pass(tmp_path: Path) -> None:
    caps = Caps(descriptor=14, picture=608, session=608)
    ledger = Ledger(tmp_path / "l", caps=caps)
    send_together(FEATURES, BOTH, rng=SecureRandom(), ledger=ledger)
    assert ledger.spent().remaining == 0


def test_a_seeded_generator_is_refused_where_a_ledger_is_charged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    with pytest.raises(NotPrivate, match="seeded"):
        send_together(FEATURES, BOTH, rng=SeededRandom(0), ledger=ledger)
    assert ledger.spent().epsilon == 0
    assert send_together(FEATURES, BOTH, rng=SeededRandom(0))[1].reproducible


def test_what_does_not_fit_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    for features, sentence in (
        (features_of(FEATURES.descriptors, extractor="other"), "use one extractor"),
        (FEATURES.take(np.arange(0)), "without keypoints has no global descriptor"),
    ):
        with pytest.raises(InvalidInput, match=sentence):
            send_together(features, (VECTOR,), rng=MustNotDraw(), ledger=ledger)
    assert ledger.spent().epsilon == 0
    with pytest.raises(Mismatch, match="another dictionary"):
        GlobalDescriptor(8.0, tiny_dictionary(64, seed=1), SPACE)
    faces = VectorSpace.fit(np.random.default_rng(0).normal(size=(40, 64)), 8, extractor="dlib")
    with pytest.raises(Mismatch, match="not of global descriptors"):
        GlobalDescriptor(8.0, WORDS, faces)
    for epsilon in (0.0, -1.0, float("nan"), 1e9):
        with pytest.raises(InvalidInput, match="epsilon must be"):
            GlobalDescriptor(epsilon, WORDS, SPACE)
