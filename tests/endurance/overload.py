"""64 clients at twice the capacity: answers or 429 and 503, and memory that does not grow.

    python tests/endurance/overload.py --seconds 120 [--clients 64]

All clients together ask twice as often as the server has answered in its best moments so far, each
by its own clock. A quarter of them share a key whose rate limit is a fraction of the capacity; the
others have one each.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

from endurance.rig import run_in_loop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.lines import Cut, Line, ask_once
from endurance.rig import (
    Findings,
    ForkedServer,
    Server,
    World,
    make_key,
    make_world,
)

_ENOUGH = 50  # looks at memory before its growth is judged
_ALLOWED_GROWTH = 24 << 20  # of the last quarter's memory over the first quarter's


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=64)
    return run_in_loop(parser, words, _run)


async def _run(folder: Path, options: argparse.Namespace, findings: Findings) -> None:
    world = make_world(folder)
    store = folder / "store"
    greedy = make_key(store)
    keys = [make_key(store, role="query") if i % 4 else greedy for i in range(options.clients)]
    server = ForkedServer(store, world.words)
    try:
        url = await asyncio.to_thread(server.wait_ready)
        reply = await ask_once(url, greedy, "POST", "/v1/maps?name=room", world.tar())
        path = f"/v1/maps/{reply.json()['id']}/localize"
        seconds = max(2.0, options.seconds / 20)
        rate = await _ask_without_pause(url, greedy, path, world, seconds)
    finally:
        server.kill()
    server = ForkedServer(store, world.words, rate_per_minute=rate / 4 * 60)
    try:
        await asyncio.to_thread(server.wait_ready)
        load = Load(server.url, path, world, findings)
        await load.run(keys, 2 * rate, options.seconds, server)
        await asyncio.sleep(1.0)
        reply = await ask_once(server.url, keys[1], "POST", path, world.release)
        findings.require(reply.status == 200, f"afterwards a request was answered {reply.status}")
    finally:
        server.kill()


async def _ask_without_pause(url: str, key: str, path: str, world: World, seconds: float) -> float:
    """How many answers four clients get, per second."""
    end, count = time.monotonic() + seconds, 0

    async def ask() -> None:
        nonlocal count
        line = Line(url, key)
        while time.monotonic() < end:
            count += (await line.ask("POST", path, world.release)).status == 200
        line.close()

    await asyncio.gather(*(ask() for _ in range(4)))
    return max(count, 1) / seconds


class Load:
    """Clients that ask at a given rate, and what they were told."""

    def __init__(self, url: str, path: str, world: World, findings: Findings) -> None:
        self._url, self._path, self._world, self._findings = url, path, world, findings
        self._statuses: Counter[int] = Counter()
        self._waits: list[float] = []
        self._interval = 1.0  # between two questions of a client

    async def run(self, keys: list[str], rate: float, seconds: float, server: Server) -> None:
        start = now = time.monotonic()
        self._interval = len(keys) / rate
        clients = asyncio.gather(
            *(
                self._client(key, start + self._interval * i / len(keys), start + seconds)
                for i, key in enumerate(keys)
            )
        )
        memory: list[int] = []
        best = 0.0
        while now < start + seconds:
            memory.append(server.memory())
            answered, before = len(self._waits), now
            await asyncio.sleep(min(2.0, seconds / 20))
            now = time.monotonic()
            best = max(best, (len(self._waits) - answered) / (now - before))
            self._interval = len(keys) / max(2 * best, rate)
        await clients
        total = sum(self._statuses.values())
        print(
            f"{len(keys)} clients, {seconds:g} s: asked {total / seconds:.1f} times a second, "
            f"answered {len(self._waits) / seconds:.1f}, at best {best:.1f} times; "
            + ", ".join(f"{count} × {status}" for status, count in sorted(self._statuses.items()))
        )
        waits = sorted(self._waits)
        if waits:
            late = waits[len(waits) * 99 // 100]
            print(f"200: p50 {statistics.median(waits):.3f} s, p99 {late:.3f} s")
        quarter = max(1, len(memory) // 4)
        first, last = max(memory[:quarter]), max(memory[-quarter:])
        print(f"memory: first quarter {first / 2**20:.0f} MiB, last quarter {last / 2**20:.0f} MiB")
        if len(memory) >= _ENOUGH:  # a short run sees the server warm up, and nothing else
            self._findings.require(last - first < _ALLOWED_GROWTH, "memory grows under overload")

    async def _client(self, key: str, moment: float, end: float) -> None:
        line = Line(self._url, key)
        while (now := time.monotonic()) < end:
            if moment > now:
                await asyncio.sleep(min(moment, end) - now)
                continue
            moment = max(moment + self._interval, now)
            try:
                reply = await line.ask("POST", self._path, self._world.release)
            except Cut as cut:
                self._findings.add(f"a connection was {cut}")
                continue
            self._statuses[reply.status] += 1
            if reply.status == 200:
                self._waits.append(time.monotonic() - now)
                continue
            self._findings.require(
                reply.status in (429, 503), f"an answer {reply.status}: {reply.body!r}"
            )
            self._findings.require(
                reply.headers.get("retry-after", "").isdecimal(),
                f"a {reply.status} without Retry-After",
            )
        line.close()


if __name__ == "__main__":
    sys.exit(main())
