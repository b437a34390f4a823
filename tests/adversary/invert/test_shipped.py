"""The network that comes with sfumato: small, and it reads descriptors, not only positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.adversary.invert.encoders import encode
from sfumato.adversary.invert.networks import SHIPPED, find_network
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.metrics import compare
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import Plain
from sfumato.features import extract
from support import photograph


def test_the_networks_of_the_package_stay_small() -> None:
    files = list(SHIPPED.glob("*.onnx"))
    assert find_network() in files
    assert all(file.stat().st_size <= 10_000_000 for file in files)
    assert sum(file.stat().st_size for file in files) <= 10_000_000


def test_a_photograph_is_painted_from_what_a_release_of_raw_descriptors_tells() -> None:
    photo = np.ascontiguousarray(photograph()[:256, 96:352])
    features = extract(photo, max_keypoints=1000)
    release = Plain().release(features, rng=SeededRandom(0))
    inverter = Inverter(find_network(), threads=1)
    seen = encode(release, "raw", frames=inverter.architecture.frames)
    painted = compare(photo, inverter.reconstruct(release, one_look=True).picture).ssim
    mean = np.broadcast_to(
        (photo.reshape(-1, 3).mean(axis=0) / 255).astype(np.float32), photo.shape
    )
    assert painted > compare(photo, mean).ssim + 0.05
    # The same positions with descriptors dealt out anew: what is left is what positions tell.
    dealt = replace(seen, rows=np.random.default_rng(0).permutation(seen.rows))
    blind = compare(photo, inverter.reconstruct_rows(dealt, one_look=True).picture).ssim
    assert painted > blind + 0.05
