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


def test_a_folder_is_attacked_release_by_release_here_or_by_workers(
    tmp_path: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    for number in range(2):
        written(folder / f"{number}.sfr", worded(epsilon=6.0, draw=number)[0].to_bytes())
    written(folder / "torn.sfr", b"no release")
    known = ("--dictionary", words)
    shown = {}
    for name, more in (("here", ()), ("there", ("--workers", 2))):
        out = tmp_path / name
        shown[name] = sfumato_json("attack release", capsys, folder, *known, "-o", out, *more)
        assert sorted(path.name for path in out.iterdir()) == ["0.npz", "1.npz"]
    first, second, torn = shown["here"]["releases"]
    assert "a release has at least" in torn["error"]
    (alone,) = (
        row
        for row in sfumato_json("attack release", capsys, folder / "0.sfr", *known)["attacks"]
        if row["attack"] == "posterior"
    )
    for one, other in zip((first, second), shown["there"]["releases"], strict=False):
        assert one["attacks"][0]["answered"] == other["attacks"][0]["answered"]
    assert first["attacks"][0]["answered"] == alone["answered"]
    for part in ("0.npz", "1.npz"):
        assert (tmp_path / "here" / part).read_bytes() == (tmp_path / "there" / part).read_bytes()
    assert sfumato("attack", "release", folder, *known) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "torn.sfr not attacked" in text
    assert "ε = 6 per descriptor" in text
    assert "not protected: the positions" in text


def test_options_for_one_release_or_for_many_are_refused_for_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    assert sfumato("attack", "release", folder) == 2
    assert "holds no release" in capsys.readouterr().err
    file = written(folder / "a.sfr", worded()[0].to_bytes())
    for words, reason in (
        ((file, "--workers", 2), "--workers is for folders"),
        ((folder, "--repeat", file), "--repeat is for one release"),
        ((folder, "--others", file), "--others is for releases of subspaces"),
        ((folder, "-o", folder), "exists already"),
    ):
        assert sfumato("attack", "release", *words) == 2
        assert reason in " ".join(capsys.readouterr().err.split())
    written(file, b"no release")
    assert sfumato("attack", "release", folder) == 2
    assert "none of the 1 releases can be attacked" in capsys.readouterr().err
