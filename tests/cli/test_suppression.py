"""`sfumato protect --suppress` and its kin as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from onnx_models import constant_model
from sfumato.core.releases import KeypointRelease, Release
from sfumato.detectors import find
from sfumato.detectors.base import Boxes
from sfumato.detectors.find import counted
from sfumato.detectors.regions import touches

BOX = Boxes(np.array([[60.0, 60, 160, 200]]), ("given",), np.ones(1))


@pytest.fixture
def common(photo: Path, words: Path, tmp_path: Path) -> list[object]:
    (tmp_path / "boxes.json").write_text(json.dumps(BOX.corners.tolist()))
    return [photo, "--epsilon", 10, "--dictionary", words]


def keypoints(path: Path) -> np.ndarray:
    release = Release.from_bytes(path.read_bytes())
    assert isinstance(release, KeypointRelease)
    return release.keypoints


def test_given_boxes_stay_empty_and_are_told_here_only(
    common: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.sfr"
    hide = ("--boxes", tmp_path / "boxes.json", "--keep", 100)
    shown = sfumato_json("protect", capsys, *common, *hide, "-o", out)
    assert shown["hidden"]["regions"] == {"given": 1}
    assert shown["hidden"]["keypoints_removed"] > 0
    assert shown["hidden"]["told_to_the_server"] is False
    assert shown["keypoints"] == 100
    assert not touches(BOX, keypoints(out), margin=0.1).any()
    assert sfumato("protect", *common, *hide, "--explain") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "keypoints around 1 given box; the server is not told" in text
    assert "What a detector misses is not hidden" in text


def test_what_is_hidden_is_counted_in_english() -> None:
    assert [counted(*one) for one in ((1, "person"), (6, "person"), (2, "given"), (1, "car"))] == [
        "1 person", "6 people", "2 given boxes", "1 × car",
    ]  # fmt: skip


def test_decoys_fill_what_was_hidden(
    common: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.sfr"
    hide = ("--boxes", tmp_path / "boxes.json", "--decoys")
    shown = sfumato_json("protect", capsys, *common, *hide, "-o", out)
    inside = touches(BOX, keypoints(out), margin=0.1)
    assert inside.sum() == shown["hidden"]["decoys"] > 0
    assert shown["epsilon_per_picture"] == 10 * shown["keypoints"]  # decoys are charged too


def test_a_mask_people_and_a_yolo_file_at_once(
    common: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mask = np.zeros((256, 256), dtype=np.uint8)
    mask[:100, :50] = 255
    Image.fromarray(mask).save(tmp_path / "mask.png")
    answer = np.zeros((1, 84, 84), np.float32)
    answer[0, :5, 0] = 48, 48, 16, 16, 0.9  # of 64: a person at the lower right
    answer[0, [0, 1, 2, 3, 6], 1] = 10, 48, 8, 8, 0.9  # a car
    yolo = constant_model(tmp_path / "yolo.onnx", [answer])
    hide = ("--mask", tmp_path / "mask.png", "--suppress", "person", "--detector", yolo)
    shown = sfumato_json("protect", capsys, *common, *hide, "--classes", "person", "--explain")
    assert shown["hidden"]["regions"]["mask"] == 1
    assert shown["hidden"]["regions"]["person"] >= 1
    assert "car" not in shown["hidden"]["regions"]


def test_a_failing_detector_writes_nothing_and_charges_nothing(
    common: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Broken:
        name = "person"

        def __call__(self, picture: object) -> Boxes:
            raise RuntimeError("no")

    monkeypatch.setattr(find, "DETECTORS", {"person": Broken})
    out, ledger = tmp_path / "out.sfr", ("--ledger", tmp_path / "ledger")
    assert sfumato("protect", *common, "--suppress", "person", "-o", out, *ledger) == 2
    shown = capsys.readouterr()
    assert "the detector 'person' failed, so nothing is released" in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not shown.out
    assert not out.exists()
    assert sfumato("protect", *common, "--keep", 5, "-o", out, *ledger) == 0
    assert "has spent ε = 50 on 1 picture" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--suppress", "cat"), "detector must be one of person, face, text, got 'cat'"),
        (("--suppress", ","), "must not be empty"),
        (("--boxes", "none.json"), "none.json cannot be read"),
        (("--mask", "none.png"), "none.png"),
        (("--detector", "none.onnx"), "no file of a YOLO detector"),
        (("--classes", "person"), "--classes applies only with --detector"),
        (("--decoys",), "--decoys applies only with --suppress"),
        (("--suppress", "person", "--margin", -1), "margin must be between"),
        (("--suppress", "person", "--reach", "nan"), "reach must be a number"),
        (("--suppress", "person", "--timeout", 0), "timeout must be a positive"),
        (("--margin", 0.2), "--margin applies only with --suppress or --boxes"),
        (("--mask", "m.png", "--timeout", 3), "--timeout applies only with --suppress"),
    ],
)
def test_bad_input_ends_with_one_sentence(
    common: list[object],
    options: tuple[object, ...],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sfumato("protect", *common, "--explain", *options) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not shown.out


def test_boxes_outside_the_picture_and_lifted_decoys_are_refused(
    common: list[object], photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "far.json").write_text("[[0, 0, 900, 10]]")
    assert sfumato("protect", *common, "--boxes", tmp_path / "far.json", "--explain") == 2
    assert "lie outside the picture" in capsys.readouterr().err
    lift = (photo, "--lift", "sub-hybrid", "--dictionary", tmp_path / "words", "--explain")
    boxes = ("--boxes", tmp_path / "boxes.json")
    assert sfumato("protect", *lift, *boxes, "--decoys") == 2
    assert "--decoys does not apply with --lift" in capsys.readouterr().err
    assert sfumato("protect", *lift, *boxes) == 0
    assert "ε" not in capsys.readouterr().out
