"""Classification: encoding 60,000 pictures, and nearest neighbours beside scikit-learn's.

    python benchmarks/classification.py --data MNIST [--reference-queries 100]

Both sides search the same perturbed codes in the same run, on the same number of threads.
scikit-learn answers fewer queries, and its time is scaled to all of them: it takes the same time
for each. CPU time suffers less than wall time when the machine is shared. Peak memory is that of
the whole process, clean and perturbed codes included, while ours fits and searches.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")

EPSILON = 1.0
NEIGHBOURS = 100
#: Encoder, our metric, and the fastest metric of scikit-learn that ranks the same way: for d = 2
#: Hamming and Euclidean distances do, and its matrix products beat its Hamming by far.
CASES = (
    ("orientation-bits", (("hamming", "euclidean"),)),
    ("dcaconv-2", (("hamming", "euclidean"),)),
    ("dcaconv-16", (("hamming", "hamming"), ("l2", "euclidean"))),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's idx files")
    parser.add_argument("--train", type=int, default=60_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--reference-queries", type=int, default=100)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--encoder", help="one of the cases instead of all")
    options = parser.parse_args()
    # Read by OpenBLAS and OpenMP when NumPy is first imported, so set before.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    for encoder, metrics in CASES:
        if options.encoder not in (None, encoder):
            continue
        compare(options, encoder, metrics)


def compare(options: argparse.Namespace, name: str, metrics: tuple[tuple[str, str], ...]) -> None:
    from sfumato.classification.randomized_response import RandomizedResponse
    from sfumato.core.randomness import SecureRandom
    from sfumato.datasets.idx import read_split
    from sfumato_papers.dcaconv.recipes import ENCODERS

    train, test = read_split(options.data, "train"), read_split(options.data, "t10k")
    pictures, labels = train.pictures[: options.train], train.labels[: options.train]
    ENCODERS[name]().fit(pictures[:200], labels[:200]).transform(pictures[:2])  # compiled
    encoder, fitting = timed(lambda: ENCODERS[name]().fit(pictures, labels))
    codes, encoding = timed(lambda: encoder.transform(pictures))
    asked = encoder.transform(test.pictures[: options.queries])
    mechanism = RandomizedResponse(EPSILON, encoder.num_values_)
    released, perturbing = timed(lambda: mechanism.perturb(codes, rng=SecureRandom()))
    say(
        f"{name}, d = {encoder.num_values_}, m = {codes.shape[1]:,}: {len(pictures):,} pictures, "
        f"{options.threads} thread(s), ε = {EPSILON:g} a code, "
        f"{released.picture_epsilon:,.0f} a picture, labels unprotected"
    )
    for name, spent in (("fit", fitting), ("transform", encoding), ("perturb", perturbing)):
        say(f"  {name:<28} {spent[0]:8.1f} s wall {spent[1]:8.1f} s CPU")
    for metric, theirs in metrics:
        search(options, metric, theirs, released, labels, asked)


def search(
    options: argparse.Namespace,
    metric: str,
    their_metric: str,
    released: Any,
    labels: NDArray[Any],
    asked: NDArray[Any],
) -> None:
    import numpy as np
    from sklearn.neighbors import KNeighborsClassifier

    from sfumato.classification.knn import PerturbedKNN

    forget_peak()
    ours = PerturbedKNN(NEIGHBOURS, metric=metric).fit(released, labels)
    ours.kneighbors(asked[:2])  # compiled
    (places, _), spent = timed(lambda: ours.kneighbors(asked))
    peak = peak_gib()
    few = asked[: options.reference_queries]
    kind = np.float32  # what scikit-learn computes in; other types it would copy first
    theirs = KNeighborsClassifier(NEIGHBOURS, algorithm="brute", metric=their_metric)
    theirs.fit(released.values.astype(kind), labels)
    found, slow = timed(
        lambda: theirs.kneighbors(few.astype(kind), return_distance=False)  # their fastest door
    )
    scale = len(asked) / len(few)
    reference = (slow[0] * scale, slow[1] * scale)
    shared = np.mean(
        [len(np.intersect1d(a, b)) / NEIGHBOURS for a, b in zip(places, found, strict=False)]
    )
    say(
        f"  {metric} {len(asked):,} × {len(labels):,}: ours {spent[0]:.1f} s wall {spent[1]:.1f} s "
        f"CPU; scikit-learn {their_metric} {reference[0]:.0f} s wall {reference[1]:.0f} s CPU "
        f"(from {len(few)} queries)"
    )
    say(
        f"    ratio {reference[0] / spent[0]:.0f}× wall, {reference[1] / spent[1]:.0f}× CPU "
        f"(at least 5 wanted); {100 * shared:.1f} % of neighbours the same (ties differ); "
        f"peak memory {peak:.2f} GiB (at most 3 wanted)"
    )


def timed(work: Callable[[], T]) -> tuple[T, tuple[float, float]]:
    """The result, and (wall seconds, CPU seconds of this process)."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - wall, time.process_time() - cpu)


def forget_peak() -> None:
    """Begin counting the peak of memory anew: scikit-learn's earlier searches are not ours."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_gib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / (1 << 20)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
