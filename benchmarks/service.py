"""How fast does the service answer private requests, beside raw ones, and what do they weigh?

    python benchmarks/service.py [--data DIR [DIR …]] [--work DIR] [--seconds 20] [--workers 1 2]
                                 [--only speed|noise|memory]

The map is the built-in gallery's, or that of these scenes. Every query's 1,000 strongest keypoints
are sent as words at ε = 10 per descriptor (1,000 · 10 per picture; positions, their number, camera
and pose are not protected), and as raw SIFT to the same server; the picture itself as JPEG is
weighed, not sent. Words and raw take turns, so that both meet the same machine. Then the same
requests beside a tenant that does its worst (service_noise.py), and the memory that a further
worker takes (service_memory.py).
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
from numpy.typing import NDArray

from served import tar_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from benchmarks.service_memory import EPSILON, NUM_KEYPOINTS, QUIET, weigh
from benchmarks.service_noise import beside_noise, worst_releases

from endurance.lines import Line, ask_once
from endurance.rig import Server, cpu_seconds, make_key
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import PlainRelease
from sfumato.core.types import Camera, Features
from sfumato.datasets import load_gallery, map_scene
from sfumato.datasets.scenes import open_scenes
from sfumato.device.filters import KeepStrongest
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.server.mapping.map import Map

JPEG_QUALITY = 90
TURNS = 4


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
    parser.add_argument("--only", choices=("speed", "noise", "memory"))
    options = parser.parse_args()
    dictionary = Dictionary.load(options.dictionary)
    with tempfile.TemporaryDirectory(prefix="sfumato-benchmark-") as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        if options.only != "memory":
            questions = open_questions(options.data, work, dictionary)
        if options.only in (None, "speed"):
            asyncio.run(compare(questions, Path(folder), options))
        if options.only in (None, "noise"):
            worst = worst_releases(dictionary)
            asyncio.run(beside_noise(questions.map, questions.words, worst, Path(folder), options))
        if options.only in (None, "memory"):
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
        map_scene(gallery).save(stored)
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


if __name__ == "__main__":
    main()
