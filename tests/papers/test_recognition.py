"""Who and what is recognised in paintings: rows that can be counted by hand, and small runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from commands import sfumato
from sfumato.core.errors import InvalidInput
from sfumato.detectors.base import Boxes
from sfumato.privacy.defence import Defence
from sfumato.privacy.interval import wilson
from sfumato_papers.ldp_feat.inversion.outcomes import Setting
from sfumato_papers.ldp_feat.inversion.releases import Picture
from sfumato_papers.ours.recognition import experiment, faces, signs
from sfumato_papers.ours.recognition.outcomes import (
    JOURNAL,
    Measures,
    Outcome,
    better_of,
    face_rows,
    text_rows,
    threshold_at,
)
from support import photograph

PEOPLE = ("ann", "bob", "cid", "dan")
PHOTO, RAW = Setting("photograph"), Setting("raw")


def words(attack: str, epsilon: float = 8) -> Setting:
    return Setting(attack, Defence(num_words=16, subset_size=1, epsilon=epsilon))


def face(row: Setting, person: str, *distances: float) -> Outcome:
    return Outcome("faces", row, person, Measures(distances), 100, "", person=person)


def sign(row: Setting, name: str, found: int, total: int, height: int = 12) -> Outcome:
    return Outcome("text", row, name, Measures(found=found, total=total), 50, "", height=height)


def test_the_threshold_is_the_largest_that_accepts_few_enough() -> None:
    assert threshold_at([0.5, 0.6, 0.7, 0.8], 0.5) == 0.6
    assert threshold_at([0.5, 0.5, 0.7, 0.8], 0.25) == -math.inf  # a tie would accept two
    with pytest.raises(InvalidInput, match="at least one pair of two people"):
        threshold_at([], 0.1)


def test_people_are_counted_by_a_threshold_of_the_photographs() -> None:
    plain = [
        face(PHOTO, "ann", 0.2, 0.6, 0.7, 0.9),
        face(PHOTO, "bob", 0.8, 0.3, 0.7, 0.9),
        face(PHOTO, "cid", 0.8, 0.7, 0.7, 0.9),  # not recognised in the photograph either
        face(PHOTO, "dan", 0.9, 0.9, 0.9, 0.1),
    ]
    painted = [
        face(RAW, "ann", 0.55, 0.5, 0.9, 0.9),  # accepted, but bob is nearer
        face(RAW, "bob", 0.9, 0.61, 0.9, 0.9),  # nearest, but not accepted
        face(RAW, "cid", 0.9, 0.9, 0.95, 0.9),
        face(RAW, "dan", 0.9, 0.9, 0.9, 0.6),
    ]
    rows, threshold = face_rows([*plain, *painted], PEOPLE, 1 / 12)
    assert threshold == 0.6
    photo, raw = rows
    assert (photo["share"], photo["others"], photo["first"]) == (0.75, 1 / 12, 0.75)
    assert (raw["share"], raw["others"], raw["first"]) == (0.5, 1 / 12, 0.5)
    assert (raw["low"], raw["high"]) == pytest.approx(wilson(2, 4))


def test_words_read_again_are_counted_over_all_pictures() -> None:
    row = words("direct")
    (found,) = text_rows([sign(row, "a", 1, 4), sign(row, "b", 0, 0), sign(row, "c", 2, 2, 40)])
    assert (found["share"], found["words"]) == (0.5, 6)
    assert found["by_height"] == {"12": 0.25, "40": 1.0}
    assert found["epsilon_per_picture"] == 8 * 50


def test_of_two_attacks_on_one_defence_the_better_is_kept() -> None:
    rows = text_rows([
        sign(PHOTO, "a", 9, 9), sign(RAW, "a", 1, 9),
        sign(words("direct"), "a", 2, 9), sign(words("posterior"), "a", 3, 9),
        sign(words("direct", 6), "a", 1, 9), sign(words("posterior", 6), "a", 0, 9),
    ])  # fmt: skip
    kept = [(row["setting"].attack, row["setting"].defence.epsilon) for row in better_of(rows)]
    assert kept == [("photograph", None), ("raw", None), ("posterior", 8), ("direct", 6)]


def test_a_sign_has_letters_of_the_height_asked_for() -> None:
    blank = np.full((256, 256, 3), 128, np.uint8)
    for height in signs.HEIGHTS:
        made = signs.with_sign(blank, height, seed=0)  # dark letters on a light plate
        dark = (made.max(axis=2) < 60).any(axis=1).astype(int)
        starts, ends = (np.flatnonzero(np.diff(dark) == step) for step in (1, -1))
        assert 1 <= len(starts) <= 3
        assert abs(int((ends - starts).max()) - height) <= 2 + height // 5  # Q has a tail


@pytest.mark.needs("detectors")
def test_the_reader_reads_signs_and_nothing_on_a_gray_picture() -> None:
    made = signs.with_sign(np.full((256, 256, 3), 128, np.uint8), 18, seed=0)
    judge = signs.SignJudge()
    sign_itself = judge.judge(Picture("sign", made), made)
    assert sign_itself.found == sign_itself.total >= 3
    assert judge.judge(Picture("sign", made), np.full_like(made, 128)).found == 0


class Blocks:
    """Stands in for dlib: a face is known by the mean colours of its blocks."""

    def __init__(self) -> None:
        self.finder = SimpleNamespace(find=lambda pixels: pixels.shape)

    def embed(self, pixels: NDArray[Any]) -> NDArray[np.float32]:
        small = Image.fromarray(pixels).resize((4, 4), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float32).reshape(-1) / np.float32(255)

    def embed_at(self, pixels: NDArray[Any], known: Any) -> NDArray[np.float32]:
        assert pixels.shape == known
        return self.embed(pixels)


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(faces, "open_dlib", Blocks)
    for number, who in enumerate(PEOPLE[:3]):
        (tmp_path / "people" / who).mkdir(parents=True)
        for shift in range(3):
            part = photograph()[100 * number + shift :, 90 * number + shift :][:64, :64]
            Image.fromarray(part).save(tmp_path / "people" / who / f"{shift}.png")
    return tmp_path / "people"


def test_a_run_goes_on_where_it_was_and_takes_more_pictures(
    people: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("experiment", "recognition", "--faces", people, "--scale", 1, "--dimension", "2",
             "--epsilon", "8", "--threads", 1, "-o", tmp_path / "out")  # fmt: skip
    assert sfumato(*asked, "--per-person", 1, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["setting"]["attack"] for row in said["faces_rows"]] == [
        "photograph", "raw", "vertex", "direct", "posterior",
    ]  # fmt: skip
    assert said["faces_rows"][0]["first"] == 1
    assert list(said["absent"]) == ["positions only"]
    file = tmp_path / "out" / "outcomes.jsonl"
    before = JOURNAL.read(file)[1]
    assert sfumato(*asked, "--per-person", 2) == 0
    after = JOURNAL.read(file)[1]
    assert after[: len(before)] == before
    assert len(after) == 2 * len(before) == 30
    shown = capsys.readouterr().out
    assert "never protected" in shown
    assert "favours the attacker" in shown
    assert "not made: positions only" in shown
    assert sfumato("experiment", "recognition", "--evaluate", tmp_path / "out") == 0
    assert capsys.readouterr().out == shown
    assert sfumato(*asked, "--scale", 2) == 2
    assert "outcomes of other people, words or settings" in capsys.readouterr().err


def test_text_is_read_where_the_photograph_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Boxes(np.array([[0.0, 0, 9, 9]]), ("text",), np.ones(1))
    first: list[int] = []

    def read(pixels: NDArray[Any], where: Boxes) -> list[str]:
        assert where is lines
        first.append(1)  # the photograph is read twice: as the truth, and as a row
        return ["nature", "laws", "zzz"] if len(first) <= 2 else ["laws", "laws"]

    pair = (lambda _: lines, SimpleNamespace(words=read))
    monkeypatch.setattr(signs, "open_reader", lambda: pair)
    (tmp_path / "photos").mkdir()
    Image.fromarray(photograph()[:128, :128]).save(tmp_path / "photos" / "one.png")
    asked = ("experiment", "recognition", "--signs", tmp_path / "photos", "--dimension", "none",
             "--epsilon", "none", "--threads", 1, "-o", tmp_path / "out", "--json")  # fmt: skip
    assert sfumato(*asked) == 0
    rows = json.loads(capsys.readouterr().out)["text_rows"]
    assert [(row["words"], row["share"]) for row in rows] == [(2, 1.0), (2, 0.5)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "give --faces or --signs with a folder"),
        (("--faces", "PEOPLE", "--per-person", 3), "two people in 4 photographs each"),
        (("--faces", "PEOPLE", "--false-accept", 2), "false-accept must be between 0 and 1"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(
    people: Path, tmp_path: Path, more: tuple[Any, ...], said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    asked = [people if one == "PEOPLE" else one for one in more]
    assert sfumato("experiment", "recognition", *asked, "-o", tmp_path / "out") == 2
    assert said in capsys.readouterr().err


def test_one_row_is_painted_by_one_network(people: Path, tmp_path: Path) -> None:
    kept = JOURNAL.begin(tmp_path / "outcomes.jsonl", {}, "others")
    kept.add(Outcome("faces", RAW, "a", Measures(), 1, "first (7 steps)"))
    experiment._check_painter(kept, RAW, "first (7 steps)")
    with pytest.raises(InvalidInput, match=r"painted by first.*now it would be second"):
        experiment._check_painter(kept, RAW, "second")
