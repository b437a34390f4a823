"""Golden files for other devices: what the samplers, the accounts and the filters here compute.

    python tests/golden_device.py              write the files that are missing
    python tests/golden_device.py --overwrite  replace files whose content changed, after a change
                                               that was meant

The device in the browser (`web/device`) must compute the same. Numbers are exact; ∞ is "inf".
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.odds import subset_coin
from sfumato.core.pose_error import PoseError
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Camera, Features, Localization, Pose
from sfumato.detectors.base import Boxes
from sfumato.detectors.given import GivenBoxes
from sfumato.device.filters import KeepSpread, KeepStrongest, Suppress
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.objects import CapDensity, count_in_boxes, most_in_window
from sfumato.dictionary import Dictionary
from sfumato.service.answers import answer_of

FOLDER = Path(__file__).parent / "golden" / "device"

_EPSILONS = (
    *(1e-9, 1e-6, 0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.693147180559945, 1.0, 1.3, 2.0, 2.5),
    *(3.0, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 10.0, 12.0, 16.0, 20.0, 33.3, 63.99, 64.0),
)
_WORLDS = ((2, 1), (6, 3), (1024, 1), (8192, 2), (65_536, 1), (1 << 24, 7))


def thresholds() -> list[dict[str, Any]]:
    """The coin of the ω-subset mechanism: T and the number of bits."""
    told = []
    for epsilon in _EPSILONS:
        for num_words, size in _WORLDS:
            coin = subset_coin(epsilon, num_words, size)
            fields = {"epsilon": epsilon, "num_words": num_words, "subset_size": size}
            told.append(fields | {"threshold": str(coin.threshold), "bits": coin.bits})
    return told


def draws() -> list[dict[str, Any]]:
    """Rows that the sampler draws from a known stream of random words."""
    told = []
    cases = (
        (1.0, 2, 1),
        (0.5, 6, 3),
        (1e-6, 5, 2),
        (8.0, 8192, 1),
        (8.0, 65_536, 2),
        (4.0, 300, 9),
    )
    for seed, (epsilon, num_words, size) in enumerate((*cases, (float("inf"), 700, 2))):
        words = np.arange(2 * num_words, dtype=np.float32).reshape(num_words, 2)
        mechanism = SubsetMechanism(epsilon, size, Dictionary.from_words(words, extractor="mine"))
        truth = np.arange(64, dtype=np.uint32) * 7 % num_words
        told.append(
            {
                "seed": seed,
                "epsilon": _number(epsilon),
                "num_words": num_words,
                "subset_size": size,
                "true_words": truth.tolist(),
                "rows": mechanism.draw(truth, SeededRandom(seed)).tolist(),
            }
        )
    return told


def compositions() -> list[dict[str, Any]]:
    """Exact composition: E at δ, δ at E, the advantage."""
    one = PrivateAnswer
    cases: list[dict[PrivateAnswer, int]] = [
        {},
        {one(1.0, 2): 1},
        {one(1.0): 3},
        {one(8.0, 16_384): 1104},
        {one(8.0, 8192): 800},
        {one(6.0, 16_384): 10},
        {one(0.1, 2): 5000},
        {one(4.0, 65_536, 3): 2000},
        {one(0.5, 6, 3): 7},
        {one(8.0, 8192): 10, one(6.0, 8192): 10},
        {one(2.0, 1024): 500, one(3.7, 1024, 2): 300, one(0.9): 20},
        {one(1 + i / 100, 4096): 1 + i for i in range(80)},
        {one(8.0, 65_536): 20_000},
        {one(64.0, 2): 4},
    ]
    told = []
    for answers in cases:
        whole = Composition(answers)
        told.append(
            {
                "answers": [
                    [a.epsilon, a.num_values, a.subset_size, n] for a, n in answers.items()
                ],
                "largest": whole.largest,
                "expected_true": whole.expected_true,
                "advantage": whole.advantage,
                "epsilon": {str(delta): whole.epsilon(delta) for delta in (1e-3, 1e-6, 1e-12)},
                "delta": {str(epsilon): whole.delta(epsilon) for epsilon in (0.5, 2.0, 10.0)},
            }
        )
    return told


def features() -> Features:
    """Keypoints on and off the grid, with ties in strength, some of them at one place."""
    rng = np.random.default_rng(5)
    keypoints = rng.uniform(0, (639, 479), (120, 2)).astype(np.float32)
    keypoints[60:70] = keypoints[50:60]
    return Features(
        keypoints=keypoints,
        descriptors=rng.integers(0, 256, (120, 4), dtype=np.uint8),
        scores=np.round(rng.uniform(0, 1, 120), 1),
        scales=rng.uniform(2, 40, 120).astype(np.float32),
        angles=rng.uniform(0, 360, 120).astype(np.float32),
        image_size=(640, 480),
        extractor="sift",
    )


def filters() -> dict[str, Any]:
    """Which rows each filter keeps, in its order."""
    given, rng = features(), SeededRandom(0)
    corners = [[100.0, 80.0, 300.0, 200.0], [400.5, 300.0, 420.0, 479.0]]
    detector = GivenBoxes(Boxes(np.array(corners), ("box", "box"), np.ones(2)))
    picture = np.zeros((480, 640, 3), dtype=np.uint8)

    def rows(kept: Features) -> list[int]:
        keys = [row.tobytes() for row in given.descriptors]
        return [keys.index(row.tobytes()) for row in kept.descriptors]

    return {
        "keypoints": given.keypoints.tolist(),
        "scores": given.scores.tolist(),
        "scales": given.scales.tolist(),
        "width": 640,
        "height": 480,
        "strongest": {str(n): rows(KeepStrongest(n)(given, rng=rng)) for n in (0, 1, 30, 500)},
        "spread": {
            f"{n} {cells}": rows(KeepSpread(n, cells)(given, rng=rng))
            for n in (1, 30, 500)
            for cells in (1, 6, 17)
        },
        "boxes": corners,
        "suppressed": {
            f"{margin} {reach}": rows(
                Suppress(detector, margin=margin, reach=reach).look(given, picture, rng=rng)
            )
            for margin in (0.0, 0.1)
            for reach in (0.0, 1.5)
        },
        "density": {
            f"{n} {side}": rows(CapDensity(n, (side, side))(given))
            for n in (1, 9, 30)
            for side in (0.5, 80, 600)
        },
        "most_in_window": {str(side): most_in_window(given, (side, side)) for side in (1, 80, 900)},
        "seen_by": count_in_boxes(given, np.array(corners)).tolist(),
    }


def dictionary_tar(weighted: bool, index: str) -> tuple[bytes, dict[str, Any]]:
    """A small dictionary with levels, as a server hands it out, and what it must become."""
    rng = np.random.default_rng(8)
    words = rng.integers(0, 256, (2048, 8), dtype=np.uint8)
    weights = rng.integers(1, 50, 2048).astype(np.uint32)
    levels = {
        size: np.concatenate([np.arange(size), rng.integers(0, size, 2048 - size)]).astype(
            np.uint16
        )
        for size in (64, 1024)
    }
    made = Dictionary.from_words(
        words, extractor="sift", levels=levels, weights=weights if weighted else None, index=index
    )
    asked = rng.integers(0, 256, (50, 8), dtype=np.uint8)
    told: dict[str, Any] = {"fingerprint": made.fingerprint, "asked": asked.tolist()}
    for size in (64, 1024, 2048):
        level = made.at(size)
        told[str(size)] = {
            "fingerprint": level.fingerprint,
            "first_words": level.words[:5].tolist(),
            "nearest": level.nearest(asked).tolist(),
        }
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as scratch:
        made.save(Path(scratch) / "words")
        with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for file in sorted((Path(scratch) / "words").iterdir()):
                entry = tarfile.TarInfo(file.name)
                entry.size = file.stat().st_size
                with file.open("rb") as stream:
                    tar.addfile(entry, stream)
    return out.getvalue(), told


def answers() -> dict[str, Any]:
    """What a server says about a release."""
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    pose = Pose(turn, np.array([1.0, 2.0, 3.0]))
    camera = Camera("SIMPLE_PINHOLE", 640, 480, (500.0, 320.0, 240.0))
    return {
        "found": answer_of(Localization(pose, 40, 300, -31.256)).model_dump(),
        "with everything": answer_of(
            Localization(
                pose,
                40,
                300,
                -31.256,
                error=PoseError(0.02, 0.3, np.eye(6) * 1e-4),
                warning="the camera does not fit",
                camera=camera,
            )
        ).model_dump(),
        "not found": answer_of(
            Localization(None, 9, 200, -1.5, "9 inliers, 12 needed")
        ).model_dump(),
    }


def _number(value: float) -> float | str:
    return "inf" if value == float("inf") else value


def _text(told: Any) -> bytes:
    """JSON, one entry of the outermost list or object to a line."""
    if isinstance(told, list):
        return ("[\n" + ",\n".join(json.dumps(one) for one in told) + "\n]\n").encode()
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in told.items()]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def files() -> dict[str, bytes]:
    """Every golden file as the code of today makes it."""
    out = {
        "thresholds.json": _text(thresholds()),
        "draws.json": _text(draws()),
        "compositions.json": _text(compositions()),
        "filters.json": _text(filters()),
        "answers.json": _text(answers()),
    }
    for name, weighted, index in (
        ("dictionary", True, "exact"),
        ("dictionary-cells", True, "cells"),
        ("dictionary-groups", False, "exact"),
    ):
        out[f"{name}.tar"], told = dictionary_tar(weighted, index)
        out[f"{name}.json"] = _text(told)
    return out


def main() -> int:
    """Write what is missing; without --overwrite a file that differs is left and named."""
    overwrite = "--overwrite" in sys.argv[1:]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, data in files().items():
        path = FOLDER / name
        if path.exists() and path.read_bytes() != data and not overwrite:
            print(f"{name} changes; if that was meant, use --overwrite.")
            return 1
        path.write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
