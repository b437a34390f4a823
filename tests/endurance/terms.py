"""SIGTERM under 64 clients: whatever the server says it has answered must have arrived whole.

    python tests/endurance/terms.py --count 50 [--clients 64] [--workers 2]

Every answer carries its request's id, and the server logs the id of every request that it has
answered. After each round the two lists are compared, acknowledged maps are looked for in the
store, and the exit is checked: code 0, within the grace time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.lines import Cut, Line, Reply
from endurance.rig import Findings, ForkedServer, Server, make_key, make_world, scratch

_FRESH_EVERY = 10
_GOOD = range(200, 300)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--grace", type=float, default=20.0, help="the server's grace_seconds")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    with scratch() as folder:
        trial = Trial(folder, options)
        asyncio.run(trial.run())
        return trial.findings.close()


class Trial:
    """Rounds of load, SIGTERM and accounts."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._options = options
        self._random = random.Random(options.seed)
        self._world = make_world(folder)
        self._tar = self._world.tar()
        self._store = folder / "store"
        self._key = make_key(self._store)
        self._room = ""
        self._ending = math.inf  # when SIGTERM was sent
        self._uploaded: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._exits: list[float] = []
        self.findings = Findings()

    async def run(self) -> None:
        count = self._options.count
        for number in range(count):
            await self._round(number)
            if (number + 1) % max(1, count // 10) == 0:
                shown = ", ".join(f"{self._counts[name]} {name}" for name in sorted(self._counts))
                print(f"{number + 1} SIGTERMs: {shown}", flush=True)
        print(
            f"from SIGTERM to exit: median {sorted(self._exits)[count // 2]:.2f} s, longest "
            f"{max(self._exits):.2f} s, grace time {self._options.grace:g} s"
        )

    async def _round(self, number: int) -> None:
        several = self._options.workers > 1
        kind = Server if several or number % _FRESH_EVERY == 0 else ForkedServer
        server = kind(
            self._store,
            self._world.words,
            workers=self._options.workers,
            grace_seconds=self._options.grace,
            deadline_seconds=self._options.grace,
        )
        self._ending = math.inf
        try:
            await asyncio.to_thread(server.wait_ready)
            logged_before = server.log.stat().st_size
            received = await self._prepare(server)
            clients = asyncio.gather(
                *(self._client(server, i, received) for i in range(self._options.clients))
            )
            await asyncio.sleep(0.1 + 0.9 * self._random.random())
            start = self._ending = time.monotonic()
            server.signal(signal.SIGTERM)
            code = await asyncio.to_thread(server.wait)
            self._exits.append(time.monotonic() - start)
            await clients
        finally:
            server.kill()
        self.findings.require(code == 0, f"exit code {code}")
        self.findings.require(
            self._exits[-1] <= self._options.grace, f"exit after {self._exits[-1]:.1f} s"
        )
        self._compare(_answered(server.log, logged_before), received)

    async def _prepare(self, server: Server) -> set[str]:
        """Look for the maps of the last round; the ids of the requests that took."""
        line = Line(server.url, self._key)
        replies = []
        if not self._room:
            replies.append(await line.ask("POST", "/v1/maps?name=room", self._tar))
            self._room = replies[0].json()["id"]
        replies.append(
            await line.ask("POST", f"/v1/maps/{self._room}/localize", self._world.release)
        )
        for map_id in self._uploaded:
            replies.append(await line.ask("DELETE", f"/v1/maps/{map_id}"))
            self.findings.require(
                replies[-1].status == 204,
                f"an acknowledged map answers {replies[-1].status} after a restart",
            )
        self._uploaded.clear()
        line.close()
        return {reply.headers["x-request-id"] for reply in replies}

    async def _client(self, server: Server, number: int, received: set[str]) -> None:
        """Ask until the server is gone; the first client uploads, another lists, all others ask."""
        line = Line(server.url, self._key)
        while True:
            asked = time.monotonic()
            try:
                if number == 0:
                    name = f"round-{self._random.getrandbits(64):x}"
                    reply = await line.ask("POST", f"/v1/maps?name={name}", self._tar)
                    if reply.status == 201:
                        self._uploaded.add(reply.json()["id"])
                elif number == 1:
                    reply = await line.ask("GET", "/v1/maps")
                else:
                    path = f"/v1/maps/{self._room}/localize"
                    reply = await line.ask("POST", path, self._world.release)
            except Cut as cut:
                self.findings.require(not cut.begun, "an answer was cut")
                if asked < self._ending:
                    self._counts["asked before, cut without answer"] += 1
                return
            received.add(reply.headers.get("x-request-id", ""))
            self._judge(reply)
            if reply.status == 503:
                await asyncio.sleep(0.05)

    def _judge(self, reply: Reply) -> None:
        self._counts[f"× {reply.status}"] += 1
        if reply.status in _GOOD:
            reply.json()
            return
        self.findings.require(reply.status == 503, f"an answer {reply.status}")
        self.findings.require("retry-after" in reply.headers, "a 503 without Retry-After")

    def _compare(self, answered: set[str], received: set[str]) -> None:
        self._counts["answers logged"] += len(answered)
        self._counts["of them received"] += len(answered & received)
        lost = len(answered - received)
        self.findings.require(not lost, f"{lost} answers were logged and never arrived")


def _answered(log: Path, start: int) -> set[str]:
    """Ids of requests with a 2xx answer, logged after that place."""
    with log.open("rb") as file:
        file.seek(start)
        lines = [json.loads(line) for line in file if line.startswith(b"{")]
    return {
        line["request"]
        for line in lines
        if line["event"] == "request" and line["status"] in _GOOD and line["tenant"]
    }


if __name__ == "__main__":
    sys.exit(main())
