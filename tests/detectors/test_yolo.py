"""YOLO files: two layouts are read, everything that looks alike is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onnx_models import constant_model
from sfumato.core.errors import InvalidInput
from sfumato.detectors.base import check_boxes
from sfumato.detectors.coco import COCO
from sfumato.detectors.run import detect
from sfumato.detectors.yolo import YoloFile

CELLS = 8 * 8 + 4 * 4 + 2 * 2  # of a 64×64 input
PICTURE = np.zeros((100, 200, 3), dtype=np.uint8)  # seen as 64×32, 16 rows of gray above and below
NAMES = "{0: 'person', 1: 'car', 2: 'dog'}"

#: Centre, size, class and score in pixels of the network's input.
THINGS = [(20, 32, 10, 20, 0, 0.9), (21, 32, 10, 20, 0, 0.8), (50, 30, 6, 6, 1, 0.7)]


def v8(num_classes: int = 3) -> NDArray[Any]:
    answer = np.zeros((1, 4 + num_classes, CELLS), np.float32)
    for column, (x, y, w, h, kind, score) in enumerate(THINGS):
        answer[0, :4, column] = x, y, w, h
        answer[0, 4 + kind, column] = score
    return answer


def v5(num_classes: int = 3) -> NDArray[Any]:
    answer = np.zeros((1, 3 * CELLS, 5 + num_classes), np.float32)
    for row, (x, y, w, h, kind, score) in enumerate(THINGS):
        answer[0, row, :5] = x, y, w, h, 1.0
        answer[0, row, 5 + kind] = score
    return answer


@pytest.mark.parametrize("answer", [v8(), v5()], ids=["v8", "v5"])
def test_both_layouts_give_the_same_boxes(tmp_path: Path, answer: NDArray[Any]) -> None:
    path = constant_model(tmp_path / "yolo.onnx", [answer], metadata={"names": NAMES})
    (found,) = detect([YoloFile(path, threads=1)], PICTURE)
    assert found.classes == ("person", "car")  # the second person repeats the first
    assert found.scores.tolist() == pytest.approx([0.9, 0.7])
    # 200 pixels became 64: x is multiplied by 3.125, y as well after 16 rows are taken off.
    left, top, right, bottom = found.corners[0]
    assert (left, right) == pytest.approx((15 * 3.125 - 0.5, 25 * 3.125 - 0.5))
    assert (top, bottom) == pytest.approx((6 * 3.125 - 0.5, 26 * 3.125 - 0.5))


def test_classes_limit_what_counts(tmp_path: Path) -> None:
    path = constant_model(tmp_path / "yolo.onnx", [v8()], metadata={"names": NAMES})
    (found,) = detect([YoloFile(path, classes=["car"], threads=1)], PICTURE)
    assert found.classes == ("car",)
    with pytest.raises(InvalidInput, match="knows no class 'persn'; it knows person, car, dog"):
        YoloFile(path, classes=["persn"])


def test_eighty_classes_without_names_are_those_of_coco(tmp_path: Path) -> None:
    assert len(COCO) == 80
    path = constant_model(tmp_path / "yolo.onnx", [v8(80)])
    (found,) = detect([YoloFile(path, threads=1)], PICTURE)
    assert found.classes == ("person", "bicycle")


def test_classes_that_have_no_names_cannot_be_chosen(tmp_path: Path) -> None:
    path = constant_model(tmp_path / "yolo.onnx", [v8(3)])
    (found,) = detect([YoloFile(path, threads=1)], PICTURE)
    assert found.classes == ("class 0", "class 1")
    with pytest.raises(InvalidInput, match="does not name its 3 classes"):
        YoloFile(path, classes=["person"], threads=1)(PICTURE)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([(1, 300, 6)], "YOLOv10"),
        ([(1, CELLS, 20)], "YOLOX or YOLOv6"),
        ([(1, 3, 8, 8, 85), (1, 3, 4, 4, 85), (1, 3, 2, 2, 85)], "undecoded heads"),
        ([(1, 116, CELLS), (1, 32, 16, 16)], "segmentation"),
        ([(1, 100, 4), (1, 100), (1, 100), (1,)], "SSD or DETR"),
        ([(1, 1000)], "no layout of the family"),
        ([(1, 7, 77)], "no layout of the family"),
        ([(2, 7, CELLS)], "no layout of the family"),
    ],
)
def test_other_layouts_are_refused_by_name(
    tmp_path: Path, shapes: list[tuple[int, ...]], words: str
) -> None:
    answers = [np.zeros(shape, np.float32) for shape in shapes]
    path = constant_model(tmp_path / "other.onnx", answers)
    with pytest.raises(InvalidInput, match=words) as refused:
        YoloFile(path, threads=1)(PICTURE)
    assert "only the layouts of YOLOv5" in str(refused.value)
    assert "other.onnx" in str(refused.value)


def test_a_layout_that_contradicts_its_names_is_refused(tmp_path: Path) -> None:
    path = constant_model(tmp_path / "pose.onnx", [v8(52)], metadata={"names": "{0: 'person'}"})
    with pytest.raises(InvalidInput, match="poses"):
        YoloFile(path, threads=1)(PICTURE)


@pytest.mark.parametrize("value", [np.nan, 5.0, -2.0])
def test_answers_that_are_no_scores_are_refused(tmp_path: Path, value: float) -> None:
    answer = v8()
    answer[0, 5, 7] = value
    path = constant_model(tmp_path / "n.onnx", [answer])
    with pytest.raises(InvalidInput, match=r"outside 0 … 1 or NaN"):
        YoloFile(path, threads=1)(PICTURE)


@pytest.mark.parametrize("shape", [(1, 1, 64, 64), (4, 3, 64, 64), (1, 3, 60, 60), (1, 64)])
def test_networks_that_take_no_picture_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = constant_model(tmp_path / "n.onnx", [v8()], input_shape=shape)
    with pytest.raises(InvalidInput, match=r"n\.onnx (must take|takes)"):
        YoloFile(path)


@pytest.mark.parametrize("names", ["{0: 'a'", "__import__('os')", "7", "{5: 'a'}", "[" * 999])
def test_hostile_names_are_ignored_and_not_run(tmp_path: Path, names: str) -> None:
    path = constant_model(tmp_path / "n.onnx", [v8()], metadata={"names": names})
    (found,) = detect([YoloFile(path, threads=1)], PICTURE)
    assert check_boxes(found, (200, 100)).classes == ("class 0", "class 1")
