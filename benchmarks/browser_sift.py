"""Does the browser's SIFT find what OpenCV finds, with the same words, and as many places?

    bash scripts/web build
    python benchmarks/browser_sift.py --data DIR [DIR …] [--scenes DIR …] [--room DIR] [--gallery]

The compiled SIFT and word search of web/device run in Node, the engine of Chromium; OpenCV and
NumPy on one core. For each folder of photographs: how many keypoints of OpenCV the browser has
within half a pixel (at the same scale and angle), how far its descriptors are (OpenCV's have length
512), how many have the same word of open-64k at 8,192 words, and processor time of extraction and
nearest words, browser over Python. Then the share of queries localized at ε = 8 per descriptor
(positions and their number are not protected): both devices ask the same map, made with OpenCV.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.measure import parser_of

from sfumato.core.randomness import SecureRandom
from sfumato.core.types import Camera, Features, Pose
from sfumato.datasets.gallery import load_gallery
from sfumato.datasets.gallery_map import map_scene
from sfumato.datasets.query_rule import QueryRule
from sfumato.datasets.scenes import open_scenes
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract, load_image
from sfumato.server.localize import localize
from sfumato.server.mapping import read_scene
from sfumato.server.mapping.map import Map

EPSILON = 8.0
PICTURES = (".jpg", ".jpeg", ".png")


class Answer(NamedTuple):
    features: Features
    words: NDArray[np.uint32]
    seconds: float


class Asked(NamedTuple):
    """A photograph that is looked for in a map."""

    picture: NDArray[np.uint8]
    camera: Camera
    truth: Pose


class Browser:
    """The device of the browser, in a process of Node."""

    def __init__(self, dictionary: Dictionary) -> None:
        script = Path(__file__).with_suffix(".mjs")
        self._node = subprocess.Popen(
            ["node", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        words = np.ascontiguousarray(dictionary.words)
        self._tell({"words": words.size, "centres": 0}, words)

    def _tell(self, line: dict[str, int], values: NDArray[np.uint8]) -> None:
        assert self._node.stdin is not None
        self._node.stdin.write(json.dumps(line).encode() + b"\n")
        self._node.stdin.write(values.tobytes())
        self._node.stdin.flush()

    def __call__(self, picture: NDArray[np.uint8]) -> Answer:
        height, width = picture.shape[:2]
        opaque = np.full((height, width, 1), 255, dtype=np.uint8)
        self._tell({"width": width, "height": height}, np.concatenate([picture, opaque], axis=2))
        assert self._node.stdout is not None
        stream = self._node.stdout
        told = json.loads(stream.readline())
        count = told["count"]

        def values(kind: str, columns: int) -> NDArray[Any]:
            size = count * columns * np.dtype(kind).itemsize
            return np.frombuffer(stream.read(size), dtype=kind).reshape(count, columns)

        keypoints, scales, angles, scores = (values("<f4", n) for n in (2, 1, 1, 1))
        features = Features(
            keypoints=keypoints,
            scales=scales[:, 0],
            angles=angles[:, 0],
            scores=scores[:, 0],
            descriptors=values("u1", 128),
            image_size=(width, height),
            extractor="sift",
        )
        return Answer(features, values("<u4", 1)[:, 0], told["seconds"])


def on_python(picture: NDArray[np.uint8], dictionary: Dictionary) -> Answer:
    with threadpool_limits(1):
        start = time.process_time()
        features = extract(picture)
        words = dictionary.nearest(features.descriptors)
        return Answer(features, words, time.process_time() - start)


def partners(of: Features, among: Features) -> NDArray[np.intp]:
    """For each keypoint the one within .5 pixels, at its scale and angle, or −1."""

    def places(one: Features) -> NDArray[np.float64]:
        turn = np.radians(one.angles)
        # A fifth of an octave, and 11°, count as half a pixel.
        return np.column_stack(
            [one.keypoints, 2.5 * np.log2(one.scales), 2.6 * np.cos(turn), 2.6 * np.sin(turn)]
        )

    if not len(of) or not len(among):
        return np.full(len(of), -1)
    _, row = cKDTree(places(among)).query(places(of), distance_upper_bound=0.5)
    return np.where(row < len(among), row, -1)


def compare(name: str, pictures: Iterable[NDArray[np.uint8]], browser: Browser) -> None:
    """One row of the table: what both devices find in these photographs."""
    dictionary = Dictionary.load("open-64k").at(8192)
    counts, found, same, other_words = np.zeros(2, dtype=int), 0, 0, 0
    distances: list[NDArray[np.float64]] = []
    ratios: list[float] = []
    for picture in pictures:
        theirs, ours = on_python(picture, dictionary), browser(picture)
        counts += len(theirs.features), len(ours.features)
        row = partners(theirs.features, ours.features)
        both = np.flatnonzero(row >= 0)
        found += len(both)
        same += int((theirs.words[both] == ours.words[row[both]]).sum())
        gap = theirs.features.descriptors[both].astype(float) - ours.features.descriptors[row[both]]
        distances.append(np.linalg.norm(gap, axis=1))
        other_words += int((dictionary.nearest(ours.features.descriptors) != ours.words).sum())
        ratios.append(ours.seconds / theirs.seconds)
    gaps = np.concatenate(distances)
    print(
        f"{name:<16}{len(ratios):>7}{counts[0]:>9,}{counts[1]:>9,}"
        f"{100 * found / counts[0]:>11.2f} %{np.median(gaps):>8.1f}{np.percentile(gaps, 95):>6.1f}"
        f"{100 * same / counts[0]:>9.2f} %{other_words:>8}{np.median(ratios):>9.2f}",
        flush=True,
    )


def photographs(folder: Path, most: int) -> Iterator[NDArray[np.uint8]]:
    """Up to so many photographs of a folder and those below it, spread evenly."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in PICTURES)
    for place in np.linspace(0, len(files) - 1, min(most, len(files))).round().astype(int):
        yield load_image(files[place])


def ask(
    name: str,
    world: Map,
    queries: list[Asked],
    within: tuple[float, float],
    browser: Browser,
    repeats: int,
) -> None:
    """Localize every query from both devices; what is drawn differs, so several times."""
    dictionary = Dictionary.load("open-64k").at_epsilon(EPSILON)
    mechanism, rng = SubsetMechanism(EPSILON, 1, dictionary), SecureRandom()
    world.word_index(dictionary)
    right = np.zeros(2, dtype=int)
    for query in queries:
        devices = (extract(query.picture), browser(query.picture).features)
        for device, features in enumerate(devices):
            for _ in range(repeats):
                release = mechanism.release(features, rng=rng, camera=query.camera)
                pose = localize(release, world).pose
                if pose is not None:
                    distance, degrees = pose.error_to(query.truth)
                    right[device] += distance <= within[0] and degrees <= within[1]
    shares = 100 * right / (repeats * len(queries))
    print(
        f"{name:<16}{len(queries):>4} × {repeats}{f'{within[0]:g} m, {within[1]:g}°':>16}"
        f"{shares[0]:>10.1f} %{shares[1]:>10.1f} %{shares[1] - shares[0]:>+11.1f}",
        flush=True,
    )


def scene_queries(folder: Path, work: Path, rule: str) -> tuple[Map, list[Asked]]:
    problem = open_scenes([folder], work, queries=QueryRule.parse(rule))
    images = read_scene(folder).images
    queries = [
        Asked(load_image(images / query.name.partition("/")[2]), query.camera, query.truth)
        for query in problem.queries
        if query.truth is not None
    ]
    return problem.world, queries


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, nargs="*", default=[], help="folders of photographs")
    parser.add_argument("--photographs", type=int, default=50, help="from each folder")
    parser.add_argument("--scenes", type=Path, nargs="*", default=[], help="façades with poses")
    parser.add_argument("--room", type=Path, help="a video of a room with known poses")
    parser.add_argument("--gallery", action="store_true", help="localize in the built-in gallery")
    parser.add_argument("--work", type=Path, help="keep features and maps here for the next time")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    browser = Browser(Dictionary.load("open-64k").at(8192))
    if options.data:
        print(
            f"{'photographs':<16}{'':>7}{'OpenCV':>9}{'browser':>9}{'within .5 px':>13}"
            f"{'distance':>8}{'95 %':>6}{'same word':>11}{'wrong':>8}{'time ×':>9}"
        )
    for folder in options.data:
        compare(folder.name, photographs(folder, options.photographs), browser)
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        places = [(folder, "step:4", (0.25, 2.0)) for folder in options.scenes]
        places += [(options.room, "blocks:10/3", (0.05, 5.0))] * (options.room is not None)
        if places or options.gallery:
            print(
                f"\n{'localized':<16}{'queries':>8}{'within':>16}{'Python':>12}{'browser':>12}{'points':>11}"
            )
        if options.gallery:
            scene = load_gallery()
            queries = [Asked(view.image, view.camera, view.pose) for view in scene.queries]
            ask("gallery", map_scene(scene), queries, (0.05, 5.0), browser, options.repeats)
        for folder, rule, within in places:
            world, queries = scene_queries(folder, work / folder.name, rule)
            ask(folder.name, world, queries, within, browser, options.repeats)


if __name__ == "__main__":
    main()
