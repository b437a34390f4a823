"""How long does localizing from words take, beside raw descriptors, and how does it grow?

    python benchmarks/localize.py --data DIR [DIR …] [--room DIR] [--work DIR] [--largest]

First, on the map of these scenes, every fourth photograph a query: protect after extraction and
localize at ε = 10 per descriptor (1 of 16,384 words), beside exact nearest neighbours of raw
descriptors (faiss IndexFlatL2 over all observations, mutual) and PoseLib's RANSAC. The same in a
room, every third block of ten frames queries, at ε = 8 (1 of 4,096). ε is per descriptor;
positions and their number are not protected. Then the server's time on
simulated maps of 10⁴ to 10⁶ observations (10⁸ with --largest): a long wall, 2,000 observations an
image, words drawn at random; and the memory that a query by words needs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import faiss
import numpy as np
import poselib
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import parser_of, peak_gib, timed
from benchmarks.wall import CAMERA, look_at, wall_fields

from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import WordRelease
from sfumato.core.types import Camera, Features, Pose
from sfumato.datasets.query_rule import QueryRule
from sfumato.datasets.scenes import Query, open_scenes
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server import retrieval
from sfumato.server.localize import LocalizeOptions, best_pose, localize, match_release
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.memory import word_query_memory
from sfumato.server.pose import PoseProblem

EPSILON = 10.0
NUM_WORDS = 16_384


class Setting(NamedTuple):
    """How scenes of one kind are asked, and what counts as found."""

    epsilon: float
    num_words: int
    queries: str
    metres: float
    degrees: float


FACADES = Setting(EPSILON, NUM_WORDS, "step:4", 0.25, 2.0)
ROOM = Setting(8.0, 4_096, "blocks:10/3", 0.05, 5.0)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--room", type=Path, help="a video of a room with known poses")
    parser.add_argument("--work", type=Path, help="keep features and map here for the next time")
    parser.add_argument("--dictionary", default="open-64k")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--largest", action="store_true", help="also 10⁷ and 10⁸ observations")
    options = parser.parse_args()
    kinds = [(options.data, FACADES, "facades"), ([options.room], ROOM, "room")]
    with tempfile.TemporaryDirectory() as folder:
        for folders, setting, name in kinds:
            if folders and folders[0] is not None:
                compare(folders, (options.work or Path(folder)) / name, setting, options)
    grow([10**4, 10**5, 10**6] + [10**7, 10**8] * options.largest, options.repeats)


def compare(folders: list[Path], work: Path, setting: Setting, options: argparse.Namespace) -> None:
    """Ours and raw on the same map, query by query in turn; a first round is not counted."""
    problem = open_scenes(folders, work, queries=QueryRule.parse(setting.queries))
    world, count = problem.world, len(problem.queries)
    dictionary = Dictionary.load(options.dictionary).at(setting.num_words)
    mechanism = SubsetMechanism(setting.epsilon, 1, dictionary)
    world.word_index(dictionary)
    raw = RawServer(world)
    seconds: dict[str, list[float]] = {"protect": [], "localize": [], "ours": [], "raw": []}
    right = {"ours": 0, "raw": 0}
    for repeat in range(options.repeats + 1):
        for query in problem.queries:
            start = time.perf_counter()
            release = mechanism.release(query.features, rng=SecureRandom(), camera=query.camera)
            protected = time.perf_counter()
            found = localize(release, world)
            stop = time.perf_counter()
            pose = raw.localize(query.features, query.camera)
            if repeat:
                seconds["raw"].append(time.perf_counter() - stop)
                seconds["protect"].append(protected - start)
                seconds["localize"].append(stop - protected)
                seconds["ours"].append(stop - start)
                right["ours"] += is_right(found.pose, query, setting)
                right["raw"] += is_right(pose, query, setting)
    print(f"{problem.data}: {world}, {count} queries × {options.repeats}")
    within = f"within {setting.metres:g} m/{setting.degrees:g}°"
    print(f"{'':34}{'median s':>10}{'mean s':>10}{within:>20}")
    words = f"words, ε = {setting.epsilon:g}, |K| = {setting.num_words:,}"
    for name, label in (
        ("ours", words),
        ("protect", "  protect after extraction"),
        ("localize", "  localize"),
        ("raw", "raw, faiss exact + PoseLib"),
    ):
        times = seconds[name]
        share = f"{right[name] / options.repeats:.4g}/{count}" if name in right else ""
        print(
            f"{label:34}{statistics.median(times):>10.3f}{statistics.mean(times):>10.3f}{share:>20}"
        )
    middle, mean = (
        of(seconds["ours"]) / of(seconds["raw"]) for of in (statistics.median, statistics.mean)
    )
    print(f"words / raw: {middle:.2f} by medians, {mean:.2f} by means (below 1 wanted)\n")


def is_right(pose: Pose | None, query: Query, setting: Setting) -> bool:
    if pose is None or query.truth is None:
        return False
    distance, degrees = pose.error_to(query.truth)
    return distance <= setting.metres and degrees <= setting.degrees


class RawServer:
    """What people use instead: the query's descriptors in the clear, compared with all."""

    def __init__(self, world: Map) -> None:
        rows = world.observations()
        self._points = np.asarray(world.points)[np.asarray(world.point_of_feature)[rows]]
        self._descriptors = np.asarray(world.descriptors[rows], dtype=np.float32)
        self._index = faiss.IndexFlatL2(self._descriptors.shape[1])
        self._index.add(self._descriptors)

    def localize(self, features: Features, camera: Camera) -> Pose | None:
        query = np.ascontiguousarray(features.descriptors, dtype=np.float32)
        nearest = self._index.search(query, 1)[1][:, 0]
        chosen, place = np.unique(nearest, return_inverse=True)  # only these must look back
        back = faiss.IndexFlatL2(query.shape[1])
        back.add(query)
        mutual = back.search(self._descriptors[chosen], 1)[1][place, 0] == np.arange(len(query))
        if mutual.sum() < 4:
            return None
        found, _ = poselib.estimate_absolute_pose(
            features.keypoints[mutual].astype(np.float64) + 0.5,
            self._points[nearest[mutual]],
            {
                "model": camera.model,
                "width": camera.width,
                "height": camera.height,
                "params": list(camera.params),
            },
            {"max_reproj_error": 6.0},
            {},
        )
        left, _, right = np.linalg.svd(found.R)
        return Pose(left @ right, found.t)


def grow(sizes: list[int], repeats: int) -> None:
    """The server's time by stage, for ever larger maps."""
    ids = np.arange(NUM_WORDS, dtype=np.float32)[:, None]
    dictionary = Dictionary.from_words(ids, extractor="bench", metric="l2")
    stages = ("lookup", "vote", "support", "pose")
    print("simulated maps, milliseconds (medians), found within .25 m")
    print(f"{'observations':>14}{'images':>9}{'candidates':>12}", end="")
    print("".join(f"{stage:>10}" for stage in stages), end="")
    print(f"{'total':>10}{'ns/candidate':>14}{'bytes/obs.':>12}{'peak GiB':>10}  found")
    for size in sizes:
        world, point_words = long_wall(size, dictionary)
        release, truth = look_at_wall(world, point_words, dictionary)
        runs = [staged(release, world, truth) for _ in range(repeats + 1)][1:]
        milliseconds = [1e3 * statistics.median(run[0][i] for run in runs) for i in range(4)]
        count, total = runs[0][1], sum(milliseconds)
        print(f"{world.num_observations:>14,}{world.num_images:>9,}{count:>12,}", end="")
        print("".join(f"{value:>10.1f}" for value in milliseconds), end="")
        memory = sum(word_query_memory(world, dictionary.fingerprint).values())
        print(f"{total:>10.1f}{1e6 * total / count:>14,.0f}", end="")
        print(f"{memory / world.num_observations:>12.1f}{peak_gib():>10.1f}  {runs[0][2]}")


def staged(release: WordRelease, world: Map, truth: Pose) -> tuple[list[float], int, bool]:
    """Seconds of lookup, vote, support and pose; candidates; whether it was found."""
    options = LocalizeOptions()
    problem = PoseProblem(release.keypoints, world.points, CAMERA, options.pose)
    candidates, lookup = timed(lambda: match_release(release, world))

    def ballot() -> object:
        by_image = retrieval._ByImage(release, candidates, world, options.retrieval.support)
        return retrieval._most_voted(release, candidates, by_image.image, world, options.retrieval)

    _, vote = timed(ballot)
    regions, both = timed(
        lambda: retrieval.retrieve_map_regions(release, candidates, world, options.retrieval)
    )
    found, pose = timed(lambda: best_pose(regions, problem))
    right = found.pose is not None and found.pose.error_to(truth)[0] < 0.25
    support = max(both.wall - vote.wall, 0.0)
    return [lookup.wall, vote.wall, support, pose.wall], len(candidates.row), right


def long_wall(size: int, dictionary: Dictionary) -> tuple[Map, NDArray[np.uint16]]:
    """The wall, and the word of each point; half of the observations fall into another word."""
    generator = np.random.default_rng(size)
    fields, point = wall_fields(size, generator)
    point_words = generator.integers(0, NUM_WORDS, len(fields["points"]), dtype=np.uint16)
    words = generator.integers(0, NUM_WORDS, len(point), dtype=np.uint16)
    same = generator.integers(0, 2, len(point), dtype=np.bool_)
    words[same] = point_words[point[same]]
    nothing = np.zeros((len(point), 1), dtype=np.uint8)  # words are given, not computed
    index = InvertedIndex.build(words, np.arange(len(point), dtype=np.int32), NUM_WORDS)
    world = Map(**fields, descriptors=nothing, extractor="bench")
    return replace(world, _indices={dictionary.fingerprint: index}), point_words


def look_at_wall(
    world: Map, point_words: NDArray[np.uint16], dictionary: Dictionary
) -> tuple[WordRelease, Pose]:
    """A release taken between two cameras in the middle, at ε = 10."""
    generator = np.random.default_rng(0)
    truth, seen, pixels = look_at(world.points, world.num_images // 2 - 0.7)
    wrong = generator.integers(0, NUM_WORDS, len(seen))
    true = np.where(generator.random(len(seen)) < 0.5, point_words[seen], wrong)
    mechanism = SubsetMechanism(EPSILON, 1, dictionary)
    release = WordRelease(
        keypoints=(pixels + generator.normal(0, 0.3, pixels.shape)).clip(0, 479 + 160),
        image_size=(640, 480),
        extractor="bench",
        camera=CAMERA,
        words=mechanism.draw(true.astype(np.uint32), SecureRandom()),
        num_words=NUM_WORDS,
        dictionary=dictionary.fingerprint,
        epsilon=EPSILON,
    )
    return release, truth


if __name__ == "__main__":
    main()
