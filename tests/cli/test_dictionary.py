"""`sfumato dictionary` as a person or a script meets it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage import data

from commands import sfumato, sfumato_json
from sfumato.dictionary import Dictionary
from sfumato.features import extract_folder


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    picture = data.astronaut()  # type: ignore[no-untyped-call]
    for number in range(2):
        part = np.roll(picture, 90 * number, axis=1)[:200, :220]
        Image.fromarray(part.copy()).save(folder / f"{number}.png")
    return folder


run = partial(sfumato, "dictionary")
run_json = partial(sfumato_json, "dictionary")


def test_a_folder_is_built_and_described(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "words"
    built = run_json(capsys, "build", photos, "--words", 30, "-o", output, "--iterations", 2)
    assert built["num_words"] == 30
    assert built["provenance"] == "photos"
    assert built == run_json(capsys, "info", output)
    assert built["fingerprint"] == Dictionary.load(output).fingerprint
    assert run("info", output) == 0
    shown = capsys.readouterr().out
    assert built["fingerprint"] in shown
    assert "30 × 128 uint8" in shown
    assert "come from one picture only" in shown


def test_every_option_reaches_the_manifest(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features = tmp_path / "features.h5"
    extract_folder(photos, features, extractor="rootsift")
    options = "--extractor rootsift --spherical --start random --iterations 3 --memory 0.5"
    more = "--seed 7 --index graph --max-keypoints 90 --built-from-map"
    words = [*options.split(), *more.split(), "--provenance", "two [photos]"]
    built = run_json(capsys, "build", features, "--words", 25, "-o", tmp_path / "d", *words)
    assert built["extractor"] == "rootsift"
    assert built["dtype"] == "float32"
    assert built["clustering"]["method"] == "spherical k-means"
    assert built["clustering"]["start"] == "random"
    assert built["clustering"]["iterations"] == 3
    assert built["clustering"]["seed"] == 7
    assert built["index"]["kind"] == "graph"
    assert built["extractor_settings"]["max_keypoints"] == 90
    assert built["built_from_map"] is True
    assert run("info", tmp_path / "d") == 0
    assert "two [photos]" in capsys.readouterr().out


def test_the_bundled_dictionary_is_known_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "info", "bsds-16k")["num_words"] == 16_384


def test_given_words_have_a_shorter_story(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Dictionary.from_words(np.eye(4, dtype=np.float32), extractor="tiny").save(tmp_path / "d")
    assert run("info", tmp_path / "d") == 0
    shown = capsys.readouterr().out
    assert "given words" in shown
    assert "clustering" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "nothing-here"], "there is no dictionary"),
        (["build", "nowhere", "--words", "10", "-o", "out"], "no folder"),
        (["build", "photos", "--words", "1", "-o", "out"], "num_words"),
        (["build", "photos", "--words", "many", "-o", "out"], "--words"),
        (["build", "photos", "--words", "90000", "-o", "out"], "at least as many descriptors"),
        (["build", "photos", "--words", "10"], "output"),
        (["build", "photos", "--words", "10", "-o", "photos"], "exists already"),
        (["build", "photos", "--words", "10", "-o", "out", "--extractor", "surf"], "extractor"),
        (["build", "photos", "--words", "10", "-o", "out", "--index", "fast"], "index"),
    ],
)
def test_bad_input_ends_with_one_sentence_and_code_2(
    photos: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(photos.parent)
    assert run(*words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sfumato: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert [path.name for path in photos.parent.iterdir()] == ["photos"]


@pytest.mark.parametrize("command", ["build", "info"])
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command, "--help") == 0
    assert f"Example: sfumato dictionary {command}" in capsys.readouterr().out
