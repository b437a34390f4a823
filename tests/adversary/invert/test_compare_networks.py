"""Networks on the same photographs: the right figures for the right network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from onnx_bytes import save_painter
from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.compare_networks import colour_share, compare_networks
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.metrics import compare
from sfumato.core.errors import InvalidInput
from support import photograph


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    made = []
    for number in range(3):
        made.append(tmp_path / f"{number}.png")
        Image.fromarray(photograph()[:200, 60 * number : 60 * number + 200]).save(made[-1])
    return made


def test_each_network_gets_the_mean_of_its_own_figures(paths: list[Path], tmp_path: Path) -> None:
    files = {
        "plain": Architecture(depth=4),
        "framed": Architecture(depth=4, frames="inferred", channels=131),
    }
    networks = [Inverter(save_painter(tmp_path / f"{n}.onnx", a)) for n, a in files.items()]
    made = compare_networks(networks, paths, num_shown=2, lpips=lambda a, b: 0.25)
    assert made.num_pictures == 3
    assert len(made.shown) == 2
    whole = compare_networks(networks, paths, num_shown=3)
    for number, score in enumerate(made.scores):
        near = [compare(row[0], row[1 + number]).ssim for row in whole.shown]
        assert score.ssim == pytest.approx(np.mean(near))
        assert score.lpips == 0.25
        assert whole.scores[number].lpips is None
    assert made.scores[0].ssim != made.scores[1].ssim


def test_a_network_for_either_sees_frames_only_in_features(
    paths: list[Path], tmp_path: Path
) -> None:
    a = Architecture(depth=4, frames="either", channels=131)
    network = Inverter(save_painter(tmp_path / "net.onnx", a))
    one, other = (
        compare_networks([network], paths[:1], sent=sent).shown[0][1]
        for sent in ("release", "features")
    )
    assert not np.allclose(one, other)
    with pytest.raises(InvalidInput, match="sent must be one of"):
        compare_networks([network], paths, sent="both")


def test_colour_counts_apart_from_brightness_and_against_the_mean_colour() -> None:
    rng = np.random.default_rng(0)
    photo = np.zeros((64, 64, 3), np.uint8)
    photo[:, :32], photo[:, 32:] = (200, 40, 40), (40, 40, 200)
    mean = photo.reshape(-1, 3).mean(axis=0) / 255
    grey = np.full((64, 64, 3), rng.random(), np.float32)
    assert colour_share(photo, photo.astype(np.float32) / 300, mean) == 1
    assert colour_share(photo, (photo[:, ::-1] / 255).astype(np.float32), mean) == 0
    assert colour_share(photo, np.where(np.arange(64)[None, :, None] < 32, photo / 255, grey)
                        .astype(np.float32), mean) == pytest.approx(0.5)  # fmt: skip
