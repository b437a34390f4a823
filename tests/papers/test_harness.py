"""What all experiments share: options of a dataclass, outcomes that resume, tables, commands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import Checked, extractor_for, option
from sfumato_papers.harness.outcomes import Journal, RecordFile, records_of
from sfumato_papers.harness.table import Table, crossed, grouped, show, wrapped


@dataclass(frozen=True)
class Settings(Checked):
    """Throw dice. Example: dice --data bag"""

    data: tuple[Path, ...] = option(
        (), "Bags.", repeat=True, further="More bags.", needed="give --data with a bag."
    )
    sides: tuple[int, ...] = option((6, 20), "Sides, several.", "--side", low=2)
    weights: tuple[float, ...] = option((), "Weights, several.", "--weight")
    color: str = option("red", "Red or blue.", choices=("red", "blue"))
    epsilon: float = option(1.0, "ε.", epsilon=True)
    has_cup: bool = option(True, "With a cup.", "--cup/--no-cup")
    throws: int = 3


@dataclass(frozen=True)
class Die:
    sides: int
    marks: tuple[int, ...]


@dataclass(frozen=True)
class Throw:
    die: Die
    number: int
    shown: int | None

    @property
    def key(self) -> tuple[Die, int]:
        return self.die, self.number


JOURNAL = Journal("dice", "dice", Throw, version=1, besides=("remark",))


def run(settings: Settings, path: Path) -> list[str]:
    kept = JOURNAL.begin(path, {"color": settings.color}, "throws of another color")
    for sides in settings.sides:
        for number in range(settings.throws):
            if (Die(sides, (1, 2)), number) not in kept:
                kept.add(Throw(Die(sides, (1, 2)), number, number % sides))
    return [str(bag) for bag in settings.data]


def report(path: Path, settings: Settings, ran: Any) -> Report:
    head, throws = JOURNAL.read(path)
    rows = [[str(t.die.sides), show(t.shown)] for t in throws]
    return Report([Table(["sides", "shown"], rows, left=()), *(ran or [])], {**head, "ran": ran})


def dice(*words: object) -> tuple[int, str]:
    app = typer.Typer(rich_markup_mode=None)
    app.command()(make_command(Settings, run, report, "dice-{color}"))
    found = CliRunner().invoke(app, [str(word) for word in words])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.output


def test_options_come_from_the_fields_with_their_help_and_defaults() -> None:
    code, shown = dice("--help")
    text = " ".join(shown.split())
    assert code == 0
    for words in ("Throw dice.", "--side", "Sides, several. [default: 6,20]", "--cup", "--no-cup"):
        assert words in text
    for words in ("--epsilon", "[default: 1.0]", "More bags.", "--evaluate", "--json", "--output"):
        assert words in text
    assert "--throws" not in text  # a field without help is no option


def test_values_reach_the_settings_in_their_types(tmp_path: Path) -> None:
    words = ("--data", "a", "b", "--side", "4,8", "--weight", ".5,2", "--no-cup", "-o", tmp_path)
    code, shown = dice(*words, "--json")
    assert code == 0
    assert json.loads(shown)["ran"] == ["a", "b"]
    head, throws = JOURNAL.read(tmp_path / "outcomes.jsonl")
    assert head == {"kind": "dice", "format": 1, "color": "red"}
    assert {throw.die.sides for throw in throws} == {4, 8}
    assert throws[0].die == Die(4, (1, 2))  # tuples and dataclasses come back as such


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "give --data with a bag"),
        (("--data", "a", "--color", "pink"), "color must be one of red, blue, got 'pink'"),
        (("--data", "a", "--side", "1"), "side must be at least 2"),
        (("--data", "a", "--side", "many"), "--side must be whole numbers"),
        (("--data", "a", "--epsilon", "0"), "epsilon must be above 0"),
        (("--data", "a", "--json", "--markdown"), "give one"),
    ],
)
def test_what_is_not_allowed_is_refused(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        dice(*words, "-o", tmp_path)


def test_none_is_no_value_and_the_folder_is_named_after_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dice("--data", "a", "--side", "none", "--color", "blue")[0] == 0
    assert JOURNAL.read(tmp_path / "dice-blue" / "outcomes.jsonl")[1] == ()
    assert dice("--data", "a", "-o", tmp_path / "{1}")[0] == 0
    assert (tmp_path / "{1}" / "outcomes.jsonl").exists()  # what is given is taken as it is


def test_a_killed_run_goes_on_behind_the_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    dice("--data", "a", "-o", tmp_path)
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    path.write_text("".join(lines[:3]) + lines[3][:11])
    dice("--data", "a", "-o", tmp_path)
    assert path.read_text() == whole
    with pytest.raises(Mismatch, match="holds throws of another color; give another folder"):
        dice("--data", "a", "--color", "blue", "-o", tmp_path)


def test_evaluation_takes_the_file_or_its_folder_and_runs_nothing(tmp_path: Path) -> None:
    dice("--data", "a", "--side", "6", "-o", tmp_path)
    text = dice("--evaluate", tmp_path)[1]
    assert text == dice("--evaluate", tmp_path / "outcomes.jsonl")[1]
    assert text == "sides  shown\n    6      0\n    6      1\n    6      2\n"
    assert "| 6 | 2 |" in dice("--evaluate", tmp_path, "--markdown")[1]
    with pytest.raises(InvalidInput, match="there is no file"):
        dice("--evaluate", tmp_path / "none.jsonl")


def test_damaged_files_are_told_by_line(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    dice("--data", "a", "-o", tmp_path)
    head, first, *_ = path.read_text().splitlines()
    for bad in ('{"kind": "outcome"}', '{"kind": "else"}', "[]", "{", first.replace("sides", "x")):
        path.write_text(f"{head}\n{first}\n{bad}\n")
        with pytest.raises(DamagedFile, match="line 3"):
            JOURNAL.read(path)
    path.write_text(f'{head}\n{{"kind": "remark", "text": "cold"}}\n{first}\n{first}\n')
    assert len(JOURNAL.read(path)[1]) == 1  # two runs at a time may both have written one
    assert records_of(path, "remark") == [{"text": "cold"}]
    path.write_text('{"kind": "dice"}\n')
    with pytest.raises(InvalidInput, match="is not a file of dice"):
        JOURNAL.read(path)


def test_records_are_kept_by_their_keys_and_some_facts_may_change(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    file = RecordFile(path, {"about": 1, "count": 2}, "other records", ("kind", "name"))
    file.add({"kind": "a", "name": "x", "value": 3})
    again = RecordFile(path, {"about": 1, "count": 9}, "others", ("kind", "name"), ("count",))
    assert again.has(kind="a", name="x")
    assert not again.has(kind="a", name="y")
    with pytest.raises(Mismatch, match="holds others"):
        RecordFile(path, {"about": 2, "count": 2}, "others", ("kind", "name"))


def test_what_all_rows_say_is_told_once() -> None:
    rows = [["raw", "–", "9", "1"], ["words", "2", "9", "3"], ["lifts", "2", "9", "4"]]
    table = Table(["way", "ω", "N", "right"], rows, fold=("ω", "N", "right"))
    assert table.text() == [
        "Throughout: ω 2; N 9.", "way    right", "raw        1", "words      3", "lifts      4",
    ]  # fmt: skip
    assert table.markdown()[:2] == ["Throughout: ω 2; N 9.", ""]
    assert len(Table(table.heads, rows[:1], fold=table.fold).text()) == 2  # one row says all itself
    empty = Table(["way", "±"], [["a", "–"]], drop=("±",))
    assert empty.text() == ["way", "a"]
    assert Table(["way", "±"], [["a", "–"], ["b", "1"]], drop=("±",)).text()[2] == "b    1"


def test_settings_become_columns() -> None:
    rows = [{"way": way, "m": m, "x": x, "y": x / 2}
            for way, m, x in (("a", 2, 1.0), ("a", 4, 2.0), ("b", 4, 3.0))]  # fmt: skip
    side, across = (("way", "way"),), ("m", "m")
    assert crossed(rows, side, across, ("", "x", ".0f")).text() == [
        "way  m=2  4", "a      1  2", "b      –  3",
    ]  # fmt: skip
    both = crossed(rows, side, across, ("x", "x", ".0f"), ("y", "y", ".1f"))
    assert both.heads == ["way", "x m=2", "4", "y m=2", "4"]
    assert both.rows == [["a", "1", "2", "0.5", "1.0"], ["b", "–", "3", "–", "1.5"]]


def test_notes_fit_a_terminal() -> None:
    lines = wrapped("word " * 60)
    assert len(lines) > 1
    assert max(map(len, lines)) <= 96
    assert " ".join(lines) == ("word " * 60).strip()


def test_tables_align_and_missing_values_are_dashes() -> None:
    table = Table(["name", "|K|"], [["a", "1,024"], ["long", show(None)]])
    assert table.text() == ["name    |K|", "a     1,024", "long      –"]
    assert table.markdown()[1:4] == ["| name | \\|K\\| |", "| :-- | --: |", "| a | 1,024 |"]
    wider = Table(["name", "|K|"], [["a", "1"]], alike=[["a", "1,024"]])
    assert wider.text()[1] == "a         1"
    assert show(float("inf"), "g") == "∞"
    assert (show(0.5, ".1%"), show(0.5, ".1p"), show(1.5, ".1f", 1000)) == (
        "50.0 %",
        "50.0",
        "1500.0",
    )
    assert grouped("aba", str) == {"a": ["a", "a"], "b": ["b"]}


def test_words_of_another_extractor_are_refused_before_any_work() -> None:
    words = Dictionary.load("bsds-16k")
    assert extractor_for("sift", words) == "sift"
    with pytest.raises(Mismatch, match="described by rootsift, the dictionary holds words of sift"):
        extractor_for("rootsift", words)
