"""Objects found again, by a detector from a file of the user's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import sfumato
from onnx_models import constant_model
from support import photograph

CELLS = 8 * 8 + 4 * 4 + 2 * 2  # of a 64×64 input


@pytest.fixture
def detector(tmp_path: Path) -> Path:
    """Sees the same person everywhere, and a car it is less sure of."""
    answer = np.zeros((1, 4 + 2, CELLS), np.float32)
    answer[0, :, 0] = 20, 32, 10, 20, 0.9, 0
    answer[0, :, 1] = 50, 30, 6, 6, 0, 0.3
    names = {"names": "{0: 'person', 1: 'car'}"}
    return constant_model(tmp_path / "things.onnx", [answer], metadata=names)


def test_recall_counts_what_the_file_is_sure_of(
    tmp_path: Path, detector: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "photos").mkdir()
    Image.fromarray(photograph()[:64, :64]).save(tmp_path / "photos" / "one.png")
    asked = ("experiment", "inversion", "--pictures", tmp_path / "photos", "--parts", "raw",
             "--detector", detector, "--one-look", "--threads", 1, "--json")  # fmt: skip
    for score, count in (("0.35", 1), ("0.25", 2)):
        assert sfumato(*asked, "--min-score", score, "-o", tmp_path / score) == 0
        said = json.loads(capsys.readouterr().out)
        named = said["inversion"]["detector"]
        assert named.startswith("things.onnx ")
        assert named.endswith(f", score at least {score}")
        assert str(tmp_path) not in named
        raw = next(row for row in said["rows"] if row["setting"]["attack"] == "raw")
        assert (raw["objects"]["mean"], raw["objects"]["count"]) == (1.0, count)


def test_a_score_that_nothing_can_have_is_refused(
    tmp_path: Path, detector: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("experiment", "inversion", "--pictures", tmp_path, "--detector", detector)
    assert sfumato(*asked, "--min-score", "1.5") == 2
    assert "min-score must be between 0 and 1, got 1.5." in capsys.readouterr().err
