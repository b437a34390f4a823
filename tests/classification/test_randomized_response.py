"""Randomized response on codes: whole pictures, and a few drawn codes of each."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.classification.randomized_response import draw_positions
from sfumato.core.codes import group_releases
from sfumato.core.errors import BudgetSpent, InvalidInput
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.releases import CodeRelease, Release

CODES = np.random.default_rng(0).integers(0, 4, (300, 12)).astype(np.uint8)


def test_a_whole_picture_is_answered_code_by_code() -> None:
    mechanism = sf.classification.RandomizedResponse(1.0, 4)
    sent = mechanism.perturb(np.tile(CODES, (40, 1)), rng=SecureRandom(), map_shape=(3, 2, 2))
    assert sent.positions is None
    assert sent.values.dtype == np.uint8
    assert sent.map_shape == (3, 2, 2)
    kept = float((sent.values == np.tile(CODES, (40, 1))).mean())
    expected = math.e / (3 + math.e)
    assert kept == pytest.approx(mechanism.truth_probability, abs=0.01)
    assert mechanism.truth_probability == pytest.approx(expected)
    assert (sent.epsilon, sent.picture_epsilon) == (1.0, 12.0)


def test_few_codes_are_sent_from_places_that_are_uniform() -> None:
    mechanism = sf.classification.RandomizedResponse(2.0, 4, num_sent=3)
    sent = mechanism.perturb(np.tile(CODES, (40, 1)), rng=SecureRandom())
    assert sent.values.shape == (12_000, 3)
    assert sent.positions is not None
    assert (np.diff(sent.positions.astype(int), axis=1) > 0).all()
    assert sent.picture_epsilon == 6.0
    counts = np.bincount(sent.positions.ravel(), minlength=12)
    assert np.abs(counts - 3000).max() < 6 * math.sqrt(3000)
    truth = np.take_along_axis(np.tile(CODES, (40, 1)), sent.positions.astype(int), axis=1)
    assert float((sent.values == truth).mean()) == pytest.approx(
        mechanism.truth_probability, abs=0.02
    )


def test_every_set_of_positions_is_equally_likely() -> None:
    rows = draw_positions(5, 2, 100_000, SecureRandom())
    pairs, counts = np.unique(rows, axis=0, return_counts=True)
    assert [tuple(pair) for pair in pairs.tolist()] == list(combinations(range(5), 2))
    assert np.abs(counts - 10_000).max() < 6 * math.sqrt(10_000)
    assert (draw_positions(5, 5, 3, SecureRandom()) == np.arange(5)).all()


def test_blocks_are_all_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.classification.randomized_response._BLOCK", 100)
    clear = sf.classification.RandomizedResponse(math.inf, 4).perturb(CODES, rng=SecureRandom())
    assert (clear.values == CODES).all()
    some = sf.classification.RandomizedResponse(math.inf, 4, num_sent=2).perturb(
        CODES, rng=SecureRandom()
    )
    assert some.positions is not None
    assert (some.values == np.take_along_axis(CODES, some.positions.astype(int), axis=1)).all()


@pytest.mark.parametrize("num_sent", [None, 1, 5, 12])
def test_releases_travel_and_are_stacked_again(num_sent: int | None) -> None:
    mechanism = sf.classification.RandomizedResponse(1.5, 4, num_sent)
    sent = [
        mechanism.release(row, rng=SecureRandom(), encoder="pixels", label=i)
        for i, row in enumerate(CODES[:20])
    ]
    arrived = [Release.from_bytes(release.to_bytes()) for release in sent]
    assert arrived == sent
    ((stacked, _),) = group_releases([r for r in arrived if isinstance(r, CodeRelease)])
    assert stacked.num_sent == (num_sent or 12)
    assert (stacked.positions is None) == (stacked.num_sent == 12)
    assert list(stacked.releases())[3] == mechanism_like(sent[3])


def mechanism_like(release: CodeRelease) -> CodeRelease:
    """The same without its label, which `Codes` do not carry."""
    fields = {name: getattr(release, name) for name in ("codes", "positions", "epsilon")}
    return CodeRelease(num_values=4, num_positions=12, encoder="pixels", **fields)


def test_the_event_says_what_a_picture_costs() -> None:
    whole = sf.classification.RandomizedResponse(0.5, 4).event(CODES[0])
    assert (whole.epsilon, whole.num_units, whole.picture_epsilon) == (0.5, 12, 6.0)
    one = sf.classification.RandomizedResponse(0.5, 4, num_sent=1).event(CODES[0])
    assert (one.unit, one.picture_epsilon, one.mechanism) == ("one code", 0.5, "sampled response")
    assert any("label" in text for text in one.not_protected)
    clear = sf.classification.RandomizedResponse(math.inf, 4).event(CODES[0])
    assert not clear.is_private
    assert "the codes themselves" in clear.not_protected


def test_the_ledger_counts_codes(tmp_path: Any) -> None:
    ledger = sf.Ledger(tmp_path / "ledger", caps=sf.Caps(session=2.5))
    mechanism = sf.classification.RandomizedResponse(1.0, 4, num_sent=1)
    for _ in range(2):
        ledger.charge(mechanism.event(CODES[0]))
    with pytest.raises(BudgetSpent):
        ledger.charge(mechanism.event(CODES[0]))
    assert ledger.spent().epsilon == 2.0


def test_seeded_answers_are_marked() -> None:
    mechanism = sf.classification.RandomizedResponse(1.0, 4, num_sent=2)
    first, second = (mechanism.perturb(CODES, rng=SeededRandom(5)) for _ in range(2))
    assert first == second
    assert first.reproducible
    assert next(first.releases()).reproducible
    assert mechanism.release(CODES[0], rng=SeededRandom(5)).reproducible
    assert mechanism.perturb(CODES, rng=SecureRandom()) != mechanism.perturb(
        CODES, rng=SecureRandom()
    )


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, 1e9, "1", None])
def test_bad_epsilons_are_refused(epsilon: Any) -> None:
    with pytest.raises(InvalidInput, match="epsilon must be"):
        sf.classification.RandomizedResponse(epsilon, 4)


@pytest.mark.parametrize(
    ("codes", "sentence"),
    [
        (np.array([[0, 4]]), "between 0 and 3"),
        (np.array([[0, -1]]), "between 0 and 3"),
        (np.array([[0.0, 1.0]]), "whole numbers"),
        (np.array([[math.nan, 1.0]]), "whole numbers"),
        (np.zeros((3, 0), dtype=int), "m ≥ 1"),
        (np.zeros(3, dtype=int), "pictures"),
        (np.zeros((2, 1), dtype=int), "num_sent must be at most"),
    ],
)
def test_bad_codes_are_refused(codes: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        sf.classification.RandomizedResponse(1.0, 4, num_sent=2).perturb(codes, rng=SecureRandom())


def test_bad_settings_and_sources_are_refused() -> None:
    for num_values in (1, 0, -2, 2.5, True):
        with pytest.raises(InvalidInput, match="num_values must be"):
            sf.classification.RandomizedResponse(1.0, num_values)  # type: ignore[arg-type]
    for num_sent in (0, -1, 1.5):
        with pytest.raises(InvalidInput, match="num_sent must be"):
            sf.classification.RandomizedResponse(1.0, 4, num_sent)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="rng must be"):
        sf.classification.RandomizedResponse(1.0, 4).perturb(CODES, rng=np.random.default_rng())  # type: ignore[arg-type]


def test_no_picture_is_no_answer() -> None:
    none = sf.classification.RandomizedResponse(1.0, 4, num_sent=2).perturb(
        CODES[:0], rng=SecureRandom()
    )
    assert len(none) == 0
