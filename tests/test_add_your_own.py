"""The page docs/add-your-own.md is a program that runs, and bad plugins are refused at the door."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.errors import InvalidInput, Mismatch, NotPrivate

PAGE = Path(__file__).parents[1] / "docs" / "add-your-own.md"
NOISE = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
WORDS = np.random.default_rng(0).integers(1, 256, (8, 128), dtype=np.uint8)
SUBSET = sf.SubsetMechanism(1.0, 2, sf.Dictionary.from_words(WORDS, extractor="sift"))


def test_the_blocks_of_the_page_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # a block saves a dictionary
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) == 6
    names: dict[str, Any] = {"__name__": "mine"}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert capsys.readouterr().out.startswith("Score(100 answers for 100.0% of the keypoints")


def test_a_pipeline_wants_an_object_with_event_and_release() -> None:
    with pytest.raises(InvalidInput, match=r"event\(features\) and release.*got str"):
        sf.Pipeline("subset")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="got the class Plain"):
        sf.Pipeline(sf.Plain)  # type: ignore[arg-type]


class Changed:
    """The subset mechanism with another event or release."""

    def __init__(self, **answers: Any) -> None:
        self._answers = answers

    def event(self, features: sf.Features) -> Any:
        return self._answers.get("event", SUBSET.event(features))

    def release(self, features: sf.Features, *, rng: Any, camera: Any = None) -> Any:
        return self._answers.get("release", SUBSET.release(features, rng=rng, camera=camera))


def test_an_event_or_a_release_of_another_kind_is_refused() -> None:
    for name, wanted in (("event", "PrivacyEvent"), ("release", "Release")):
        with pytest.raises(InvalidInput, match=f"must give a {wanted}, got int"):
            sf.protect(NOISE, sf.Pipeline(Changed(**{name: 7})))


def test_a_release_with_another_epsilon_than_announced_does_not_leave() -> None:
    cheap = sf.PrivacyEvent("subset", 0.5, 1, "one descriptor", sf.NOT_PROTECTED)
    with pytest.raises(NotPrivate, match=r"announced epsilon=0\.5 and released with epsilon=1\.0"):
        sf.protect(NOISE, sf.Pipeline(Changed(event=cheap)))


class Own:
    """An extractor that answers what it was given."""

    def __init__(self, answer: Any, name: Any = "own") -> None:
        self.answer, self.name = answer, name

    def __call__(self, picture: Any) -> Any:
        return self.answer


def test_what_an_extractor_answers_is_checked() -> None:
    sift = sf.extract(NOISE)
    mine = sf.Features(**{**vars(sift), "extractor": "own"})
    assert len(sf.extract(NOISE, Own(mine), max_keypoints=3)) == 3
    with pytest.raises(InvalidInput, match="must answer with Features, got int"):
        sf.extract(NOISE, Own(7))
    with pytest.raises(Mismatch, match="its features are of 'sift'"):
        sf.extract(NOISE, Own(sift))
    with pytest.raises(Mismatch, match="64×64"):
        sf.extract(np.zeros((32, 32), dtype=np.uint8), Own(mine))
    with pytest.raises(Mismatch, match="'vgg' descriptors are 120-D float32"):
        sf.extract(NOISE, Own(sf.Features(**{**vars(sift), "extractor": "vgg"}), "vgg"))
    with pytest.raises(InvalidInput, match="must be a name, or have a name"):
        sf.extract(NOISE, Own(mine, name=None))
    with pytest.raises(InvalidInput, match="takes no weights"):
        sf.extract(NOISE, Own(mine), weights="file.pt")


class Claims:
    """A mechanism that claims an ε, with what else the test gives it."""

    epsilon = 1.0

    def __init__(self, **more: Any) -> None:
        vars(self).update(more)


def test_an_audit_says_what_an_own_mechanism_lacks() -> None:
    with pytest.raises(InvalidInput, match=r"give it num_inputs and draw\(inputs, source\)"):
        sf.audit(Claims())
    with pytest.raises(InvalidInput, match="must answer 1 inputs with as many rows"):
        sf.audit(Claims(num_inputs=2, draw=lambda inputs, source: inputs / 2))


def test_an_own_mechanism_that_draws_words_is_measured_only() -> None:
    def draw(inputs: Any, source: sf.RandomSource) -> Any:
        return np.where(source.uniform((len(inputs),)) < 0.4, inputs, 1 - inputs)

    report = sf.audit(Claims(num_inputs=2, draw=draw), draws=50_000)
    assert "exact law" not in {check.name for check in report.checks}
    assert report.verdict == "not refuted", report.checks  # log(.7/.3) = .85
    assert "inputs 0 and 1 differ by less than is claimed (measured at most 0." in report.headline
    assert sf.audit(Claims(num_inputs=2, draw=draw, epsilon=0.85), draws=50_000).verdict == (
        "consistent"
    )
    assert sf.audit(Claims(num_inputs=2, draw=draw, epsilon=0.5), draws=50_000).verdict == "broken"


def test_a_pair_of_inputs_that_look_alike_proves_nothing() -> None:
    """Inputs 0 and 1 give the same answers; 2 and 3 are told apart with ε = 9, and 1 is claimed."""

    def draw(inputs: Any, source: sf.RandomSource) -> Any:
        uniform = source.uniform((len(inputs),))
        high = np.where(inputs < 2, 0.5, np.where(inputs == 2, 0.9999, 0.0001))
        return (uniform < high).astype(np.int64)

    report = sf.audit(Claims(num_inputs=4, draw=draw), draws=20_000)
    assert report.verdict == report.facts()["verdict"] == "not refuted"
    assert "; not refuted: inputs 0 and 1 look alike here (measured at most 0." in repr(report)
    assert report.headline.endswith("the audit is only as good as this pair")


def test_a_broken_mechanism_says_which_check_it_failed() -> None:
    copied = np.random.default_rng(0)  # a fork has a copy of it, which draws the same

    def draw(inputs: Any, source: sf.RandomSource) -> Any:
        source.uniform((1,))  # which is not enumerated: the answers are measured
        return copied.integers(0, 2, len(inputs))

    report = sf.audit(Claims(num_inputs=2, draw=draw), draws=20_000)
    assert report.verdict == "broken"
    assert repr(report).endswith("measured; broken: failed in forks)")
