"""Text is read as the characters say: repeats joined, blanks left out, doubt is nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onnx_models import constant_model
from sfumato.core.errors import InvalidInput
from sfumato.detectors.base import Boxes
from sfumato.detectors.reading import TextReader

CHARACTERS = "a\nb\nc"  # besides the blank before them and the space behind
LINE = np.zeros((20, 60, 3), dtype=np.uint8)


def network(path: Path, steps: str, sure: float = 0.9, characters: str = CHARACTERS) -> Path:
    """Answers with these characters, _ for the blank, whatever it is shown."""
    order = "_abc "
    answer = np.full((1, len(steps), len(order)), (1 - sure) / (len(order) - 1), np.float32)
    for step, character in enumerate(steps):
        answer[0, step, order.index(character)] = sure
    shape = (1, 3, 48, "width")
    return constant_model(path, [answer], input_shape=shape, metadata={"character": characters})


@pytest.mark.parametrize(
    ("steps", "read"),
    [("aabb", "ab"), ("a_a", "aa"), ("__", ""), ("ab cc_c", "ab cc"), (" a", " a")],
)
def test_repeats_are_joined_and_blanks_keep_them_apart(
    tmp_path: Path, steps: str, read: str
) -> None:
    assert TextReader(network(tmp_path / "read.onnx", steps), threads=1).line(LINE) == read


def test_a_line_that_is_not_sure_is_not_read(tmp_path: Path) -> None:
    assert TextReader(network(tmp_path / "a.onnx", "abc", sure=0.4), threads=1).line(LINE) == ""
    sure = TextReader(network(tmp_path / "b.onnx", "abc", sure=0.4), min_score=0.3, threads=1)
    assert sure.line(LINE) == "abc"


def test_words_are_those_inside_the_lines_and_long_enough(tmp_path: Path) -> None:
    reader = TextReader(network(tmp_path / "read.onnx", "abc ab cab"), threads=1)
    lines = Boxes(np.array([[0.0, 0, 30, 10], [-0.5, 10, 59.5, 19.5]]), ("text",) * 2, np.ones(2))
    assert reader.words(LINE, lines) == ["abc", "cab"] * 2
    assert reader.words(LINE, lines, shortest=2) == ["abc", "ab", "cab"] * 2
    assert reader.words(LINE, Boxes(np.zeros((0, 4)), (), np.zeros(0))) == []


def test_another_network_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="name them under 'character'; give a recognition"):
        TextReader(network(tmp_path / "a.onnx", "abc", characters=""))
    other = TextReader(network(tmp_path / "b.onnx", "abc", characters="a\nb"), threads=1)
    with pytest.raises(InvalidInput, match=r"must answer \(1, steps, 4\), got \(1, 3, 5\)"):
        other.line(LINE)
