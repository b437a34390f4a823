"""Work on Ray against local processes, memory of the driver, and what each unit of work costs.

    python benchmarks/scale.py [--part ratios|memory|costs|all] [--workers 2] [--words 65536]
        [--descriptors 500000] [--iterations 2] [--pictures 24] [--photos FOLDER] [--turns 3]

Both sides have the same workers, warm (the start of processes and of Ray is not counted), and get
the same work in turns, every second turn backwards: ratios of wall time within one run. Memory is
the peak of the process that drives Ray, with ten times the items. Costs are seconds of one core
and bytes, per unit; docs/scale.md multiplies them.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import forget_peak, in_turns, medians, parser_of, peak_gib, say

SIZE = (1024, 768)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--part", choices=("ratios", "memory", "costs", "all"), default="all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--words", type=int, default=65_536)
    parser.add_argument("--descriptors", type=int, default=500_000)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--pictures", type=int, default=24)
    parser.add_argument("--photos", type=Path, help="so many of this folder, not made ones")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    os.environ.setdefault("RAY_ADDRESS", "local")  # one of its own
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        work = Path(folder)
        if options.part in ("ratios", "all"):
            compare(options, work)
        if options.part in ("memory", "all"):
            watch_memory(options, work)
        if options.part in ("costs", "all"):
            count_costs(options, work)


def compare(options: argparse.Namespace, work: Path) -> None:
    from sfumato.execution.on_ray import connect
    from sfumato.execution.processes import Processes

    descriptors = make_descriptors(options.descriptors)
    pictures = (
        make_pictures(work / "pictures", options.pictures, SIZE)
        if options.photos is None
        else some_of(options.photos, options.pictures, work / "pictures")
    )
    with Processes(options.workers) as local, connect("ray", options.workers) as ray:
        for title, job in (
            (
                f"dictionary, {options.words:,} words of {options.descriptors:,} descriptors, "
                f"{options.iterations} iterations",
                lambda: cluster_all(descriptors, options),
            ),
            (f"extraction, {options.pictures} pictures", lambda: extract_all(pictures, work)),
        ):
            jobs = [inside(place, job) for place in (local, ray)]
            turns = in_turns(jobs, options.turns)
            here, there = medians(turns)
            ratios = sorted(ray_seconds / own for own, ray_seconds in turns)
            say(
                f"{title}, medians of {options.turns} turns: {options.workers} processes "
                f"{here:.1f} s, {options.workers} workers of Ray {there:.1f} s; Ray takes "
                f"{there / here:.2f}× ({ratios[0]:.2f} to {ratios[-1]:.2f} in single turns)"
            )


def watch_memory(options: argparse.Namespace, work: Path) -> None:
    from sfumato.execution.on_ray import connect

    with connect("ray", options.workers) as ray:
        inside(ray, lambda: extract_all(make_pictures(work / "warm", 8, (160, 120)), work))()
        peaks = []
        for times in (1, 10):
            few = make_pictures(work / f"small-{times}", times * options.pictures, (160, 120))
            gc.collect()
            forget_peak()
            inside(ray, lambda few=few: extract_all(few, work))()  # type: ignore[misc]
            peaks.append(peak_gib() * 1024)
            say(f"driver, {times * options.pictures} pictures: {peaks[-1]:.0f} MiB at most")
        say(f"ten times the pictures take {peaks[1] / peaks[0]:.2f}× the memory of the driver")


def count_costs(options: argparse.Namespace, work: Path) -> None:
    import numpy as np

    from sfumato.core.threads import single_threaded_products
    from sfumato.dictionary.cells import make_cells
    from sfumato.dictionary.kmeans import _assign, _blocks, first_words
    from sfumato.dictionary.seeding import start_rows
    from sfumato.dictionary.vectors import Space, word_side
    from sfumato.execution import use
    from sfumato.execution.threads import Threads
    from sfumato.features import extract
    from sfumato.server.mapping.correspondences import match_descriptors

    with use(Threads(1)), single_threaded_products():
        picture = next(make_pictures(work / "one", 1, SIZE).iterdir())
        features, seconds = on_one_core(lambda: extract(picture, max_keypoints=1000), 3)
        size = len(pickle.dumps(features))
        say(f"extraction: {seconds:.3f} s and {size:,} bytes a picture of 1,000 keypoints")
        rows = features.descriptors
        _, seconds = on_one_core(lambda: match_descriptors(rows, rows), 3)
        say(f"matching: {seconds:.4f} s a pair of pictures of {len(rows):,} keypoints")
        descriptors = make_descriptors(min(options.descriptors, 200_000))
        space, rng = Space(), np.random.default_rng(0)
        cells = make_cells(descriptors, options.words, space, rng)
        state = first_words(cells, start_rows(cells, options.words, "random", space, rng), space)
        blocks = list(_blocks(cells, state.assignment))[:4]
        side, count, sent = word_side(state.words), 0, 0
        start = time.process_time()
        for block in blocks:
            part = _assign(cells.rows, None, side, space, block)
            count += len(part.assignment)
        seconds = (time.process_time() - start) / count
        sent = len(pickle.dumps(part)) // len(part.assignment) + block.present.itemsize
        say(
            f"dictionary: {seconds * 1e6:.1f} s and {sent * 1e6 / 1e9:.2f} GB moved per million "
            f"descriptors and iteration, {options.words:,} words"
        )
        count_codes()


def count_codes() -> None:
    import numpy as np

    from sfumato.classification.counts import CodeCounts
    from sfumato.core.codes import Codes

    rng = np.random.default_rng(0)
    values = rng.integers(0, 16, (20_000, 400)).astype(np.uint8)
    codes = Codes(values=values, num_values=16, num_positions=400, epsilon=2.0)
    counts, classes = CodeCounts(10, 400, 16), rng.integers(0, 10, 20_000)
    _, seconds = on_one_core(lambda: counts.add(codes, classes), 3)
    say(f"classification: {seconds / 20_000 * 1e6:.0f} s per million releases of 400 codes")


def on_one_core(work: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """The result, and the median of the processor seconds that it took."""
    found = work()
    turns = in_turns([work], repeats, clock=time.process_time)
    return found, medians(turns)[0]


def inside(place: Any, job: Callable[[], object]) -> Callable[[], object]:
    from sfumato.execution import use

    def run() -> None:
        with use(place):
            job()

    return run


def cluster_all(descriptors: Any, options: argparse.Namespace) -> None:
    from sfumato.dictionary.kmeans import cluster

    cluster(descriptors, options.words, iterations=options.iterations, start="random")


def extract_all(pictures: Path, work: Path) -> None:
    from sfumato.features import extract_folder

    with emptied(work / "features.h5") as file:
        extract_folder(pictures, file)


@contextmanager
def emptied(file: Path) -> Iterator[Path]:
    file.unlink(missing_ok=True)
    yield file
    file.unlink(missing_ok=True)


def make_descriptors(count: int) -> Any:
    """Random descriptors around 4,096 middles, as whole numbers like SIFT's."""
    import numpy as np

    rng = np.random.default_rng(0)
    middles = rng.gamma(0.5, 40, (4096, 128))
    rows = np.empty((count, 128), dtype=np.uint8)
    for low in range(0, count, 50_000):
        some = middles[rng.integers(0, 4096, min(50_000, count - low))]
        rows[low : low + 50_000] = np.clip(some + rng.normal(0, 12, some.shape), 0, 255)
    return rows


def some_of(photos: Path, count: int, folder: Path) -> Path:
    """A folder with so many photographs, spread evenly over another."""
    from sfumato.features import list_images

    folder.mkdir()
    names = list_images(photos)
    for name in names[:: max(len(names) // count, 1)][:count]:
        (folder / Path(name).name).symlink_to((photos / name).resolve())
    return folder


def make_pictures(folder: Path, count: int, size: tuple[int, int]) -> Path:
    import cv2
    import numpy as np

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        noise = np.random.default_rng(number).integers(0, 256, (96, 128), dtype=np.uint8)
        cv2.imwrite(str(folder / f"{number:05d}.png"), cv2.resize(noise, size))
    return folder


if __name__ == "__main__":
    main()
