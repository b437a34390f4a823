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
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import forget_peak, parser_of, peak_gib, say, timed, use_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of MNIST's idx files")
    parser.add_argument("--train", type=int, default=60_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--reference-queries", type=int, default=100)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--encoder", help="one of the cases instead of all")
    options = parser.parse_args()
    use_threads(options.threads)
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
        say(f"  {name:<28} {spent}")
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
    reference = slow.times(len(asked) / len(few))
    shared = np.mean(
        [len(np.intersect1d(a, b)) / NEIGHBOURS for a, b in zip(places, found, strict=False)]
    )
    say(
        f"  {metric} {len(asked):,} × {len(labels):,}: ours {spent}; scikit-learn "
        f"{their_metric} {reference} (from {len(few)} queries)"
    )
    say(
        f"    ratio {spent.faster_than(reference)} "
        f"(at least 5 wanted); {100 * shared:.1f} % of neighbours the same (ties differ); "
        f"peak memory {peak:.2f} GiB (at most 3 wanted)"
    )


if __name__ == "__main__":
    main()
