"""The suppression experiment on small pictures: what it counts, and that it can be stopped."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

from annotated import write_annotated
from commands import sfumato, sfumato_json
from sfumato.adversary.invert import networks
from sfumato.adversary.invert.reconstruct import Reconstruction
from sfumato.core.errors import InvalidInput, Mismatch, Missing
from sfumato.core.types import Features
from sfumato.datasets.pascal import Annotated, read_annotated
from sfumato.detectors.base import Boxes
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato_papers.reverse.suppression import JOURNAL, Settings, run_suppression
from sfumato_papers.reverse.suppression_attacks import (
    Again,
    find_again,
    read_again,
    tell_decoys_apart,
)
from sfumato_papers.reverse.suppression_cost import changed_copy, count_inliers, moved_boxes
from sfumato_papers.reverse.suppression_page import suppression_page
from sfumato_papers.reverse.suppression_table import Results, notes
from support import photograph

GRID = Settings(max_keypoints=300, num_seeds=1)
WORDS = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
DICTIONARY = Dictionary.from_words(WORDS, extractor="sift")


class Half:
    """A detector that sees the left of the two people in every picture."""

    name = "half"

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        self.calls += 1
        return Boxes(np.array([[20.0, 30, 80, 150]]), ("person",), np.ones(1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("people")
    for number in range(4):
        part = photograph()[80 * number :, 60 * number :][:200, :240]
        write_annotated(root, f"p{number}", part, [(21, 31, 80, 150), (140, 40, 190, 160)])
    return root


@pytest.fixture(scope="module")
def pictures(folder: Path) -> tuple[Annotated, ...]:
    return read_annotated(folder)


@pytest.fixture(scope="module")
def outcomes(pictures: tuple[Annotated, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("out") / "outcomes.jsonl"
    run_suppression(pictures[:2], Half(), DICTIONARY, GRID, path)
    return path


def test_no_keypoint_lies_in_a_hidden_region(outcomes: Path) -> None:
    _, found = JOURNAL.read(outcomes)
    assert len(found) == 2 * 5
    assert all(o.num_inside == 0 for o in found)
    for o in found:
        if o.hide == "given":
            assert o.on_people == 0 < o.on_people_before
        if o.hide == "detected":
            assert o.people_detected == 1
            assert 0 < o.on_people < o.on_people_before
        if o.hide == "nothing":
            assert o.on_people == o.on_people_before
        assert (o.num_decoys > 0) == o.has_decoys
        assert o.inliers is not None


def test_a_run_that_was_stopped_goes_on(
    outcomes: Path, pictures: tuple[Annotated, ...], tmp_path: Path
) -> None:
    lines = outcomes.read_text().splitlines(keepends=True)
    copy = tmp_path / "o.jsonl"
    copy.write_text("".join(lines[:8]) + lines[8][:20])  # the second picture is half done
    detector = Half()
    run_suppression(pictures[:2], detector, DICTIONARY, GRID, copy)
    assert copy.read_text() == outcomes.read_text()
    assert detector.calls == 2  # the second picture and its copy
    with pytest.raises(Mismatch, match="other pictures or settings"):
        run_suppression(pictures[:1], Half(), DICTIONARY, GRID, copy)
    copy.write_text('{"kind": "else"}\n')
    with pytest.raises(InvalidInput, match="not a file of the suppression"):
        JOURNAL.read(copy)


def test_the_table_tells_shares_and_what_they_mean(outcomes: Path) -> None:
    head, found = JOURNAL.read(outcomes)
    again = [Again("p0", "nothing", 4, 2, 1), Again("p0", "given", 4, 0, 0)]
    rows = {(row["hide"], row["has_decoys"]): row for row in Results(head, found, again).rows()}
    assert rows["nothing", False]["found_again"] == 0.5
    assert rows["nothing", False]["by_chance"] == 0.25
    assert rows["given", False]["found_again"] == 0
    assert rows["given", True]["found_again"] is None
    assert rows["nothing", False]["on_people"] == 1
    auc = {"decoys": 9, "positions": 0.6, "words": 0.7}
    text = "\n".join(notes(Results(head, found, again, auc)))
    for phrase in ("'half' finds 2 of them", "ε = 10 per descriptor", "not protected", "AUC 0.60"):
        assert phrase in text
    results, black = Results(head, found, again), np.zeros((8, 8, 3), np.uint8)
    page = suppression_page(results, black, "sfumato <b> & more")
    root = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))  # well-formed, escaped
    assert "sfumato <b> & more" in "".join(root.itertext())
    assert "http" not in page.replace("http-equiv", "")


def test_a_changed_copy_is_the_same_scene() -> None:
    picture = photograph()[:256, :256]
    copy, homography = changed_copy(picture, seed=1)
    assert copy.shape == picture.shape
    first, second = extract(picture), extract(copy)
    assert count_inliers(first, second, homography) > 60
    assert count_inliers(first, second, np.eye(3)) < 10
    box = Boxes(np.array([[50, 50, 100, 120]]), ("person",), np.ones(1))
    moved = moved_boxes(box, homography, copy.shape).corners[0]
    assert (moved != box.corners[0]).all()
    assert moved[0] < moved[2]


def test_decoys_are_examined_on_pictures_that_were_not_learned(
    pictures: tuple[Annotated, ...],
) -> None:
    found = tell_decoys_apart(pictures, DICTIONARY, GRID)
    assert found["decoys"] > 50
    assert 0.3 < found["positions"] < 1
    assert 0.3 < found["words"] < 1


class Painter:
    """In place of an inversion network: white if any keypoint is on the left person, else black."""

    architecture = SimpleNamespace(extractor="sift")

    def __init__(self, path: Path, content: bytes = b"weights") -> None:
        self.path = path
        path.write_bytes(content)

    def reconstruct(self, features: Features, *, one_look: bool) -> Reconstruction:
        width, height = features.image_size
        x, y = features.keypoints.T
        level = float(((x > 25) & (x < 75) & (y > 35) & (y < 145)).any())
        return Reconstruction(np.full((height, width, 3), level, np.float32), len(features))


class Bright(Half):
    """Sees the left person in photographs and in white, nobody in black."""

    def __call__(self, picture: NDArray[np.uint8]) -> Boxes:
        found = super().__call__(picture)
        return found if picture.any() else found.of([])


def test_people_are_looked_for_again_in_reconstructions(
    pictures: tuple[Annotated, ...], tmp_path: Path
) -> None:
    painter: Any = Painter(tmp_path / "n.onnx")
    path, detector = tmp_path / "again.jsonl", Bright()
    find_again(pictures[:2], detector, painter, GRID, path)
    found = {(item.picture, item.hide): item for item in read_again(path)}
    assert len(found) == 2 * 3
    for (_, hide), item in found.items():
        assert item.detected == 1
        assert item.again == (1 if hide == "nothing" else 0)
    whole = path.read_text()
    path.write_text("".join(whole.splitlines(keepends=True)[:5]))
    find_again(pictures[:2], detector, painter, GRID, path)
    assert path.read_text() == whole
    other: Any = Painter(tmp_path / "m.onnx", b"other weights")
    with pytest.raises(Mismatch, match="another network"):
        find_again(pictures[:2], detector, other, GRID, path)


def test_the_command_runs_goes_on_and_says_what_is_missing(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def none(*_: Any) -> Path:
        raise Missing("there is no network here.")

    monkeypatch.setattr(networks, "find_network", none)
    DICTIONARY.save(tmp_path / "words")
    options = [
        *("--data", folder, "--dictionary", tmp_path / "words", "--seeds", 1),
        *("--max-keypoints", 200, "-o", tmp_path / "out"),
    ]
    shown = sfumato_json("experiment", capsys, "suppression", *options)
    assert [row["num_inside"] for row in shown["rows"]] == [0] * 5
    assert "found again was not measured: there is no network here." in shown["remark"]
    for name in ("outcomes.jsonl", "decoys.json", "suppression.png", "suppression.html"):
        assert (tmp_path / "out" / name).stat().st_size > 0
    assert sfumato("experiment", "suppression", "--evaluate", tmp_path / "out") == 0
    assert "the detector 'person' finds" in capsys.readouterr().out
    (tmp_path / "out" / "decoys.json").write_text("{")
    assert sfumato("experiment", "suppression", "--evaluate", tmp_path / "out") == 2
    assert "is damaged; remove it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "give --data"),
        (("--data", "nowhere"), "there is no folder"),
        (("--evaluate", "nowhere"), "there is no file"),
        (("--data", "FOLDER", "--shown", 9), "--shown must be below 4"),
        (("--data", "FOLDER", "--seeds", 0), "seeds must be"),
        (("--data", "FOLDER", "--epsilon", 0), "epsilon must be"),
        (("--data", "FOLDER", "--margin", -1), "margin must be"),
        (("--data", "FOLDER", "--detector", "no.onnx"), "no.onnx"),
    ],
)
def test_bad_input_ends_with_one_sentence(
    options: tuple[Any, ...],
    sentence: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [folder if word == "FOLDER" else word for word in options]
    assert sfumato("experiment", "suppression", "-o", tmp_path / "out", *words) == 2
    shown = capsys.readouterr().err
    assert sentence in shown
    assert len(shown.strip().splitlines()) == 1
    assert json.dumps(shown)
