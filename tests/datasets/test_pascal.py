"""Annotations as Penn–Fudan has them: read exactly, refused when they are not whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from annotated import write_annotated
from sfumato.core.errors import InvalidInput, Missing
from sfumato.datasets.pascal import read_annotated, read_annotation


def test_pictures_and_boxes_are_read(tmp_path: Path) -> None:
    write_annotated(tmp_path, "b", np.zeros((80, 100, 3), np.uint8), [(11, 21, 40, 60)])
    write_annotated(tmp_path, "a", np.zeros((80, 100, 3), np.uint8), [])
    first, second = read_annotated(tmp_path)
    assert (first.name, len(first.truth)) == ("a", 0)
    assert second.image_size == (100, 80)
    assert second.truth.classes == ("person",)
    # Pixels 11 … 40 counted from 1 are 10 … 39 from 0, with half a pixel on both sides.
    assert second.truth.corners.tolist() == [[9.5, 19.5, 39.5, 59.5]]


def test_the_folders_of_the_original_are_known_too(tmp_path: Path) -> None:
    write_annotated(tmp_path, "a", np.zeros((8, 9, 3), np.uint8), [(1, 1, 9, 8)])
    (tmp_path / "images").rename(tmp_path / "PNGImages")
    (tmp_path / "annotations").rename(tmp_path / "Annotation")
    assert read_annotated(tmp_path)[0].truth.corners.tolist() == [[-0.5, -0.5, 8.5, 7.5]]


def test_what_is_not_whole_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no folder"):
        read_annotated(tmp_path / "none")
    with pytest.raises(InvalidInput, match="holds no annotations"):
        read_annotated(tmp_path)
    write_annotated(tmp_path, "a", np.zeros((80, 100, 3), np.uint8), [(1, 1, 9, 9), (5, 5, 9, 9)])
    file = tmp_path / "annotations" / "a.txt"
    whole = file.read_text()
    for text in ("", whole[: len(whole) // 2], whole.replace("(5, 5)", "(5, five)")):
        file.write_text(text)
        with pytest.raises(InvalidInput, match="not a whole annotation"):
            read_annotation(file)
    file.write_text(whole.replace("(9, 9)", "(900, 9)"))
    with pytest.raises(InvalidInput, match="outside its 100×80 picture"):
        read_annotation(file)
    file.write_text(whole)
    (tmp_path / "images" / "a.png").unlink()
    with pytest.raises(InvalidInput, match="has no picture of its name"):
        read_annotated(tmp_path)
    Image.new("RGB", (100, 80)).save(tmp_path / "images" / "a.jpg")
    assert len(read_annotated(tmp_path)) == 1
