"""Objects that a detector finds: told what each gives away, on the device and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.detectors import find
from sfumato.detectors.base import Boxes
from sfumato.device.objects import count_in_boxes
from sfumato.features import extract, load_image

BOXES = [[5.0, 10.0, 35.0, 50.0], [80.0, 20.0, 90.0, 30.0]]
OWN = f"""
import numpy as np
import sfumato as sf

class Badges:
    name = "badges"

    def __call__(self, picture):
        return sf.Boxes(np.array({BOXES}), ("badge", "button"), np.ones(2))
"""
ASKED = ("--epsilon", 5, "--subset-size", 1, "--dictionary", "bsds-16k")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_badges.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_badges:Badges"


def test_an_own_detector_says_what_each_object_gives_away(
    photo: Path, own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (photo, *ASKED, "--object-detector", own, "--explain")
    facts = sfumato_json("protect", capsys, *words)
    counts = count_in_boxes(extract(load_image(photo)), np.array(BOXES))
    assert [one["what"] for one in facts["objects"]] == ["badge", "button"]
    assert [one["box"] for one in facts["objects"]] == BOXES
    for one, count in zip(facts["objects"], counts, strict=True):
        promised = Composition({PrivateAnswer(5.0, 1_024): int(count)})
        assert one["seen_by"] == count > 0
        assert one["exact_epsilon"] == promised.epsilon()
        assert one["advantage"] == promised.advantage
        assert one["told_to_the_server"] is False
    assert sfumato("protect", *words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert (
        f"object 1 badge, 30 × 40 pixels at 5, 10 (the server is not told): seen by {counts[0]}"
        in text
    )
    assert "object 2 button" in text


def test_a_detector_that_finds_nothing_is_told_of(
    photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_nothing.py").write_text(
        OWN.replace("Badges", "Nothing").replace(
            f'np.array({BOXES}), ("badge", "button"), np.ones(2)',
            "np.zeros((0, 4)), (), np.ones(0)",
        )
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        words = (photo, *ASKED, "--object-detector", "own_nothing:Nothing", "--explain")
        assert sfumato_json("protect", capsys, *words)["objects"] == []
        assert sfumato("protect", *words) == 0
    assert "none found; what a detector misses is not counted" in capsys.readouterr().out


def test_only_keypoints_that_are_sent_are_counted(
    photo: Path, own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (photo, *ASKED, "--object-detector", own, "--explain")
    all_sent = sfumato_json("protect", capsys, *words)["objects"]
    few_sent = sfumato_json("protect", capsys, *words, "--keep", 5)["objects"]
    assert all_sent[0]["seen_by"] > 5 >= few_sent[0]["seen_by"]
    assert few_sent[0]["advantage"] < all_sent[0]["advantage"]


def test_where_objects_are_is_neither_released_nor_kept_in_the_ledger(
    photo: Path, own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = []
    for name, options in (("with", ("--object-detector", own)), ("without", ())):
        out, ledger = tmp_path / f"{name}.sfr", tmp_path / f"{name}.db"
        words = ("protect", photo, *ASKED, "--keep", 30, *options, "--ledger", ledger, "-o", out)
        assert sfumato(*words) == 0
        sizes.append(out.stat().st_size)
        assert b"badge" not in out.read_bytes() + ledger.read_bytes()
        assert ("badge" in capsys.readouterr().out) is (name == "with")
    assert sizes[0] == sizes[1]


def test_objects_come_from_named_detectors_and_from_files(
    photo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Faces:
        name = "face"

        def __call__(self, picture: object) -> Boxes:
            return Boxes(np.array(BOXES[:1]), ("face",), np.ones(1))

    monkeypatch.setattr(find, "DETECTORS", {"face": Faces})
    words = (photo, *ASKED, "--explain", "--object-detector")
    (by_name,) = sfumato_json("protect", capsys, *words, "face")["objects"]
    (tmp_path / "boxes.json").write_text(json.dumps(BOXES[:1]))
    (by_file,) = sfumato_json("protect", capsys, *words, tmp_path / "boxes.json")["objects"]
    assert by_name["what"] == "face"
    assert {**by_name, "what": ""} == {**by_file, "what": ""}
    assert sfumato("protect", *words, "cat") == 2
    assert "detector must be one of face, got 'cat'" in capsys.readouterr().err
    assert sfumato("protect", photo, "--lift", "random", "--explain", *words[-1:], "face") == 2
    assert "--object-detector" in capsys.readouterr().err


def test_a_detector_that_fails_stops_the_release(
    photo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        name = "face"

        def __call__(self, picture: object) -> Boxes:
            raise RuntimeError("no")

    monkeypatch.setattr(find, "DETECTORS", {"face": Broken})
    out = tmp_path / "out.sfr"
    words = ("protect", photo, *ASKED, "--object-detector", "face", "--ledger", tmp_path / "l.db")
    assert sfumato(*words, "-o", out) == 2
    assert "nothing is released" in capsys.readouterr().err
    assert not out.exists()


def test_without_noise_an_object_asked_about_is_told_to_be_unprotected(
    photo: Path, own: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--epsilon", "inf", "--dictionary", "bsds-16k", "--explain", "--object", "40x40")
    facts = sfumato_json("protect", capsys, photo, *asked, "--object-detector", own)
    assert facts["advantage_per_object"] == 1
    assert facts["exact_epsilon_per_object"] == "inf"
    assert facts["private"] is False
    assert [one["advantage"] for one in facts["objects"]] == [1, 1]
    assert sfumato("protect", photo, *asked, "--object-detector", own) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"one object seen by {facts['object_seen_by']} descriptors" in text
    assert "may be right every time" in text
    assert "(E = ∞)" in text
    assert "object 2 button" in text


def test_an_object_asked_about_is_told_when_a_release_is_written(
    photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = (photo, *ASKED, "--ledger", tmp_path / "ledger.db", "-o", tmp_path / "out.sfr")
    assert sfumato("protect", *written, "--object", "40x40") == 0
    assert "one object" in capsys.readouterr().out
