"""The recovery experiment: truth stays aligned, results are kept, tables tell no more than ran."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from recoveries import PUBLIC, WORDS, crowded
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato_papers.harness.command import Report
from sfumato_papers.ldp_feat.attacker_knowledge import load_words
from sfumato_papers.ldp_feat.recovery.lifts import Settings, open_results, read_results, run_recover
from sfumato_papers.ldp_feat.recovery.rows import summarise
from sfumato_papers.ldp_feat.recovery.tables import report_lines
from sfumato_papers.ldp_feat.recovery.words import run_posterior, run_repeats
from support import photograph

SMALL = Settings(
    data=(Path("photos"),),
    strategies=("random", "sub-hybrid"),
    dimensions=(2, 4),
    num_keypoints=20,
    num_words=(64,),
    subset_sizes=(1, 2),
    repeats=(1, 3),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recover") / "recoveries.jsonl"
    pictures = {f"{seed}.png": crowded(60, seed) for seed in (1, 2)}
    file = open_results(path, pictures, WORDS, PUBLIC, SMALL)
    run_recover(pictures, WORDS, PUBLIC, SMALL, file)
    words = WORDS.with_levels((64,))
    public = [crowded(200, seed) for seed in (8, 9)]
    run_posterior(pictures, public, words, replace(SMALL, num_keypoints=30), file)
    run_repeats(pictures, WORDS, replace(SMALL, dimensions=(2,)), file)
    return path


def test_the_order_of_strength_is_the_paper_s_and_vertex_is_above(results: Path) -> None:
    rows = summarise(read_results(results))["lifts"]
    for dimension in (2, 4):
        close = {
            row["attack"]: row["close"]
            for row in rows
            if row["strategy"] == "sub-hybrid" and row["dimension"] == dimension
        }
        assert close["nearest"] < close["clustering"] <= close["database"]
        assert close["vertex+"] >= close["database"]


def test_all_words_of_the_liftings_are_found(results: Path) -> None:
    rows = summarise(read_results(results))["assumptions"]
    assert [(row["strategy"], row["all_words_found"]) for row in rows] == [("sub-hybrid", 1.0)] * 2
    for row in rows:
        assert abs(row["words_shared"] - row["words_shared_expected"]) < 0.15


def test_no_guess_is_above_its_bound(results: Path) -> None:
    rows = summarise(read_results(results))["words"]
    assert len(rows) == 3 * 2 * 3
    assert all(row["is_within_bound"] for row in rows)


def test_repeats_help_unless_answers_are_memoised(results: Path) -> None:
    tables = summarise(read_results(results))
    right = {(row["mechanism"], row["releases"]): row["right"] for row in tables["repeats"]}
    assert right["fresh", 3] > right["fresh", 1]
    assert right["memoised", 3] == right["memoised", 1]
    assert tables["repeated_lifts"][0]["exact"] > 0.9
    assert tables["ledger"][0]["most_sent"] == 2


def test_a_finished_file_is_left_as_it_is_and_another_problem_refused(results: Path) -> None:
    before = results.read_bytes()
    pictures = {f"{seed}.png": crowded(60, seed) for seed in (1, 2)}
    results.write_bytes(before + b'{"torn')
    file = open_results(results, pictures, WORDS, PUBLIC, SMALL)
    run_recover(pictures, WORDS, PUBLIC, SMALL, file)
    assert results.read_bytes() == before
    with pytest.raises(Mismatch, match="another problem"):
        open_results(results, pictures, WORDS, PUBLIC, replace(SMALL, data=(Path("others"),)))


def test_tables_are_printed_from_the_file_alone(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("experiment", "recover", "--evaluate", results) == 0
    text = capsys.readouterr().out
    for words in ("paper's SSIM", "99.9 % interval", "Positions, N, camera", "memoised", "no ε"):
        assert words in text
    assert sfumato("experiment", "recover", "--evaluate", results, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    lines = report_lines(read_results(results)[0], summarise(read_results(results)))
    assert shown["problem"]["pictures"] == 2
    assert str(Path.home()) not in Report(lines).text()


def test_the_command_runs_on_folders_of_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = photograph()
    for name, pixels in (("test", whole[:200, :200]), ("base", whole[:400]), ("pub", whole[200:])):
        (tmp_path / name).mkdir()
        Image.fromarray(pixels).save(tmp_path / name / "one.png")
    shown: Any = sfumato_json(
        "experiment", capsys, "recover", "--data", tmp_path / "test",
        "--database", tmp_path / "base", "--public", tmp_path / "pub", "--words", 320,
        "--keypoints", 10, "--strategy", "sub-hybrid", "--dimension", 2, "--epsilon", 6,
        "--levels", 1024, "--subset-size", 2, "-o", tmp_path / "out",
    )  # fmt: skip
    assert shown["problem"]["words"] == 320
    assert len(shown["lifts"]) == 6
    assert len(shown["words"]) == 3


def test_an_attack_of_your_own_stands_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_attacks.py").write_text(
        "from sfumato.adversary.recover.database import database_attack\n"
        "def same(release, *, database):\n"
        "    return database_attack(release, database=database)\n"
        "def as_the_page_has_it(release, *, dictionary=None, seed=0):\n"
        "    return database_attack(release, database=dictionary)\n"
        "class Ready:\n"
        "    def __call__(self, release, *, database):\n"
        "        return database_attack(release, database=database)\n"
        "def nothing(release):\n"
        "    return None\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    pictures = {"1.png": crowded(40, 1)}
    own = ("my_attacks:same", "my_attacks:as_the_page_has_it", "my_attacks:Ready")
    mine = ("database", *own)
    settings = replace(SMALL, attacks=mine, strategies=("hybrid",), dimensions=(2,))
    file = open_results(tmp_path / "recoveries.jsonl", pictures, WORDS, PUBLIC, settings)
    run_recover(pictures, WORDS, PUBLIC, settings, file)
    rows = summarise(read_results(file.path))["lifts"]
    assert [row["attack"] for row in rows] == [*mine]
    assert len({row["median_error"] for row in rows}) == 1
    with pytest.raises(InvalidInput, match="must return a Recovered, got NoneType"):
        run_recover(
            pictures, WORDS, PUBLIC, replace(settings, attacks=("my_attacks:nothing",)), file
        )
    with pytest.raises(InvalidInput, match="got 'magic'; your own is given as module:name"):
        replace(settings, attacks=("magic",))


def test_what_cannot_be_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        (),
        ("--data", tmp_path, "--database", tmp_path, "--parts", "nothing"),
        ("--data", tmp_path, "--database", tmp_path, "--attack", "magic"),
        ("--data", tmp_path, "--database", "bsds-16k"),
        ("--evaluate", tmp_path / "none"),
    ):
        assert sfumato("experiment", "recover", *words) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    with pytest.raises(InvalidInput, match="--public"):
        load_words(["bsds-16k"], [], 16)
