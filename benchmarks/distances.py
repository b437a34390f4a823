"""How long do distances between subspaces take, beside the matrix product they cannot avoid?

    python benchmarks/distances.py [--features 1000] [--large 20000] [--json]

Per dimension m, in turns: our distances from raw arrays (preparation included), and NumPy's bare
product of the stacks [d0; D] on all cores; and both again on one core, counting the processor's
time, which other programs disturb less. The straightforward loop of np.linalg.lstsq is timed
on a few pairs and scaled up. Then memory and time of 20,000 × 20,000 mutual nearest neighbours in
a process of their own, what float16 changes, and lifting. The features are words of the bundled
SIFT dictionary, lifted as a device would.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import in_turns, medians, parser_of

from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.matching.subspace import mutual_nearest, point_to_subspace, subspace_to_subspace

Array = NDArray[Any]
Lifted = tuple[Array, Array]

DIMENSIONS = (2, 4, 8, 16)
#: affine, Table 1: milliseconds for 1000 × 1000 on an Intel Core i9-9900K; m = 16 is not given.
PAPER = {
    "subspace to subspace": {2: 107.87, 4: 195.50, 8: 540.98},
    "point to subspace": {2: 25.25, 4: 37.71, 8: 63.24},
}
WANTED = {"subspace to subspace": 2.0, "point to subspace": 3.0}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--large", type=int, default=20_000, help="0 leaves this part out")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--loop", type=int, default=300, help="pairs of the lstsq loop")
    parser.add_argument("--dictionary", default="bsds-16k")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure-large", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_large:
        print(json.dumps(measure_large(options.measure_large)))
        return
    result: dict[str, Any] = {"features": options.features, "distances": []}
    # First, while this process is small: a child's peak counts that of its parent before it.
    if options.large:
        command = [sys.executable, __file__, "--measure-large", str(options.large)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        result["large"] = json.loads(shown)
    dictionary = Dictionary.load(options.dictionary)
    for m in DIMENSIONS:
        result["distances"] += compare(dictionary, m, options)
    result["half"] = [half_precision(dictionary, m, options.features) for m in DIMENSIONS]
    result["lifting_ms"] = lifting(dictionary, options.features, options.repeats)
    print(json.dumps(result)) if options.json else show(result)


def compare(
    dictionary: Dictionary, m: int, options: argparse.Namespace
) -> list[dict[str, float | str]]:
    """One row for each kind of distance."""
    count = options.features
    points, a = lifted(dictionary, m, count, seed=1)
    _, b = lifted(dictionary, m, count, seed=2)
    stack_a, stack_b = stacked(*a), stacked(*b)
    cases: dict[str, tuple[Callable[[], Array], Callable[[], Array], Lifted]] = {
        "subspace to subspace": (
            lambda: subspace_to_subspace(a, b),
            lambda: np.asarray(stack_a @ stack_b.T),
            a,
        ),
        "point to subspace": (
            lambda: point_to_subspace(points, b),
            lambda: np.asarray(points @ stack_b.T),
            (points, np.zeros((count, 0, points.shape[1]), dtype=np.float32)),
        ),
    }
    rows: list[dict[str, float | str]] = []
    for kind, (ours, bare, left) in cases.items():
        found = ours()
        loop, deviation = lstsq_loop(left, b, found, options.loop)
        turns = in_turns((ours, bare), options.repeats)
        with threadpool_limits(1, user_api="blas"):
            alone = in_turns((ours, bare), options.repeats // 3, clock=time.thread_time)
        rows.append(
            {
                "kind": kind,
                "m": m,
                "ours_ms": medians(turns)[0] * 1e3,
                "product_ms": medians(turns)[1] * 1e3,
                "ratio": statistics.median(turn[0] / turn[1] for turn in turns),
                "one_core_ratio": statistics.median(turn[0] / turn[1] for turn in alone),
                "loop_ms": loop * found.size * 1e3,
                "deviation": deviation,
            }
        )
    return rows


def lstsq_loop(a: Lifted, b: Lifted, found: Array, pairs: int) -> tuple[float, float]:
    """Seconds a pair, and the largest deviation from it: half at random, half our smallest."""
    generator = np.random.default_rng(0)
    chosen = np.concatenate(
        [generator.choice(found.size, pairs // 2), np.argsort(found, axis=None)[: pairs // 2]]
    )
    rows, columns = np.unravel_index(chosen, found.shape)
    (d0, d), (e0, e) = (
        (offsets.astype(np.float64), bases.astype(np.float64)) for offsets, bases in (a, b)
    )
    truth = np.empty(len(rows))
    start = time.perf_counter()
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):
        directions = np.concatenate([d[i], e[j]]).T
        r = e0[j] - d0[i]
        along = np.linalg.lstsq(directions, r)[0]
        truth[k] = np.linalg.norm(r - directions @ along)
    seconds = (time.perf_counter() - start) / len(rows)
    return seconds, float(np.abs(found[rows, columns] - truth).max())


def half_precision(dictionary: Dictionary, m: int, count: int) -> dict[str, float]:
    """Share of mutual nearest neighbours that change when subspaces are sent as float16."""
    _, (d0, d) = lifted(dictionary, m, count, seed=1)
    _, (e0, e) = lifted(dictionary, m, count, seed=2)
    half = [array.astype(np.float16) for array in (d0, d, e0, e)]
    full = set(zip(*mutual_nearest((d0, d), (e0, e)), strict=True))
    small = set(zip(*mutual_nearest((half[0], half[1]), (half[2], half[3])), strict=True))
    return {"m": m, "pairs": len(full), "changed": 1 - len(full & small) / max(len(full), 1)}


def lifting(dictionary: Dictionary, count: int, repeats: int) -> dict[str, float]:
    """Milliseconds to lift a picture's descriptors (sub-hybrid), by dimension."""
    features = features_of(words_of(dictionary, count, seed=3), dictionary.extractor)
    rng = SecureRandom()
    found = {}
    for m in DIMENSIONS:
        mechanism = SubspaceLifting(strategy="sub-hybrid", dimension=m, database=dictionary)
        turns = in_turns([partial(mechanism.release, features, rng=rng)], repeats)
        found[str(m)] = medians(turns)[0] * 1e3
    return found


def measure_large(count: int) -> dict[str, float]:
    """Mutual nearest neighbours among random planes; the most memory this process ever had."""
    generator = np.random.default_rng(0)
    sides = []
    for _ in range(2):
        offsets = unit_vectors(
            np.abs(generator.standard_normal((count, 128), dtype=np.float32)), np.float32
        )
        bases = generator.standard_normal((count, 2, 128), dtype=np.float32)
        bases[:, 0] = unit_vectors(bases[:, 0], np.float32)
        bases[:, 1] -= (bases[:, 0] * bases[:, 1]).sum(axis=1)[:, None] * bases[:, 0]
        bases[:, 1] = unit_vectors(bases[:, 1], np.float32)
        sides.append((offsets, bases))
    start = time.perf_counter()
    rows, _ = mutual_nearest(*sides)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # KiB on Linux
    return {"count": count, "seconds": seconds, "peak_gib": peak, "pairs": len(rows)}


def lifted(dictionary: Dictionary, m: int, count: int, seed: int) -> tuple[Array, Lifted]:
    """The same words with a little noise in two pictures, and what a device sends of them."""
    words = words_of(dictionary, count, seed=0)
    noise = np.random.default_rng(seed).normal(scale=0.03, size=words.shape)
    points = unit_vectors(np.maximum(words + noise, 0), np.float32)
    mechanism = SubspaceLifting(strategy="sub-hybrid", dimension=m, database=dictionary)
    release = mechanism.release(features_of(points, dictionary.extractor), rng=SeededRandom(seed))
    return points, (release.offsets, release.bases)


def words_of(dictionary: Dictionary, count: int, seed: int) -> Array:
    rows = np.random.default_rng(seed).integers(0, len(dictionary.words), count)
    return unit_vectors(dictionary.words[rows], np.float32)


def features_of(descriptors: Array, extractor: str) -> Features:
    count = len(descriptors)
    return Features(
        keypoints=(np.random.default_rng(0).random((count, 2)) * 639).astype(np.float32),
        descriptors=descriptors,
        scores=np.ones(count, dtype=np.float32),
        scales=np.ones(count, dtype=np.float32),
        angles=np.zeros(count, dtype=np.float32),
        image_size=(640, 640),
        extractor=extractor,
    )


def stacked(offsets: Array, bases: Array) -> Array:
    stack = np.concatenate([offsets[:, None], bases], axis=1)
    return np.ascontiguousarray(stack.reshape(-1, stack.shape[2]), dtype=np.float32)


def show(result: dict[str, Any]) -> None:
    count = result["features"]
    print(f"{count:,} × {count:,} features, milliseconds; 'paper' is affine Table 1 (CPU, 1,000 ×")
    print("1,000), measured by its authors on another machine; the loop is scaled from a few pairs")
    columns = (
        "m",
        "ours",
        "product",
        "ratio",
        "on one core",
        "wanted",
        "lstsq loop",
        "loop/ours",
        "deviation",
        "paper",
    )
    print(f"{'':21}{columns[0]:>4}" + "".join(f"{name:>12}" for name in columns[1:]))
    for row in result["distances"]:
        paper = PAPER[row["kind"]].get(row["m"])
        wanted = f"≤ {WANTED[row['kind']]:g}" if row["m"] <= 8 else "–"
        print(
            f"{row['kind']:21}{row['m']:>4}{row['ours_ms']:>12.2f}{row['product_ms']:>12.2f}"
            f"{row['ratio']:>12.2f}{row['one_core_ratio']:>12.2f}{wanted:>12}{row['loop_ms']:>12,.0f}"
            f"{row['loop_ms'] / row['ours_ms']:>12,.0f}{row['deviation']:>12.1e}"
            f"{f'{paper:.1f}' if paper else '–':>12}"
        )
    print("deviation: largest difference to float64 lstsq over the pairs of the loop, half of them")
    print("random, half our smallest distances (at most 1e-4 wanted)")
    for half in result["half"]:
        print(
            f"float16 instead of float32, m = {half['m']}: {half['changed']:.1%} of "
            f"{half['pairs']:,.0f} mutual nearest pairs change"
        )
    for m, milliseconds in result["lifting_ms"].items():
        wanted = " (at most 10 wanted)" if m == "2" else ""
        print(f"lifting {count:,} descriptors, m = {m}: {milliseconds:.1f} ms{wanted}")
    if "large" in result:
        large = result["large"]
        print(
            f"mutual nearest of {large['count']:,} × {large['count']:,} planes: "
            f"{large['seconds']:.1f} s, at most {large['peak_gib']:.2f} GiB (below 2 wanted)"
        )


if __name__ == "__main__":
    main()
