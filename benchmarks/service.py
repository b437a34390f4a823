"""How fast does the service answer private requests, beside raw ones, and what do they weigh?

    python benchmarks/service.py [--data DIR [DIR …]] [--work DIR] [--seconds 20] [--workers 1 2]

The map is the built-in gallery's, or that of these scenes. Every query's 1,000 strongest keypoints
are sent as words at ε = 10 per descriptor (1,000 · 10 per picture; positions, their number, camera
and pose are not protected), and as raw SIFT to the same server; the picture itself as JPEG is
weighed, not sent. Words and raw take turns, so that both meet the same machine. Then the memory
that a further worker takes for a map of 10⁶ observations: what all processes hold together
(proportional set size), with two workers and with three, before and after all have answered.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from endurance.lines import Line, ask_once
from endurance.rig import Server, cpu_seconds, make_key, tar_of
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import PlainRelease
from sfumato.core.types import Camera, Features, Pose
from sfumato.datasets import load_gallery
from sfumato.device.filters import KeepStrongest
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.experiments.demo import map_scene
from sfumato.experiments.localization_data import open_scenes
from sfumato.experiments.report.result import DemoSettings
from sfumato.features import extract
from sfumato.server.mapping.map import Map

EPSILON, NUM_KEYPOINTS = 10.0, 1000
JPEG_QUALITY = 90
TURNS = 4
PER_IMAGE, STEP = 2_000, 500  # observations of an image; points between one image and the next
CAMERA = Camera("PINHOLE", 640, 480, (800.0, 800.0, 320.0, 240.0))
QUIET: dict[str, object] = {"plan_images": 0, "queue_size": 256}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--work", type=Path, help="keep features and maps here for the next time")
    parser.add_argument("--dictionary", default="bsds-16k")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="per kind and number of workers"
    )
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--observations", type=int, default=10**6, help="of the map for memory")
    parser.add_argument("--skip", choices=("speed", "memory"))
    options = parser.parse_args()
    dictionary = Dictionary.load(options.dictionary)
    with tempfile.TemporaryDirectory(prefix="sfumato-benchmark-") as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        if options.skip != "speed":
            questions = open_questions(options.data, work, dictionary)
            asyncio.run(compare(questions, Path(folder), options))
        if options.skip != "memory":
            asyncio.run(weigh(work, Path(folder), dictionary, options))


@dataclass
class Questions:
    """A stored map, and what devices would send to it."""

    data: str
    map: Path
    words: list[bytes] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    jpeg: list[int] = field(default_factory=list)
    keypoints: list[int] = field(default_factory=list)

    def add(self, features: Features, camera: Camera, dictionary: Dictionary) -> None:
        kept = KeepStrongest(NUM_KEYPOINTS)(features, rng=SecureRandom())
        mechanism = SubsetMechanism(EPSILON, 1, dictionary)
        release = mechanism.release(kept, rng=SecureRandom(), camera=camera)
        plain = PlainRelease(
            keypoints=kept.keypoints,
            descriptors=kept.descriptors,
            image_size=kept.image_size,
            extractor=kept.extractor,
            camera=camera,
        )
        self.words.append(release.to_bytes())
        self.raw.append(plain.to_bytes())
        self.keypoints.append(len(kept))


def open_questions(folders: list[Path], work: Path, dictionary: Dictionary) -> Questions:
    if folders:
        problem = open_scenes(folders, work)
        questions = Questions(problem.data, work / "map")
        for query in problem.queries:
            questions.add(query.features, query.camera, dictionary)
            scene, name = query.name.split("/", 1)
            (photo,) = [
                path for folder in folders for path in folder.rglob(name) if scene in str(path)
            ]
            questions.jpeg.append(jpeg_bytes(cv2.imread(str(photo))))
        return questions
    gallery = load_gallery()
    stored = work / "gallery-map"
    if not stored.exists():
        map_scene(gallery, DemoSettings()).save(stored)
    questions = Questions("gallery", stored)
    for view in gallery.queries:
        questions.add(extract(view.image, extractor="sift"), view.camera, dictionary)
        questions.jpeg.append(jpeg_bytes(cv2.cvtColor(view.image, cv2.COLOR_RGB2BGR)))
    return questions


def jpeg_bytes(image: NDArray[Any] | None) -> int:
    assert image is not None
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    assert done
    return len(data)


@dataclass
class Measured:
    """Answers of one kind."""

    waits: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    localized: int = 0

    def row(self, name: str) -> str:
        waits = sorted(self.waits)
        count = len(waits)
        return (
            f"{name:>22}{count / self.seconds:>10.1f}{1e3 * statistics.median(waits):>9.0f}"
            f"{1e3 * waits[count * 99 // 100]:>9.0f}{1e3 * self.cpu / count:>11.1f}"
            f"{self.localized:>9}/{count}"
        )


async def compare(questions: Questions, folder: Path, options: argparse.Namespace) -> None:
    """Requests per second and waiting times, words and raw in turn."""
    world = Map.load(questions.map)
    sizes = [statistics.median(map(len, part)) for part in (questions.words, questions.raw)]
    jpeg = statistics.median(questions.jpeg)
    print(
        f"{questions.data}: {world}; {len(questions.words)} queries of "
        f"{statistics.median(questions.keypoints):,.0f} keypoints (median)"
    )
    print(
        f"bytes (medians): words {sizes[0]:,.0f}, raw SIFT {sizes[1]:,.0f}, JPEG quality "
        f"{JPEG_QUALITY} {jpeg:,.0f}; words / raw {sizes[0] / sizes[1]:.3f} (≤ .1 wanted), "
        f"words / JPEG {sizes[0] / jpeg:.3f}"
    )
    cores = len(os.sched_getaffinity(0))
    print(f"{options.clients} clients, ε = {EPSILON:g} per descriptor, {cores} cores for all of it")
    print(f"{'':>22}{'per s':>10}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>11}{'localized':>12}")
    store = folder / "store"
    key = make_key(store)
    room = ""
    for workers in options.workers:
        server = Server(store, Path(options.dictionary), workers=workers, **QUIET)
        try:
            url = await asyncio.to_thread(server.wait_ready)
            if not room:
                path = "/v1/maps?name=map&accept=words,plain"
                reply = await ask_once(url, key, "POST", path, tar_of(questions.map))
                assert reply.status == 201, reply.body
                room = reply.json()["id"]
            place = f"/v1/maps/{room}/localize"
            found = {"words": Measured(), "raw": Measured()}
            kinds = {"words": questions.words, "raw": questions.raw}
            for bodies in kinds.values():  # every worker opens the map
                await ask(url, key, place, bodies, 4 * workers, 3.0, server, Measured())
            for _ in range(TURNS):
                for kind, bodies in kinds.items():
                    span = options.seconds / TURNS
                    await ask(url, key, place, bodies, options.clients, span, server, found[kind])
            for kind, measured in found.items():
                print(measured.row(f"{kind}, {workers} worker{'s' * (workers > 1)}"), flush=True)
            cpu = [part.cpu / len(part.waits) for part in found.values()]
            rate = [len(part.waits) / part.seconds for part in found.values()]
            print(
                f"{'words / raw':>22}: requests {rate[0] / rate[1]:.2f} (≥ 1 wanted), "
                f"CPU {cpu[0] / cpu[1]:.2f}"
            )
        finally:
            server.kill()


async def ask(
    url: str,
    key: str,
    path: str,
    bodies: list[bytes],
    clients: int,
    seconds: float,
    server: Server,
    measured: Measured,
) -> None:
    """All clients ask without pause; every one begins with another query."""
    start, cpu = time.perf_counter(), cpu_seconds(server.pids())

    async def one(number: int) -> None:
        line = Line(url, key)
        while (begin := time.perf_counter()) - start < seconds:
            reply = await line.ask("POST", path, bodies[number % len(bodies)])
            assert reply.status == 200, reply.body
            measured.waits.append(time.perf_counter() - begin)
            measured.localized += reply.json()["localized"]
            number += clients
        line.close()

    await asyncio.gather(*(one(number) for number in range(clients)))
    measured.seconds += time.perf_counter() - start
    measured.cpu += cpu_seconds(server.pids()) - cpu


async def weigh(
    work: Path, folder: Path, dictionary: Dictionary, options: argparse.Namespace
) -> None:
    """Memory that a further worker adds, first without the large map, then with it."""
    large, small = work / f"wall-{options.observations}", work / "wall-small"
    for stored, size in ((large, options.observations), (small, 4 * PER_IMAGE)):
        if not stored.exists():
            long_wall(size, dictionary).save(stored)
    world = Map.load(large, verify=False)
    num_bytes = sum(path.stat().st_size for path in large.iterdir() if path.is_file())
    print(
        f"\nmemory, a map of {world.num_observations:,} observations, {num_bytes / 2**20:.0f} MiB"
    )
    store = folder / "memory-store"
    key = make_key(store)
    ids: dict[str, str] = {}
    held: dict[int, tuple[int, int]] = {}
    for workers in (2, 3):
        server = Server(store, Path(options.dictionary), workers=workers, **QUIET)
        try:
            url = await asyncio.to_thread(server.wait_ready)
            for path in (small, large) if not ids else ():
                target = f"/v1/maps?name={path.name}&accept=words"
                reply = await ask_once(url, key, "POST", target, tar_of(path))
                assert reply.status == 201, reply.body
                ids[path.name] = reply.json()["id"]
            if workers == 2:  # begin without what the upload has left in memory
                server.kill()
                server = Server(store, Path(options.dictionary), workers=workers, **QUIET)
                url = await asyncio.to_thread(server.wait_ready)
            sums = []
            for path in (small, large):
                bodies = [
                    look_at_wall(Map.load(path, verify=False), i, dictionary) for i in range(8)
                ]
                await until_open(server, url, key, ids[path.name], bodies)
                sums.append(sum(proportional_bytes(pid) for pid in server.pids()))
            held[workers] = (sums[0], sums[1])
            print(
                f"{workers} workers: {sums[0] / 2**20:.0f} MiB before the map "
                f"is opened, {sums[1] / 2**20:.0f} MiB after each has answered from it",
                flush=True,
            )
        finally:
            server.kill()
    growth = {workers: after - before for workers, (before, after) in held.items()}
    extra = growth[3] - growth[2]
    print(
        f"for this map a further worker adds {extra / 2**20:.1f} MiB, "
        f"{100 * extra / num_bytes:.1f} % of the map (≤ 10 % wanted); the worker itself, without "
        f"the map, {(held[3][0] - held[2][0]) / 2**20:.0f} MiB"
    )


async def until_open(server: Server, url: str, key: str, map_id: str, bodies: list[bytes]) -> None:
    """Ask until every worker has answered: it has mapped the files, and 64 queries are done."""
    workers = server.pids()[1:] or server.pids()
    asked = 0
    while asked < 64 or not all(f"maps/{map_id}/" in mapped_files(pid) for pid in workers):
        lines = [Line(url, key) for _ in bodies]
        path = f"/v1/maps/{map_id}/localize"
        replies = await asyncio.gather(
            *(line.ask("POST", path, body) for line, body in zip(lines, bodies, strict=True))
        )
        assert {reply.status for reply in replies} == {200}
        for line in lines:
            line.close()
        asked += len(bodies)


def mapped_files(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def proportional_bytes(pid: int) -> int:
    """Proportional set size: a page that several processes share counts by its share."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("no Pss in smaps_rollup")


def long_wall(size: int, dictionary: Dictionary) -> Map:
    """Cameras one metre apart along a wall; each sees the next 2,000 points, four see each.

    Half of the observations look like their point's word, the others like any word.
    """
    generator = np.random.default_rng(size)
    images = size // PER_IMAGE
    count = STEP * (images - 1) + PER_IMAGE
    points = np.column_stack(
        [
            np.arange(count) / STEP,
            generator.uniform(-1.4, 1.4, count),
            generator.uniform(5.0, 6.0, count),
        ]
    )
    point = (STEP * np.arange(images)[:, None] + np.arange(PER_IMAGE)).reshape(-1)
    centers = np.arange(images, dtype=np.float64) + PER_IMAGE / STEP / 2
    inside = points[point] - np.repeat(centers, PER_IMAGE)[:, None] * (1.0, 0.0, 0.0)
    pixels = 800.0 * inside[:, :2] / inside[:, 2:] + (319.5, 239.5)
    any_word = generator.integers(0, dictionary.num_words, len(point))
    words = np.where(generator.random(len(point)) < 0.5, word_of(point, dictionary), any_word)
    return Map(
        points=points,
        rotations=np.tile(np.eye(3), (images, 1, 1)),
        translations=np.outer(-centers, [1.0, 0.0, 0.0]),
        camera_of_image=np.zeros(images, dtype=np.int32),
        feature_start=PER_IMAGE * np.arange(images + 1, dtype=np.int64),
        keypoints=pixels.astype(np.float32),
        descriptors=np.asarray(dictionary.words)[words],
        point_of_feature=point.astype(np.int32),
        image_names=tuple(f"{image}.png" for image in range(images)),
        cameras=(CAMERA,),
        extractor=dictionary.extractor,
    )


def word_of(point: NDArray[Any], dictionary: Dictionary) -> NDArray[Any]:
    """The word a point looks like: any, but always the same."""
    return (point * 2_654_435_761 >> 7) % dictionary.num_words


def look_at_wall(world: Map, number: int, dictionary: Dictionary) -> bytes:
    """A release taken between two cameras somewhere along the wall."""
    generator = np.random.default_rng(number)
    center = generator.uniform(1.0, world.num_images - 1.0) + PER_IMAGE / STEP / 2
    inside = Pose(np.eye(3), np.array([-center, 0.0, 0.0])).apply(np.asarray(world.points))
    seen = np.flatnonzero(np.abs(inside[:, 0]) < 1.9)
    seen = np.sort(generator.permutation(seen)[:NUM_KEYPOINTS])
    pixels = 800.0 * inside[seen, :2] / inside[seen, 2:] + (319.5, 239.5)
    features = Features(
        keypoints=(pixels + generator.normal(0, 0.3, pixels.shape)).clip(0, 479).astype(np.float32),
        descriptors=np.asarray(dictionary.words)[word_of(seen, dictionary)],
        scores=np.ones(len(seen), dtype=np.float32),
        scales=np.ones(len(seen), dtype=np.float32),
        angles=np.zeros(len(seen), dtype=np.float32),
        image_size=(640, 480),
        extractor=dictionary.extractor,
    )
    mechanism = SubsetMechanism(EPSILON, 1, dictionary)
    return mechanism.release(features, rng=SecureRandom(), camera=CAMERA).to_bytes()


if __name__ == "__main__":
    main()
