"""The study of one code a picture, on scikit-learn's small digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.classification.orientations import OrientationCodes
from sfumato.classification.pixels import PixelCodes
from sfumato.core.errors import InvalidInput
from sfumato_papers.dcaconv import one_code as whole
from sfumato_papers.dcaconv.classification import JOURNAL, Settings, run_classification
from sfumato_papers.dcaconv.pictures import Problem
from sfumato_papers.harness.outcomes import read_records


@pytest.fixture
def problem(monkeypatch: pytest.MonkeyPatch) -> Problem:
    encoders: dict[str, Any] = {
        "useless": lambda: OrientationCodes(2, blank=1.0),
        "pixels": lambda: PixelCodes(2),
    }
    monkeypatch.setattr(whole, "WHOLE_ENCODERS", encoders)
    monkeypatch.setattr(whole, "_SPATIAL", (0.0,))
    images, labels = load_digits(return_X_y=True)
    pictures = (images.reshape(-1, 8, 8) * 15).astype(np.uint8)
    train, names = np.tile(pictures[:1400], (4, 1, 1)), np.tile(labels[:1400], 4)
    return Problem("mnist", train, names, pictures[1400:], labels[1400:])


def test_settings_are_chosen_on_training_pictures_and_epsilon_is_the_picture_s(
    problem: Problem, tmp_path: Path
) -> None:
    path = tmp_path / "outcomes.jsonl"
    grid = Settings(recipe="whole", epsilons=(4.0,), num_seeds=2)
    assert run_classification(problem, grid, path) == []
    _, outcomes = JOURNAL.read(path)
    assert [outcome.seed for outcome in outcomes] == [0, 1]
    for outcome in outcomes:
        assert outcome.num_codes == 1
        assert outcome.setting.encoder == "pixels"
        assert outcome.accuracy > 0.5
        assert "1 code a picture" in outcome.choice
    (choice,) = [r for r in read_records(path) if r["kind"] == "whole-choice"]
    assert choice["held_out_accuracy"]["pixels"] > choice["held_out_accuracy"]["useless"] + 0.2


def test_a_stopped_run_goes_on_with_its_choice(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    run_classification(problem, Settings(recipe="whole", epsilons=(4.0,), num_seeds=1), path)
    before = path.read_text().splitlines()
    run_classification(problem, Settings(recipe="whole", epsilons=(4.0,), num_seeds=2), path)
    after = path.read_text().splitlines()
    assert after[: len(before)] == before
    assert len(after) == len(before) + 1


def test_clean_codes_are_no_whole_picture_guarantee(problem: Problem, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="finite ε"):
        run_classification(
            problem, Settings(recipe="whole", epsilons=(None,)), tmp_path / "outcomes.jsonl"
        )


def test_every_candidate_can_be_made() -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (40, 28, 28))
    for make in whole.WHOLE_ENCODERS.values():
        encoder = make().fit(pictures, np.arange(40) % 10)
        codes = encoder.transform(pictures)
        assert codes.shape == (40, np.prod(encoder.map_shape_))
        assert codes.max() < encoder.num_values_
