"""How many codes a picture should send, on scikit-learn's small digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from sfumato.classification.orientations import OrientationBits
from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato_papers.dcaconv.pictures import Problem
from sfumato_papers.ours import code_budget
from sfumato_papers.ours.code_budget import Settings, run_code_budget
from sfumato_papers.ours.code_budget_choice import (
    HELD_OUT,
    JOURNAL,
    TEST,
    Candidate,
    Outcome,
    best_of_rows,
    shortlist,
    winners,
)
from sfumato_papers.ours.code_budget_table import NOTES, draw_plot, summarise, table

ROWS, LABELS = load_digits(return_X_y=True)
PICTURES = (ROWS.reshape(-1, 8, 8) * 15).astype(np.uint8)
PROBLEM = Problem("mnist", PICTURES[:900], LABELS[:900], PICTURES[900:1100], LABELS[900:1100])
SETTINGS = Settings(totals=(1.0, 6.0), sent=(1, 8), joined=(1, 6), num_seeds=2)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Outcome, ...]]:
    path = tmp_path_factory.mktemp("budget") / "outcomes.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_budget, "ENCODERS", {"bits": lambda: OrientationBits(8)})
        run_code_budget(PROBLEM, SETTINGS, path)
        size = path.stat().st_size
        run_code_budget(PROBLEM, SETTINGS, path)
        assert path.stat().st_size == size  # nothing is run twice
    return path, JOURNAL.read(path)[1]


def test_every_row_keeps_its_total_and_says_what_is_paid(
    outcomes: tuple[Path, tuple[Outcome, ...]],
) -> None:
    rows = summarise(outcomes[1])
    assert [(row["total"], row["num_sent"]) for row in rows] == [
        (1.0, 1), (1.0, 8), (6.0, 1), (6.0, 8), (None, 128),
    ]  # fmt: skip
    for row in rows[:-1]:
        answer = PrivateAnswer(row["epsilon_per_code"], row["num_values"])
        picture = Composition({answer: row["num_sent"]})
        assert row["exact_per_picture"] == picture.epsilon() <= row["total"]
        assert row["exact_per_picture"] > 0.99 * row["total"]
        assert row["advantage"] == picture.advantage
        low, high = row["interval"]
        assert low < row["accuracy"] < high
    assert rows[-1]["exact_per_picture"] is None
    assert "are not protected" in " ".join(NOTES)


def test_one_code_of_several_cells_is_better_than_many_codes(
    outcomes: tuple[Path, tuple[Outcome, ...]], tmp_path: Path
) -> None:
    rows = {(row["total"], row["num_sent"]): row for row in summarise(outcomes[1])}
    one, many = rows[6.0, 1], rows[6.0, 8]
    assert (one["cells_per_code"], one["num_values"]) == (6, 64)
    assert one["accuracy"] > many["accuracy"] + 0.05
    assert (one["best"], many["best"]) == (True, False)
    shown = table([one, many])
    assert [row[1].strip() for row in shown.rows] == ["1*", "8"]
    assert draw_plot(list(rows.values()), tmp_path / "plot.png").stat().st_size > 1000


def test_choices_are_made_by_held_out_training_pictures(
    outcomes: tuple[Path, tuple[Outcome, ...]],
) -> None:
    held = [one for one in outcomes[1] if one.part == HELD_OUT]
    tested = {one.candidate for one in outcomes[1] if one.part == TEST}
    assert {one.count for one in held} == {451}  # half of the training pictures
    assert {one.count for one in outcomes[1] if one.part == TEST} == {200}
    assert tested == {choice.candidate for choice in best_of_rows(held).values()}


def an_outcome(num_sent: int, seed: int, correct: int) -> Outcome:
    candidate = Candidate(1.0, num_sent, "bits", 1)
    return Outcome(candidate, HELD_OUT, seed, 2, 1.0, 0.0, 1.0, correct, 100)


def test_a_lucky_first_draw_does_not_decide_how_many_codes_are_best() -> None:
    lucky = [an_outcome(2, seed, correct) for seed, correct in enumerate((90, 50, 52))]
    good = [an_outcome(1, seed, correct) for seed, correct in enumerate((80, 79, 81))]
    others = [an_outcome(num_sent, 0, 10 + num_sent) for num_sent in (4, 16)]
    first = best_of_rows([*others, *good[:1], *lucky[:1]]).values()
    assert [one.candidate.num_sent for one in shortlist(first)] == [2, 1, 16]
    assert winners(best_of_rows([*others, *good, *lucky]).values()) == []  # one is not judged yet
    judged = [*others, *good, *lucky, *(an_outcome(16, seed, 20) for seed in (1, 2))]
    (best,) = winners(best_of_rows(judged).values())
    assert (best.candidate.num_sent, best.again) == (1, 0.8)
