"""`sfumato extract` as a person or a script meets it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PIL import Image
from skimage import data

from commands import sfumato, sfumato_json
from sfumato.features import list_feature_names, read_features
from small_networks import edgepoint2_weights, save_weights


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    picture = data.astronaut()[:200, 100:340].copy()  # type: ignore[no-untyped-call]
    for name in ("a.png", "b[1].png"):
        Image.fromarray(picture).save(folder / name)
    return folder


run = partial(sfumato, "extract")
run_json = partial(sfumato_json, "extract")


def test_one_picture_is_summarised_without_coordinates(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run_json(capsys, photos / "a.png", "--max-keypoints", 25)
    assert result == {
        "extractor": "sift",
        "keypoints": 25,
        "dimension": 128,
        "dtype": "uint8",
        "image_size": [240, 200],
    }
    assert run(photos / "a.png", "--extractor", "freak") == 0
    shown = capsys.readouterr().out
    assert "240×200" in shown
    assert "freak" in shown
    assert "." not in shown  # no fractions: no positions, no scores


def test_one_picture_goes_into_a_features_file(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "f[x].h5"
    result = run_json(capsys, photos / "a.png", "-o", output, "--extractor", "rootsift")
    assert result["output"] == str(output)
    assert len(read_features(output, "a.png")) == result["keypoints"]
    assert run(photos / "a.png", "-o", output, "--extractor", "rootsift") == 2
    assert "already" in capsys.readouterr().err


def test_a_folder_goes_into_a_features_file_and_resumes(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "f.h5"
    result = run_json(capsys, photos, "-o", output, "--max-keypoints", 30)
    assert result == {
        "extractor": "sift",
        "output": str(output),
        "done": 2,
        "skipped_existing": 0,
        "unreadable": [],
        "keypoints": 60,
    }
    assert list_feature_names(output) == ("a.png", "b[1].png")
    assert run(photos, "-o", output, "--max-keypoints", 30) == 0
    words = capsys.readouterr().out.split()
    assert words[words.index("there") + 1] == "2"


def test_unreadable_pictures_are_named_and_the_rest_goes_on(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (photos / "broken\x1b[31m.png").write_bytes((photos / "a.png").read_bytes()[:99])
    output = tmp_path / "f.h5"
    assert run(photos, "-o", output) == 0
    captured = capsys.readouterr()
    assert "unreadable" in captured.out
    assert r"left out broken\x1b[31m.png: the picture is truncated" in captured.err
    result = run_json(capsys, photos, "-o", output)
    assert [entry["name"] for entry in result["unreadable"]] == ["broken\x1b[31m.png"]
    assert run(photos, "-o", tmp_path / "strict.h5", "--strict") == 2
    assert not (tmp_path / "strict.h5").exists()


def test_bad_input_ends_with_one_sentence(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.png").write_text("words")
    picture, output = photos / "a.png", tmp_path / "f.h5"
    for words, reason in (
        ((photos,), "add -o"),
        ((tmp_path / "absent.png",), "no such file"),
        ((tmp_path / "text.png",), "not a picture"),
        ((tmp_path / "empty", "-o", output), "no picture"),
        ((picture, "--extractor", "surf"), "one of sift"),
        ((picture, "--extractor", "hardnet"), "hardnet needs"),
        ((picture, "--max-keypoints", 0), "max_keypoints"),
        ((picture, "--weights", picture), "takes no weights"),
        ((picture, "-o", tmp_path / "no" / "f.h5"), "does not exist"),
        ((picture, "-o", tmp_path / "text.png"), "damaged"),
        ((), "SOURCE"),
    ):
        assert run(*words) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("sfumato: ")
        assert captured.err.count("\n") == 1
        assert reason in captured.err


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    assert "Example: sfumato extract photos/ -o features.h5" in capsys.readouterr().out


def test_two_networks_of_one_name_do_not_share_a_features_file(
    tmp_path: Path, photo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in (0, 1):
        weights = save_weights(tmp_path / f"{seed}.safetensors", edgepoint2_weights(seed))
        assert sfumato("extractor", "export", weights, "-o", tmp_path / f"{seed}.onnx") == 0
    photos = tmp_path / "photos"
    photos.mkdir()
    (photos / "a.png").write_bytes(photo.read_bytes())
    out = ["-o", tmp_path / "f.h5"]
    assert sfumato("extract", photos, "--extractor", tmp_path / "0.onnx", *out) == 0
    (photos / "b.png").write_bytes(photo.read_bytes())
    for source in (photos, photos / "b.png"):
        assert sfumato("extract", source, "--extractor", tmp_path / "1.onnx", *out) == 2
        assert "was begun with edgepoint2" in capsys.readouterr().err
    assert sfumato("extract", photos, "--extractor", tmp_path / "0.onnx", *out) == 0
    # Its name alone is not enough, and the way out is said.
    assert sfumato("extract", photos, "--extractor", "edgepoint2-t32", "-o", tmp_path / "g.h5") == 2
    assert "give the file (.onnx)" in capsys.readouterr().err
