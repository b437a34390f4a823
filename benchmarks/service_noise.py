"""Another tenant does its worst: part of benchmarks/service.py.

The loud tenant keeps 36 connections busy with the costliest releases known, without a rate limit:
20,000 keypoints with six words of 1,024 each, spread over the picture or crowded into one spot.
Before, between and after that the quiet tenant asks alone, so that both meet the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import Counter
from pathlib import Path

import numpy as np

from endurance.lines import Line, ask_once
from endurance.rig import Server, make_key
from served import tar_of
from sfumato.core.releases import WordRelease
from sfumato.core.types import Camera
from sfumato.dictionary import Dictionary

CAMERA = Camera("PINHOLE", 640, 480, (800.0, 800.0, 320.0, 240.0))
NUM_KEYPOINTS, NUM_WORDS, WORDS_EACH = 20_000, 1_024, 6
CONNECTIONS, TURNS = 36, 3


def worst_releases(dictionary: Dictionary) -> list[bytes]:
    """Spread out, and crowded."""
    made: list[bytes] = []
    for low, high in (((0, 0), (639, 479)), ((200, 200), (240, 240))):
        generator = np.random.default_rng(len(made))
        order = np.argsort(generator.random((NUM_KEYPOINTS, NUM_WORDS)), axis=1)
        release = WordRelease(
            keypoints=generator.uniform(low, high, (NUM_KEYPOINTS, 2)).astype(np.float32),
            words=np.sort(order[:, :WORDS_EACH], axis=1).astype(np.uint32),
            num_words=NUM_WORDS,
            dictionary=dictionary.fingerprint_at(NUM_WORDS),
            epsilon=1.0,
            image_size=(640, 480),
            extractor=dictionary.extractor,
            camera=CAMERA,
        )
        made.append(release.to_bytes())
    return made


async def beside_noise(
    stored: Path, honest: list[bytes], worst: list[bytes], folder: Path, options: argparse.Namespace
) -> None:
    """Waiting times of the quiet tenant alone and beside the loud one, and the memory held."""
    store = folder / "noise-store"
    keys = {tenant: make_key(store, tenant) for tenant in ("quiet", "loud")}
    server = Server(store, Path(options.dictionary), plan_images=0)
    try:
        url = await asyncio.to_thread(server.wait_ready)
        paths = {}
        for tenant, key in keys.items():
            reply = await ask_once(url, key, "POST", "/v1/maps?name=map", tar_of(stored))
            assert reply.status == 201, reply.body
            paths[tenant] = f"/v1/maps/{reply.json()['id']}/localize"
        quiet = Asking(url, keys["quiet"], paths["quiet"], honest)
        loud = Asking(url, keys["loud"], paths["loud"], worst)
        span = options.seconds / TURNS
        await quiet.ask(options.clients, 2.0, [])
        alone: list[float] = []
        beside: list[float] = []
        peak = 0
        for _ in range(TURNS):
            await quiet.ask(options.clients, span, alone)
            noise = asyncio.create_task(loud.ask(CONNECTIONS, 2.0 + span, []))
            await asyncio.sleep(2.0)
            watching = asyncio.create_task(highest(server, span))
            await quiet.ask(options.clients, span, beside)
            peak = max(peak, await watching)
            await noise
        print(
            f"\na loud tenant, {CONNECTIONS} connections of releases with {NUM_KEYPOINTS:,} "
            f"keypoints × {WORDS_EACH} of {NUM_WORDS:,} words; {options.clients} quiet clients"
        )
        figures = [percentiles(waits) for waits in (alone, beside)]
        for name, waits, (middle, high) in zip(
            ("quiet, alone", "quiet, beside"), (alone, beside), figures, strict=True
        ):
            print(f"{name:>22}: {len(waits):>5} answers, p50 {middle:.0f} ms, p99 {high:.0f} ms")
        print(f"{'ratio of p99':>22}: {figures[1][1] / figures[0][1]:.2f} (≤ 3 wanted)")
        print(f"{'statuses':>22}: quiet {dict(quiet.statuses)}, loud {dict(loud.statuses)}")
        print(f"{'memory':>22}: at most {peak / 2**20:,.0f} MiB in all processes together")
    finally:
        server.kill()


class Asking:
    """Clients of one tenant that ask without pause."""

    def __init__(self, url: str, key: str, path: str, bodies: list[bytes]) -> None:
        self._url, self._key, self._path, self._bodies = url, key, path, bodies
        self.statuses: Counter[int] = Counter()

    async def ask(self, clients: int, seconds: float, waits: list[float]) -> None:
        end = time.perf_counter() + seconds

        async def one(number: int) -> None:
            line = Line(self._url, self._key)
            while (begin := time.perf_counter()) < end:
                body = self._bodies[number % len(self._bodies)]
                reply = await line.ask("POST", self._path, body)
                self.statuses[reply.status] += 1
                waits.append(time.perf_counter() - begin)
                number += clients
            line.close()

        await asyncio.gather(*(one(number) for number in range(clients)))


async def highest(server: Server, seconds: float) -> int:
    """The most memory that all processes held together, looked at twice a second."""
    peak, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        peak = max(peak, server.memory())
        await asyncio.sleep(0.5)
    return peak


def percentiles(waits: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile, in milliseconds."""
    low, high = np.percentile(waits, [50, 99])
    return 1e3 * float(low), 1e3 * float(high)
