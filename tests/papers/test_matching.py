"""The matching experiment on pictures whose homographies are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from sequences import write_sequence
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.datasets.hpatches import read_sequences
from sfumato.dictionary import Dictionary
from sfumato_papers.affine.matching import JOURNAL, Outcome, Setting, Settings, run_matching
from sfumato_papers.affine.matching_table import NOTES, summarise, table

GRID = Settings(
    strategies=("random", "sub-hybrid"), dimensions=(2,), num_seeds=2, max_keypoints=200
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sequences")
    write_sequence(folder / "i_one", layout="hpatches")
    write_sequence(folder / "v_two", layout="hpatches")
    return folder


def test_lifted_matches_are_nearly_as_good_as_raw_ones(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    run_matching(read_sequences(data), Dictionary.load("bsds-16k"), GRID, path)
    _, outcomes = JOURNAL.read(path)
    # 2 sequences × 2 pairs × (raw + 2 strategies × 2 distances × 2 seeds)
    assert len(outcomes) == 4 * 9
    rows = [row for row in summarise(outcomes) if row["change"] == "all"]
    (raw,) = [row for row in rows if row["strategy"] == "raw"]
    assert raw["accuracy"]["3"] > 0.6
    for row in rows:
        assert row["pairs"] == 4
        assert (np.diff([*row["accuracy"].values()]) >= 0).all()
        if row["strategy"] == "random":
            assert row["mean_accuracy"] == pytest.approx(raw["mean_accuracy"], abs=0.05)
    shown = "\n".join([*table(summarise(outcomes)).text(), *NOTES])
    assert "Lifting has no guarantee" in shown
    assert "ε" not in shown


def test_a_stopped_run_goes_on_and_repeats_nothing(data: Path, tmp_path: Path) -> None:
    words, sequences = Dictionary.load("bsds-16k"), read_sequences(data)
    path = tmp_path / "out.jsonl"
    run_matching(sequences, words, GRID, path)
    whole = path.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:20]) + lines[20][:30], encoding="utf-8")
    run_matching(sequences, words, GRID, path)
    again = path.read_text(encoding="utf-8")

    def content(text: str) -> list[tuple[object, ...]]:
        found = [json.loads(line) for line in text.splitlines()[1:]]
        return sorted(
            (str(o["setting"]), o["seed"], o["sequence"], o["picture"], str(o["correct"]))
            for o in found
        )

    assert content(again) == content(whole)
    other = Settings(strategies=("random",), dimensions=(2,), max_keypoints=100)
    with pytest.raises(Mismatch, match="another number of keypoints"):
        run_matching(sequences, words, other, path)


def test_a_pair_without_any_match_counts_nothing() -> None:
    empty = Outcome(Setting(), 0, "s", "viewpoint", 1, 0, (0,) * 10, 0.1)
    full = Outcome(Setting(), 0, "s", "viewpoint", 2, 4, (4,) * 10, 0.1)
    row = summarise([empty, full])[-1]
    assert [*row["accuracy"].values()] == [0.5] * 10


def test_unknown_strategies_and_distances_are_refused() -> None:
    with pytest.raises(InvalidInput, match="strategy must be one of"):
        Settings(strategies=("sideways",))
    with pytest.raises(InvalidInput, match="distance must be one of"):
        Settings(distances=("far",))


def test_the_command_prints_a_table_and_draws_a_plot(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--strategy", "sub-hybrid", "--dimension", "2", "--seeds", 1, "--max-keypoints", 150)
    command = ("matching", "--data", data, *options, "-o", tmp_path / "out")
    found = sfumato_json("experiment", capsys, *command)
    assert {row["change"] for row in found["rows"]} == {"illumination", "viewpoint", "all"}
    assert Path(found["plot"]).read_bytes()[:4] == b"\x89PNG"
    outcomes = tmp_path / "out" / "outcomes.jsonl"
    assert sfumato("experiment", "matching", "--evaluate", outcomes) == 0
    assert "subspace-subspace" in capsys.readouterr().out
    assert sfumato("experiment", "matching") == 2
    assert "give --data" in capsys.readouterr().err
