"""The memory that a further worker takes: part of benchmarks/service.py.

Cameras stand along a wall of 10⁶ observations. What all processes hold together (proportional set
size) is compared with two workers and with three, before and after all have answered.
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.wall import CAMERA, PER_IMAGE, look_at, wall_fields
from numpy.typing import NDArray

from endurance.lines import Line, ask_once
from endurance.rig import Server, make_key
from served import tar_of
from sfumato.core.randomness import SecureRandom
from sfumato.core.types import Features
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.server.mapping.map import Map

EPSILON, NUM_KEYPOINTS = 10.0, 1000
QUIET: dict[str, object] = {"plan_images": 0, "queue_size": 256}


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
                await until_open(url, key, ids[path.name], bodies)
                sums.append(server.memory())
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


async def until_open(url: str, key: str, map_id: str, bodies: list[bytes]) -> None:
    """Ask until all that compute have answered: they have mapped the files after 256 queries."""
    asked = 0
    while asked < 256:
        lines = [Line(url, key) for _ in bodies]
        path = f"/v1/maps/{map_id}/localize"
        replies = await asyncio.gather(
            *(line.ask("POST", path, body) for line, body in zip(lines, bodies, strict=True))
        )
        assert {reply.status for reply in replies} == {200}
        for line in lines:
            line.close()
        asked += len(bodies)


def long_wall(size: int, dictionary: Dictionary) -> Map:
    """The wall; half of the observations look like their point's word, the others like any."""
    generator = np.random.default_rng(size)
    fields, point = wall_fields(size, generator)
    any_word = generator.integers(0, dictionary.num_words, len(point))
    words = np.where(generator.random(len(point)) < 0.5, word_of(point, dictionary), any_word)
    descriptors = np.asarray(dictionary.words)[words]
    return Map(**fields, descriptors=descriptors, extractor=dictionary.extractor)


def word_of(point: NDArray[Any], dictionary: Dictionary) -> NDArray[Any]:
    """The word a point looks like: any, but always the same."""
    return (point * 2_654_435_761 >> 7) % dictionary.num_words


def look_at_wall(world: Map, number: int, dictionary: Dictionary) -> bytes:
    """A release taken between two cameras somewhere along the wall."""
    generator = np.random.default_rng(number)
    center = generator.uniform(1.0, world.num_images - 1.0)
    _, seen, pixels = look_at(world.points, center)
    chosen = np.sort(generator.permutation(len(seen))[:NUM_KEYPOINTS])
    seen, pixels = seen[chosen], pixels[chosen]
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
