"""Boxes and masks that a person gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.detectors import given
from sfumato.detectors.given import GivenBoxes, GivenMask, mask_boxes

PICTURE = np.zeros((80, 100, 3), dtype=np.uint8)


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "boxes.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_boxes_are_read_with_and_without_a_class(tmp_path: Path) -> None:
    content = [[1, 2, 30, 40], {"box": [5.5, 6, 7, 8], "class": "face"}, {"box": [0, 0, 9, 9]}]
    found = GivenBoxes.read(written(tmp_path, content))(PICTURE)
    assert found.corners.tolist() == [[1, 2, 30, 40], [5.5, 6, 7, 8], [0, 0, 9, 9]]
    assert found.classes == ("given", "face", "given")
    assert len(GivenBoxes.read(written(tmp_path, []))(PICTURE)) == 0


@pytest.mark.parametrize(
    "content",
    [
        "no json",
        "",
        "[" * 5000,
        {"box": [1, 2, 3, 4]},
        [[1, 2, 3]],
        [[1, 2, 3, "4"]],
        [[1, 2, True, 4]],
        [[3, 2, 1, 4]],
        [[1, 2, 1, 4]],
        "[[0, 0, NaN, 4]]",
        "[[0, 0, Infinity, 4]]",
        "[[0, 0, 1e999, 4]]",
        [[0, 0, 10**400, 4]],
        [None],
        [{"class": "face"}],
        [{"box": [1, 2, 3, 4], "class": 7}],
    ],
)
def test_what_is_no_list_of_boxes_is_refused_in_one_sentence(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InvalidInput, match="box") as refused:
        GivenBoxes.read(written(tmp_path, content))
    assert "\n" not in str(refused.value)


def test_missing_and_enormous_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        GivenBoxes.read(tmp_path / "none.json")
    monkeypatch.setattr(given, "_MAX_BYTES", 5)
    with pytest.raises(InvalidInput, match="has more"):
        GivenBoxes.read(written(tmp_path, [[1, 2, 3, 4]]))


def test_a_mask_is_what_is_not_black(tmp_path: Path) -> None:
    pixels = np.zeros((80, 100, 3), dtype=np.uint8)
    pixels[10:20, 30:50] = (0, 0, 1)
    pixels[60:70, 80:90] = 255
    Image.fromarray(pixels).save(tmp_path / "mask.png")
    found = GivenMask.read(tmp_path / "mask.png")(PICTURE)
    assert found.corners.tolist() == [[29.5, 9.5, 49.5, 19.5], [79.5, 59.5, 89.5, 69.5]]
    assert found.mask is not None
    assert found.mask.sum() == 300
    (tmp_path / "bad.png").write_bytes(b"not a picture")
    with pytest.raises(UnreadableImage):
        GivenMask.read(tmp_path / "bad.png")


def test_a_mask_of_noise_is_refused() -> None:
    dots = np.zeros((300, 300), dtype=bool)
    dots[::2, ::2] = True
    with pytest.raises(InvalidInput, match="22,500"):
        mask_boxes(dots)
