"""Dictionaries: our k-means against faiss.Kmeans, and our index against exact search.

    python benchmarks/dictionary.py --data PHOTOGRAPHS --cache CACHE [--part kmeans|index]

Both sides get the same descriptors, iterations and threads. Errors are mean squared
distances to the exact nearest word, computed by the same code for both. Wall time suffers
when the machine is shared; CPU time, printed beside it, suffers less.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import Spent, parser_of, say, timed, use_threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of photographs")
    parser.add_argument("--cache", type=Path, required=True, help="folder for descriptors")
    parser.add_argument("--part", choices=("kmeans", "index", "all"), default="all")
    parser.add_argument("--words", type=int, default=65_536)
    parser.add_argument("--index-words", type=int, default=256_000)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    use_threads(options.threads)
    options.cache.mkdir(parents=True, exist_ok=True)
    if options.part in ("kmeans", "all"):
        compare_kmeans(options)
    if options.part in ("index", "all"):
        compare_index(options)


def compare_kmeans(options: argparse.Namespace) -> None:
    import faiss
    import numpy as np

    from sfumato.dictionary.kmeans import Clustering, cluster
    from sfumato.dictionary.vectors import Space, nearest_exact

    descriptors = default_descriptors(options)
    say(
        f"k-means: {len(descriptors)} SIFT descriptors, {options.words} words, "
        f"{options.iterations} iterations, {options.threads} threads"
    )

    def error(words: NDArray[np.float32]) -> float:
        return float(nearest_exact(descriptors, words, Space())[1].mean(dtype=np.float64))

    def work() -> Clustering:
        return cluster(descriptors, options.words, iterations=options.iterations, seed=0)

    # Ours is short: it is run before and after theirs, to see how quiet the machine is.
    found, before = timed(work)
    our_error = error(found.words)
    row("sfumato", before, our_error)
    faiss.omp_set_num_threads(options.threads)
    theirs = faiss.Kmeans(
        descriptors.shape[1],
        options.words,
        niter=options.iterations,
        nredo=1,
        max_points_per_centroid=len(descriptors),
        min_points_per_centroid=1,
        seed=0,
    )
    floats = descriptors.astype(np.float32)
    say(
        f"faiss.Kmeans {faiss.__version__}: niter={theirs.cp.niter}, nredo={theirs.cp.nredo}, "
        f"max_points_per_centroid={theirs.cp.max_points_per_centroid}, "
        f"seed={theirs.cp.seed}, index=IndexFlatL2"
    )
    _, reference = timed(lambda: theirs.train(floats))
    their_error = error(np.asarray(theirs.centroids))
    row("faiss", reference, their_error)
    again, after = timed(work)
    row("sfumato", after, error(again.words))
    ours = Spent(before.wall / 2 + after.wall / 2, before.cpu / 2 + after.cpu / 2)
    say(f"ratio: {ours.faster_than(reference)}, error × {our_error / their_error:.4f}\n")


def compare_index(options: argparse.Namespace) -> None:
    import faiss
    import numpy as np

    from sfumato.dictionary.index import make_index

    words, queries = index_words(options)
    say(
        f"index: {len(words)} k-means words, {len(queries)} SIFT descriptors of held-out "
        f"photographs in one batch, {options.threads} threads"
    )
    faiss.omp_set_num_threads(options.threads)
    flat = faiss.IndexFlatL2(words.shape[1])
    flat.add(words.astype(np.float32))
    floats = queries.astype(np.float32)
    (_, truth), exact = timed(lambda: flat.search(floats, 1))
    rate("faiss.IndexFlatL2", exact, len(queries), 1.0, exact)
    best = np.square(words[truth[:, 0]].astype(np.int64) - queries).sum(axis=1)
    for kind in ("exact", "graph"):
        index, building = timed(partial(make_index, words, metric="l2", kind=kind))
        index.nearest(queries[:100])
        answer, spent = timed(partial(index.nearest, queries))
        # A word at the same distance as the nearest is as near: ties count as found.
        here = np.square(words[answer].astype(np.int64) - queries).sum(axis=1)
        rate(f"sfumato {kind}", spent, len(queries), float((here == best).mean()), exact)
        say(f"    built in {building[0]:.1f} s")


def index_words(options: argparse.Namespace) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Words from all photographs but every twentieth, queries from those; cached."""
    import numpy as np

    from sfumato.dictionary.kmeans import cluster

    file = options.cache / f"words-{options.index_words}-{options.iterations}.npz"
    if not file.exists():
        training, held_out = many_descriptors(options)
        say(f"clustering {len(training)} descriptors into {options.index_words} words …")
        found, spent = timed(
            lambda: cluster(training, options.index_words, iterations=options.iterations, seed=0)
        )
        say(f"    {spent[0]:.0f} s")
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(held_out), min(options.queries, len(held_out)), replace=False)
        words = np.clip(np.rint(found.words), 0, 255).astype(np.uint8)
        np.savez(file, words=words, queries=held_out[chosen])
    stored = np.load(file)
    return stored["words"], stored["queries"]


def default_descriptors(options: argparse.Namespace) -> NDArray[np.uint8]:
    """The descriptors sfumato's `sift` finds in all photographs; cached."""
    import numpy as np

    from sfumato.features import iter_folder_features

    file = options.cache / "sift.npy"
    if not file.exists():
        found = [part.descriptors for _, part in iter_folder_features(options.data)]
        np.save(file, np.concatenate(found))
    loaded: NDArray[np.uint8] = np.load(file)
    return loaded


def many_descriptors(options: argparse.Namespace) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Training and held-out descriptors at a low contrast threshold, pictures also mirrored.

    256,000 words need more descriptors than `sift` finds in 500 photographs.
    """
    import cv2
    import numpy as np

    from sfumato.features import list_images, load_image

    file = options.cache / "many.npz"
    if not file.exists():
        sift = cv2.SIFT.create(contrastThreshold=0.01)
        parts: dict[str, list[NDArray[np.uint8]]] = {"training": [], "held_out": []}
        for number, name in enumerate(list_images(options.data)):
            gray = cv2.cvtColor(load_image(options.data / name), cv2.COLOR_RGB2GRAY)
            held = number % 20 == 0
            for picture in (gray,) if held else (gray, cv2.flip(gray, 1)):
                _, descriptors = sift.detectAndCompute(picture, None)
                if descriptors is not None:
                    part = parts["held_out" if held else "training"]
                    part.append(np.asarray(descriptors, dtype=np.uint8))
        training, held_out = (np.concatenate(found) for found in parts.values())
        np.savez(file, training=training, held_out=held_out)
    stored = np.load(file)
    return stored["training"], stored["held_out"]


def row(name: str, spent: Spent, error: float) -> None:
    say(f"  {name:<10} {spent}   error {error:10.1f}")


def rate(name: str, spent: Spent, count: int, recall: float, exact: Spent) -> None:
    speed = f"{count / spent.wall:9.0f} queries/s  {spent.faster_than(exact)}"
    say(f"  {name:<18} recall@1 {recall:.4f}  {speed}")


if __name__ == "__main__":
    main()
