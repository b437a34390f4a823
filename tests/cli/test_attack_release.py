"""`sfumato attack release` as a person uses it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from recoveries import WORDS, lifted, worded
from support import one_of_each_release


@pytest.fixture
def words(tmp_path: Path) -> Path:
    WORDS.save(tmp_path / "words")
    return tmp_path / "words"


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_every_attack_on_subspaces_is_run_or_says_what_it_needs(
    tmp_path: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "a.sfr", lifted(dimension=2, count=20).release.to_bytes())
    shown = sfumato_json("attack release", capsys, file)
    rows = {row["attack"]: row for row in shown["attacks"]}
    assert [name for name, row in rows.items() if row["run"]] == ["vertex", "nearest", "clustering"]
    assert "--dictionary" in rows["database"]["needs"]
    assert "--repeat" in rows["repeats"]["needs"]
    assert "epsilon" not in str(shown)
    assert "ε" not in str(shown)
    again = written(tmp_path / "b.sfr", lifted(dimension=2, count=20, draw=1).release.to_bytes())
    out = tmp_path / "found.npz"
    shown = sfumato_json(
        "attack release", capsys, file, "--dictionary", words, "--public", words,
        "--repeat", again, "--others", again, "-o", out,
    )  # fmt: skip
    rows = {row["attack"]: row for row in shown["attacks"]}
    assert not rows.pop("inliers")["run"]
    assert all(row["run"] and row["answered"] <= 20 for row in rows.values())
    assert rows["repeats"]["certified"] > 15
    with np.load(out) as found:
        assert found["database/descriptors"].shape == (20, 128)
        assert found["repeats/certified"].sum() == rows["repeats"]["certified"]


def test_words_are_shown_with_their_bound_and_what_is_not_protected(
    tmp_path: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "a.sfr", worded(epsilon=6.0)[0].to_bytes())
    shown = sfumato_json("attack release", capsys, file, "--dictionary", words)
    rows = {row["attack"]: row for row in shown["attacks"]}
    assert rows["posterior"]["mean_confidence"] == pytest.approx(shown["bound"], abs=1e-6)
    assert "per descriptor" in shown["guarantee"]
    assert sfumato("attack", "release", file) == 0  # without the dictionary there is nothing to run
    text = " ".join(capsys.readouterr().out.split())
    assert "posterior not run: needs --dictionary" in text
    assert "not protected: the positions" in text
    assert "ε = 6 per descriptor" in text


def test_the_table_is_printed_for_people(
    tmp_path: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "a.sfr", lifted(dimension=2, count=10).release.to_bytes())
    assert sfumato("attack", "release", file, "--dictionary", words) == 0
    text = capsys.readouterr().out
    assert "guarantee: none" in text
    assert "vertex" in text
    assert "ε" not in text


@pytest.mark.parametrize(
    ("kind", "message"), [("plain", "readable as they are"), ("candidates", "no attack"),
                          ("codes", "no keypoints to attack")],
)  # fmt: skip
def test_what_hides_no_descriptor_is_refused(
    kind: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "a.sfr", one_of_each_release()[kind].to_bytes())
    assert sfumato("attack", "release", file) == 2
    assert message in capsys.readouterr().err


def test_bad_files_end_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        (tmp_path / "none.sfr",),
        (written(tmp_path / "junk.sfr", b"junk"),),
        (written(tmp_path / "a.sfr", lifted(count=2).release.to_bytes()), "-o", "x.txt"),
    ):
        assert sfumato("attack", "release", *words) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
