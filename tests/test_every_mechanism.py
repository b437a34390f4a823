"""One contract for all exported mechanisms: audit, Pipeline, protect, ledger, and what is shown."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import InvalidInput
from sfumato.device.explain import explain, explanation_text
from sfumato.privacy.subjects import SubsetSubject
from support import photograph

PHOTO = photograph()[100:260, 150:310]
WORDS = np.random.default_rng(0).integers(1, 256, (64, 128), dtype=np.uint8)
DICTIONARY = sf.Dictionary.from_words(WORDS, extractor="sift")
SUBSET = sf.SubsetMechanism(1.0, 2, DICTIONARY)
LIFTING = sf.SubspaceLifting("hybrid", 4, DICTIONARY)
VALUES = ["young", "old"] * 32

WITH_EPSILON: dict[str, Any] = {
    "SubsetMechanism": SUBSET,
    "MemoisedSubset": sf.MemoisedSubset(SUBSET),
    "Naive": sf.Naive(1.0, 2),
    "PrivUnit": sf.PrivUnit(1.0, 128),
}
WITHOUT_EPSILON: dict[str, Any] = {
    "Plain": sf.Plain(),
    "Quantize": sf.Quantize(DICTIONARY),
    "SubspaceLifting": LIFTING,
    "MemoisedLifting": sf.MemoisedLifting(LIFTING, WORDS[0]),
    "BalancedLifting": sf.BalancedLifting(4, DICTIONARY, VALUES, subject="old"),
}
ALL = WITH_EPSILON | WITHOUT_EPSILON


def test_every_exported_mechanism_is_under_this_contract() -> None:
    exported = [getattr(sf, name) for name in sf.__all__]
    classes = [
        one.__name__
        for one in exported
        if isinstance(one, type)
        and {"event", "release"} <= set(dir(one))
        and one is not sf.Mechanism
    ]
    assert sorted(classes) == sorted(ALL)


@pytest.mark.parametrize("name", ALL)
def test_it_goes_through_a_pipeline_and_a_ledger(name: str, tmp_path: Path) -> None:
    pipeline = sf.Pipeline(ALL[name], filters=(sf.KeepStrongest(20),))
    ledger = sf.Ledger(tmp_path / "ledger.db")
    release = sf.protect(PHOTO, pipeline, ledger=ledger)
    assert sf.Release.from_bytes(release.to_bytes()) == release
    spent = ledger.spent()
    assert spent.pictures == 1
    assert spent.unprotected == (0 if name in WITH_EPSILON else 1)
    assert (spent.epsilon > 0) == (name in WITH_EPSILON)


@pytest.mark.parametrize("name", ALL)
def test_nothing_shows_an_infinite_epsilon(name: str) -> None:
    features = sf.extract(PHOTO, max_keypoints=20)
    event = ALL[name].event(features)
    release = ALL[name].release(features, rng=sf.SecureRandom())
    facts = explain(release, event, None)
    shown = [repr(release), repr(event), json.dumps(facts), *explanation_text(facts).values()]
    assert not [text for text in shown if "inf" in text.lower() or "∞" in text]
    assert (facts["epsilon_per_unit"] is None) == (name in WITHOUT_EPSILON)


@pytest.mark.parametrize("name", WITH_EPSILON)
def test_a_claimed_epsilon_is_measured(name: str) -> None:
    report = sf.audit(WITH_EPSILON[name], draws=None if name == "MemoisedSubset" else 400_000)
    assert report.verdict == "consistent", report.checks
    assert report.epsilon_claimed == 1.0
    low, high = report.epsilon_measured or (math.nan, math.nan)
    assert low <= 1.0 <= high
    assert low > 0  # the draws suffice to see that there is a loss at all
    assert "ε = 1 claimed" in repr(report)


@pytest.mark.parametrize("name", WITHOUT_EPSILON)
def test_a_mechanism_without_epsilon_says_so_and_why(name: str) -> None:
    report = sf.audit(WITHOUT_EPSILON[name])
    assert report.verdict == "no epsilon"
    assert (report.epsilon_claimed, report.epsilon_measured) == (None, None)
    assert report.headline.startswith(f"{name}: no ε: ")
    assert report.no_epsilon != "this mechanism claims none"
    assert "inf" not in json.dumps(report.facts())


@pytest.mark.parametrize(
    ("num_values", "num_sent", "unit"),
    [(8, None, "one value"), (4, 2, "one whole picture"), (2000, 1, "one value")],
)
def test_randomized_response_is_audited_too(
    num_values: int, num_sent: int | None, unit: str
) -> None:
    response = sf.classification.RandomizedResponse(0.5, num_values, num_sent)
    report = sf.audit(response, draws=400_000)
    assert (report.verdict, report.unit) == ("consistent", unit), report.checks
    assert report.epsilon_claimed == 0.5 * (num_sent or 1 if unit == "one whole picture" else 1)


def test_infinite_claims_have_no_epsilon() -> None:
    for mechanism in (
        sf.SubsetMechanism(math.inf, 2, DICTIONARY),
        sf.MemoisedSubset(sf.SubsetMechanism(math.inf, 2, DICTIONARY)),
        sf.classification.RandomizedResponse(math.inf, 4),
        SubsetSubject(math.inf, 8, 2),
    ):
        assert sf.audit(mechanism).verdict == "no epsilon"


def test_what_is_no_mechanism_is_refused() -> None:
    with pytest.raises(InvalidInput, match="audit needs a mechanism or a Subject, got str"):
        sf.audit("subset")


def test_a_memoised_mechanism_that_draws_anew_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    source = sf.SecureRandom()

    def fresh(self: sf.MemoisedSubset, words: Any) -> Any:
        return self.mechanism.draw(words, source)

    monkeypatch.setattr(sf.MemoisedSubset, "answers", fresh)
    report = sf.audit(WITH_EPSILON["MemoisedSubset"])
    failed = {check.name for check in report.checks if not check.passed}
    assert failed == {"one answer per word"}


def test_hybrid_plus_needs_to_know_the_person_in_the_picture() -> None:
    unknown = sf.BalancedLifting(4, DICTIONARY, VALUES)
    with pytest.raises(InvalidInput, match=r"subject=.* one of old, young"):
        sf.protect(PHOTO, sf.Pipeline(unknown))
