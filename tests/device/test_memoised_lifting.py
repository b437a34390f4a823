"""Memoised lifting: equal embeddings give equal bytes, others parallel subspaces."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SecureRandom
from sfumato.device.explain import explain, explanation_text
from sfumato.device.mechanisms import MemoisedLifting, SubspaceLifting
from sfumato.faces.embeddings import as_features
from support import tiny_dictionary

DATABASE = tiny_dictionary(64, dimension=24)
LIFTING = SubspaceLifting("hybrid", 4, DATABASE)
FACES = np.random.default_rng(0).normal(size=(3, 24))
SECRET = bytes(range(32))
RNG = SecureRandom()


def test_the_same_embedding_gives_the_same_bytes_each_time() -> None:
    first = MemoisedLifting(LIFTING, FACES[0], SECRET)
    again = MemoisedLifting(LIFTING, FACES[0], SECRET)  # after the device was restarted
    features = as_features(FACES[:1], "tiny")
    sent = {one.release(features, rng=RNG).to_bytes() for one in (first, again, first)}
    assert len(sent) == 1
    assert not first.release(features, rng=RNG).reproducible


def test_the_embedding_lies_in_what_is_sent_and_others_are_parallel() -> None:
    memoised = MemoisedLifting(LIFTING, FACES[0], SECRET)
    offsets, bases = memoised.lift(FACES)
    units = FACES / np.linalg.norm(FACES, axis=1, keepdims=True)
    away = units - offsets
    inside = np.einsum("nmd,nd->nm", bases, away)
    assert np.abs(away - np.einsum("nm,nmd->nd", inside, bases)).max() < 1e-12
    assert np.array_equal(bases[0], bases[1])
    assert np.abs(np.einsum("nmd,nd->nm", bases, offsets)).max() < 1e-12


def test_another_enrolment_secret_or_mechanism_has_other_directions() -> None:
    def span(lifting: SubspaceLifting, face: np.ndarray, secret: bytes | None) -> np.ndarray:
        basis = MemoisedLifting(lifting, face, secret).lift(FACES[:1])[1][0]
        return np.asarray(basis.T @ basis)

    own = span(LIFTING, FACES[0], SECRET)
    random = SubspaceLifting("random", 4)
    for other in (
        span(LIFTING, FACES[1], SECRET),
        span(LIFTING, FACES[0], SECRET[::-1]),
        span(LIFTING, FACES[0], None),
        span(random, FACES[0], SECRET),
    ):
        assert np.linalg.norm(own - other) > 0.1
    assert np.linalg.norm(span(LIFTING, FACES[0], None) - span(LIFTING, FACES[0], None)) > 0.1


def test_it_shows_no_epsilon_and_says_what_it_gives_away() -> None:
    memoised = MemoisedLifting(LIFTING, FACES[0], SECRET)
    features = as_features(FACES[:1], "tiny")
    event = memoised.event(features)
    assert event.epsilon is None
    assert "that releases are of one enrolment" in event.not_protected
    told = explain(memoised.release(features, rng=RNG), event, None)
    assert not any(told[name] for name in told if "epsilon" in name)
    assert "ε" not in " ".join(explanation_text(told).values())


def test_what_cannot_be_enrolled_is_refused() -> None:
    for face in (np.zeros(24), np.full(24, np.nan), FACES):
        with pytest.raises(InvalidInput, match="an enrolment is one embedding"):
            MemoisedLifting(LIFTING, face, SECRET)
    with pytest.raises(InvalidInput, match="at least 32 bytes"):
        MemoisedLifting(LIFTING, FACES[0], b"short")
    with pytest.raises(InvalidInput, match="no dither"):
        MemoisedLifting(SubspaceLifting("random", 4, dither=0.1), FACES[0], SECRET)
    with pytest.raises(Mismatch, match="has 24 numbers"):
        MemoisedLifting(LIFTING, FACES[0], SECRET).lift(np.ones((1, 8)))
    with pytest.raises(InvalidInput, match="rng must be"):
        MemoisedLifting(LIFTING, FACES[0], SECRET).release(
            as_features(FACES[:1], "tiny"),
            rng=np.random.default_rng(0),  # type: ignore[arg-type]
        )


def test_embeddings_of_another_kind_are_not_released() -> None:
    memoised = MemoisedLifting(LIFTING, FACES[0], SECRET)
    with pytest.raises(Mismatch, match="'tiny' features"):
        memoised.release(as_features(FACES[:1], "another"), rng=RNG)
