"""`sfumato attack photo` as a person uses it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from recoveries import lifted
from support import photograph

QUICK = ("--side", 128, "--dimension", "2", "--epsilon", "12,6")


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(photograph()[60:220, 150:310]).save(path)
    return path


def test_a_photograph_becomes_one_page(
    tmp_path: Path, photo: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    shown = sfumato_json("attack photo", capsys, photo, "-o", page, "--networks", networks, *QUICK)
    assert shown["kind"] == "photograph"
    assert shown["painted_size"] == [128, 128]
    assert shown["original_size"] == [160, 160]
    read = [(row["sent"], row["read_by"]) for row in shown["rows"]]
    assert read[0] == ("raw", None)
    assert [attack for sent, attack in read if sent == "lifted"] == [
        "nearest", "clustering", "database", "vertex",
    ]  # fmt: skip
    for row in shown["rows"]:
        assert ("ε" in row["guarantee"]) == (row["sent"] == "words")
        assert row["not_protected"]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "--networks" in text
    assert photo.name not in text  # the command is shown without the name of the picture


def test_the_figures_are_printed_for_people(
    tmp_path: Path,
    photo: Path,
    networks: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert sfumato("attack", "photo", photo, "--networks", networks, *QUICK) == 0
    assert (tmp_path / "attack.html").is_file()
    text = capsys.readouterr().out
    assert "vertex" in text
    assert "…" not in text  # nothing is cut where 80 columns are all there is
    flat = " ".join(text.split())
    assert "Not protected by any of them: the positions of the keypoints" in flat
    assert "The page, with the photograph in it: attack.html" in flat


def test_a_picture_with_no_keypoints_is_said_to_have_none(
    tmp_path: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "blank.png"
    Image.fromarray(np.full((50, 70, 3), 99, dtype=np.uint8)).save(path)
    page = tmp_path / "report.html"
    assert sfumato("attack", "photo", path, "-o", page, "--networks", networks) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "no keypoints: nothing to reconstruct from" in text
    assert page.is_file()


def test_bad_input_ends_with_one_sentence_and_writes_nothing(
    tmp_path: Path, photo: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torn = tmp_path / "torn.png"
    torn.write_bytes(photo.read_bytes()[:500])
    release = tmp_path / "a.sfr"
    release.write_bytes(lifted(count=2).release.to_bytes())
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "sift-raw.onnx").write_bytes(b"no network")
    page = tmp_path / "report.html"
    with_networks = ("--networks", networks)
    for words, message in (
        ((tmp_path / "none.png", "-o", page), "cannot be read"),
        ((torn, "-o", page, *with_networks), "truncated or damaged"),
        ((tmp_path, "-o", page), "cannot be read"),
        ((photo, "-o", tmp_path / "report.txt"), "must end in .html"),
        ((photo, "-o", tmp_path / "no" / "report.html"), "folder that exists"),
        ((photo, "-o", page, "--networks", damaged), "not an inversion network"),
        ((photo, "-o", page, "--networks", tmp_path / "absent"), "networks must be a folder"),
        ((photo, "-o", page, "--extractor", "freak", *with_networks), "invert train"),
        (
            (photo, "-o", page, "--extractor", "none", *with_networks),
            "nothing paints from features of none",
        ),
        ((photo, "-o", page, "--extractor", "net.onnx"), "no protection"),
        ((photo, "-o", page, "--epsilon", "nan", *with_networks), "epsilon"),
        ((photo, "-o", page, "--dimension", "1", *with_networks), "dimension"),
        ((photo, "-o", page, "--dimension", "two", *with_networks), "whole numbers"),
        ((photo, "-o", page, "--side", "4", *with_networks), "max_side"),
        ((photo, "-o", page, "--repeat", release, *with_networks), "No such option: --repeat"),
        ((release, "-o", page), "use `sfumato attack release`"),
    ):
        assert sfumato("attack", "photo", *words) == 2
        told = capsys.readouterr().err.strip()
        assert message in told
        assert len(told.splitlines()) == 1
    assert not page.exists()


def test_options_of_protect_decide_what_is_sent(
    tmp_path: Path, photo: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boxes = tmp_path / "boxes.json"
    boxes.write_text("[[0, 0, 60, 159]]")
    sending = ("--keep", 30, "--boxes", boxes, "--words", 1024, "--subset-size", 2)
    page = tmp_path / "report.html"
    shown = sfumato_json(
        "attack photo", capsys, photo, "-o", page, "--networks", networks, *QUICK, *sending
    )
    plain = sfumato_json("protect", capsys, photo, "--epsilon", 12, *sending, "--explain")
    first = shown["would_be_sent"][0]
    for name in ("keypoints", "bytes", "dictionary", "words_per_keypoint", "epsilon_per_picture",
                 "exact_epsilon_per_picture"):  # fmt: skip
        assert first[name] == plain[name], name
    assert first["keypoints"] == 30
    text = page.read_text(encoding="utf-8")
    assert "none of the photograph’s keypoints is sent from here" in text
    for words, message in (
        (("--decoys",), "--decoys applies only with --suppress or --boxes"),
        (("--extractor", "freak", "--keep", "30"), "--keep applies only to words"),
        (("-o", tmp_path / "report.pdf"), "open the page and print it"),
    ):
        assert sfumato("attack", "photo", photo, *words) == 2
        assert message in capsys.readouterr().err
