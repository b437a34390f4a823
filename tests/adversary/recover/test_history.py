"""The history attack: two fresh lifts are one too many, memoised ones are as good as one."""

from __future__ import annotations

import numpy as np
import pytest

from face_worlds import invented_people
from sfumato.adversary.recover.history import history_attack
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import Release, SubspaceRelease
from sfumato.device.mechanisms import (
    MemoisedLifting,
    MemoisedSubset,
    SubsetMechanism,
    SubspaceLifting,
)
from sfumato.dictionary import Dictionary
from sfumato.faces.embeddings import as_features
from sfumato.matching.subspace import closer_than
from support import tiny_dictionary

PEOPLE = unit_vectors(invented_people(num_people=40, dimension=64)[0])
FACES = PEOPLE[:12:6]  # two pictures of two people
WORDS = Dictionary.from_words(
    PEOPLE[60:].astype(np.float32), extractor="tiny", metric="l2", provenance="other people"
)
RNG = SecureRandom()


def error(sent: list[Release], truth: np.ndarray) -> float:
    found = history_attack(sent, public=PEOPLE[60:])
    return float(np.linalg.norm(found.descriptors[0] - truth))


def shared_words(a: SubspaceRelease, b: SubspaceRelease) -> int:
    """How many public words two subspaces both pass through."""
    first, second = (set(closer_than(one, PEOPLE[60:], 1e-4)[1].tolist()) for one in (a, b))
    return len(first & second)


@pytest.mark.parametrize("strategy", ["random", "hybrid", "adversarial"])
@pytest.mark.parametrize("dimension", [2, 4, 8, 16])
def test_two_fresh_lifts_give_the_embedding_away(strategy: str, dimension: int) -> None:
    lifting = SubspaceLifting(strategy, dimension, WORDS)
    rng = SeededRandom(dimension)
    seen = 0
    for face in FACES:
        features = as_features(face[None], "tiny")
        sent = [lifting.release(features, rng=rng) for _ in range(3)]
        assert error([sent[0]], face) > 1e-3
        shared = shared_words(*sent[:2])
        if shared < 2:  # through two common words and the embedding goes a whole plane
            assert error([*sent[:2]], face) < 1e-3
            assert history_attack(sent[:2], public=PEOPLE[60:]).certified[0]
            assert history_attack(sent[:2]).certified[0] == (shared == 0)
            seen += 1
        if dimension < 16:
            assert error([*sent], face) < 1e-3
    assert seen or (strategy, dimension) == ("adversarial", 16)


def test_a_word_drawn_twice_does_not_help_against_who_knows_the_words() -> None:
    few = Dictionary.from_words(WORDS.words[:2], extractor="tiny", metric="l2", provenance="two")
    lifting = SubspaceLifting("hybrid", 2, few)
    features = as_features(FACES[:1], "tiny")
    rng = SeededRandom(1)
    sent = [lifting.release(features, rng=rng) for _ in range(3)]  # two of three share a word
    pair = next([a, b] for a in sent for b in sent if a is not b and shared_words(a, b) == 1)
    assert not history_attack(pair).certified[0]
    found = history_attack(pair, public=PEOPLE[60:])
    assert found.certified[0]
    assert np.linalg.norm(found.descriptors[0] - FACES[0]) < 1e-3


@pytest.mark.parametrize("strategy", ["random", "hybrid"])
@pytest.mark.parametrize("dimension", [2, 16])
def test_memoised_lifts_do_not(strategy: str, dimension: int) -> None:
    for face in FACES:
        memoised = MemoisedLifting(
            SubspaceLifting(strategy, dimension, WORDS), face, bytes(range(32))
        )
        features = as_features(face[None], "tiny")
        sent: list[Release] = [memoised.release(features, rng=RNG) for _ in range(5)]
        assert error(sent, face) == pytest.approx(error(sent[:1], face))
        assert error(sent, face) > 1e-3
        assert not history_attack(sent).certified[0]


def test_several_pictures_of_one_person_nearly_meet() -> None:
    """Fresh lifts of several pictures tell who it is; memoised ones no more than a single one."""
    lifting = SubspaceLifting("hybrid", 16, WORDS)
    rows = PEOPLE[:5]
    mean = unit_vectors(rows.mean(axis=0)[None])[0]
    rng = SeededRandom(3)
    fresh: list[Release] = [
        lifting.release(as_features(row[None], "tiny"), rng=rng) for row in rows
    ]
    assert error(fresh, mean) < 0.6 * error(fresh[:1], mean)
    memoised = MemoisedLifting(lifting, rows[0])
    parallel: list[Release] = [
        memoised.release(as_features(row[None], "tiny"), rng=RNG) for row in rows
    ]
    assert error(parallel, mean) > error(fresh, mean)


def test_words_vote_unless_they_are_memoised() -> None:
    words = tiny_dictionary(16, dimension=64)
    mechanism = SubsetMechanism(2.0, 1, words)  # keeps the true word a third of the time
    right = {"fresh": 0, "memoised": 0}
    kept = 0
    for row, face in enumerate(PEOPLE[:40]):
        features = as_features(face[None], "tiny")
        true = unit_vectors(words.words[mechanism.nearest_words(features)])[0]
        memoised = MemoisedSubset(mechanism, f"{row}".encode().ljust(32))
        rng = SeededRandom(row)
        once = memoised.release(features, rng=RNG).words[0, 0]
        kept += once == mechanism.nearest_words(features)[0]
        for way in right:
            use = mechanism if way == "fresh" else memoised
            sent = [use.release(features, rng=rng) for _ in range(20)]
            found = history_attack(sent, dictionary=words)
            right[way] += bool(np.linalg.norm(found.descriptors[0] - true) < 1e-3)
    assert right["fresh"] > 32
    assert right["memoised"] == kept < 28


def test_what_is_no_history_is_refused() -> None:
    lifting = SubspaceLifting("random", 2)
    one = lifting.release(as_features(PEOPLE[:1], "tiny"), rng=RNG)
    two = lifting.release(as_features(PEOPLE[:2], "tiny"), rng=RNG)
    short = lifting.release(as_features(PEOPLE[:1, :8], "tiny"), rng=RNG)
    for releases in ([], [one, two]):
        with pytest.raises(InvalidInput, match="a history is of releases of one face each"):
            history_attack(releases)
    with pytest.raises(Mismatch, match="one dimension"):
        history_attack([one, short])
