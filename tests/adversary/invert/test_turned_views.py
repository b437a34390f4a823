"""A look shows what the turned photograph itself would."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from onnx_bytes import save_painter
from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.encoders import Encoded, encode, with_frames
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.invert.turned_views import quarters_of, turned
from sfumato.features import extract
from support import photograph


@pytest.mark.parametrize("quarters", range(4))
def test_features_of_the_turned_picture_are_the_turned_features(quarters: int) -> None:
    photo = np.ascontiguousarray(photograph()[:160, 60:280])
    held = np.ascontiguousarray(np.rot90(photo, -quarters))
    truth = encode(extract(held), "raw", frames="given")
    shown = turned(encode(extract(photo), "raw", frames="given"), quarters)
    assert shown.image_size == truth.image_size
    # The same place and the same direction, which the last two columns tell.
    places = [np.hstack([one.keypoints, 50 * one.rows[:, -2:]]) for one in (truth, shown)]
    distance, row = cKDTree(places[0]).query(places[1])
    same = distance < 2
    assert same.mean() > 0.85  # the detector itself is not quite symmetric
    away = np.abs(shown.rows[same, :128] - truth.rows[row[same], :128]).mean(axis=1)
    assert np.median(away) < 0.01
    assert shown.rows[same, 128] == pytest.approx(truth.rows[row[same], 128], abs=0.2)


def scattered(framed: bool) -> Encoded:
    rng = np.random.default_rng(4)
    points = rng.uniform(2, 60, (40, 2)).astype(np.float32)
    seen = Encoded(rng.uniform(0, 1, (40, 128)).astype(np.float32), points, (96, 64))
    if not framed:
        return seen
    return with_frames(seen, rng.uniform(2, 9, 40), rng.uniform(0, 360, 40))


@pytest.mark.parametrize("framed", [False, True])
def test_four_quarter_turns_change_nothing(framed: bool) -> None:
    seen = scattered(framed)
    back = turned(turned(seen, 1), 3)
    assert back.image_size == seen.image_size
    assert back.keypoints == pytest.approx(seen.keypoints, abs=1e-4)
    assert back.rows == pytest.approx(seen.rows, abs=1e-4)
    if framed:
        assert back.angles == pytest.approx(seen.angles, abs=1e-3)


def test_a_painter_that_knows_no_direction_paints_every_turn_alike(tmp_path: Path) -> None:
    inverter = Inverter(save_painter(tmp_path / "net.onnx", Architecture(depth=4)), threads=1)
    seen = scattered(framed=False)
    straight = inverter.reconstruct_rows(seen, one_look=True).picture
    averaged = inverter.reconstruct_rows(seen).picture
    assert straight.shape == (64, 96, 3)
    assert np.ptp(straight) > 0.01
    assert averaged == pytest.approx(straight, abs=1e-5)


def test_descriptors_that_turn_with_the_picture_get_one_look() -> None:
    assert quarters_of("sift") == quarters_of("rootsift") == (0, 1, 2, 3)
    assert quarters_of("sift-harris") == quarters_of("freak") == (0,)
