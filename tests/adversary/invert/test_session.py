"""A file is believed only as far as it can be checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnx_bytes import painter_bytes, save_painter
from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.encoders import Encoded
from sfumato.adversary.invert.session import open_session
from sfumato.adversary.invert.sparse import map_pixels
from sfumato.core.errors import InvalidInput, Missing

SMALL = Architecture(channels=4, depth=3, neighbours=2)


def seen(channels: int = 4) -> Encoded:
    points = np.array([[10, 8], [30, 20]], dtype=np.float32)
    rows = np.array([[0.2] * channels, [0.6] * channels], dtype=np.float32)
    return Encoded(rows, points, (50, 30))


def test_a_network_tells_what_it_is_and_paints(tmp_path: Path) -> None:
    session = open_session(save_painter(tmp_path / "net.onnx", SMALL), threads=1)
    assert session.architecture == SMALL
    assert session.step == 7
    given = seen()
    picture = session.paint(given, map_pixels(given.keypoints, (50, 30), SMALL.map_options))
    assert picture.shape == (30, 50, 3)
    # Both keypoints are within reach everywhere: the mean of their rows.
    assert picture == pytest.approx(0.4, abs=1e-6)


def test_what_is_no_file_or_no_network_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no file of an inversion network"):
        open_session(tmp_path / "absent.onnx")
    whole = painter_bytes(SMALL)
    for data in (b"no network", whole[:-40], whole[: len(whole) // 2]):
        (tmp_path / "bad.onnx").write_bytes(data)
        with pytest.raises(InvalidInput, match=r"bad\.onnx") as refused:
            open_session(tmp_path / "bad.onnx")
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "said",
    [
        "no JSON",
        "[" * 100_000,
        [],
        {"architecture": 3},
        {"architecture": {**SMALL.to_json(), "width": -1}},
        {"architecture": {**SMALL.to_json(), "width": "wide"}},
        {"architecture": {**SMALL.to_json(), "more": 1}},
    ],
    ids=["text", "deep", "list", "number", "negative", "word", "unknown"],
)
def test_a_description_that_makes_no_sense_is_refused(said: Any, tmp_path: Path) -> None:
    file = save_painter(tmp_path / "net.onnx", SMALL, said=said)
    with pytest.raises(InvalidInput, match="does not describe itself"):
        open_session(file)


def test_a_file_that_is_not_what_it_says_is_refused(tmp_path: Path) -> None:
    file = save_painter(tmp_path / "net.onnx", SMALL, real_channels=5)
    with pytest.raises(InvalidInput, match="4 channels are said, 5 are there"):
        open_session(file)
    file = save_painter(tmp_path / "net.onnx", SMALL, has_offsets=False)
    with pytest.raises(InvalidInput, match="inputs must be rows, index, offsets"):
        open_session(file)


def test_a_painting_without_three_colours_is_refused(tmp_path: Path) -> None:
    session = open_session(save_painter(tmp_path / "net.onnx", SMALL, colours=2), threads=1)
    given = seen()
    with pytest.raises(InvalidInput, match="painted no picture of 50×30"):
        session.paint(given, map_pixels(given.keypoints, (50, 30), SMALL.map_options))


def test_rows_the_network_cannot_take_end_with_one_sentence(tmp_path: Path) -> None:
    session = open_session(save_painter(tmp_path / "net.onnx", SMALL), threads=1)
    given = seen(channels=6)
    with pytest.raises(InvalidInput, match="could not be run") as refused:
        session.paint(given, map_pixels(given.keypoints, (50, 30), SMALL.map_options))
    assert "\n" not in str(refused.value)
