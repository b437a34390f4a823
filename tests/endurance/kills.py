"""SIGKILL at random moments of uploads, deletes and queries; then look at what is left.

    python tests/endurance/kills.py --count 500 [--workers 2]

After every restart: what was acknowledged is there, whole, and answers; what was deleted is gone;
what was cut is there whole or not at all; nothing lies about. One start in five is killed before
it is ready. After one kill in five the store also loses a part (its database, the database's
content or log, or maps/ for a while): the service must refuse to make it worse, and what the docs
tell the operator to do must bring every acknowledged map back. With one worker, all but every tenth
start are forked from a process that has done the imports.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import random
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.lines import Cut, Line, Reply
from endurance.losses import LOSSES, Operator
from endurance.rig import (
    Findings,
    ForkedServer,
    NotStarted,
    Server,
    make_key,
    make_world,
    scratch,
)

_KEPT = 4  # more maps than this are not needed; the rest is deleted
_START_SHARE, _FRESH_EVERY = 0.2, 10


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--span", type=float, default=0.8, help="latest moment of a kill, seconds")
    parser.add_argument("--loss-every", type=int, default=5, help="kills from loss to loss")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, help="a new folder that is kept")
    options = parser.parse_args(words)
    with scratch(options.work) as folder:
        trial = Trial(folder, options)
        try:
            asyncio.run(trial.run())
        except NotStarted as error:
            trial.findings.add(f"the server did not start: {error}")
        return trial.findings.close()


@dataclass
class Entry:
    """A map as the client knows it: sent, kept, leaving or gone."""

    state: str = "sent"
    id: str = ""


class Trial:
    """One store, and a client that remembers what it was promised."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self._options = options
        self._random = random.Random(options.seed)
        self._world = make_world(folder)
        self._tar = self._world.tar()
        self._files = _digests(self._world.folder)
        self._store = folder / "store"
        self._key = make_key(self._store)
        self._entries: dict[str, Entry] = {}
        self._names = (f"map {number}" for number in itertools.count())
        self._counts: Counter[str] = Counter()
        self.findings = Findings()
        self._operator = Operator(
            self._store, lambda: self._begin(1), self.findings.require, self._random
        )

    async def run(self) -> None:
        count = self._options.count
        for number in range(count):
            await self._round(number)
            if (number + 1) % self._options.loss_every == 0:
                await self._lose(number // self._options.loss_every)
            if (number + 1) % max(1, count // 20) == 0:
                print(f"{number + 1} kills: {_listed(self._counts)}", flush=True)
        server = self._begin(count)
        await asyncio.to_thread(server.wait_ready)
        await self._look(server)
        server.kill()

    async def _lose(self, number: int) -> None:
        """Every kind of loss in turn, right after a map was acknowledged and the service killed."""
        server = self._begin(1)
        try:
            await asyncio.to_thread(server.wait_ready)
            await self._look(server)
            line = Line(server.url, self._key)
            while not await self._upload_one(line, 0.0):
                await asyncio.sleep(0.01)
            line.close()
        finally:
            server.kill()
        lose = LOSSES[number % len(LOSSES)]
        self._key = await asyncio.to_thread(self._operator.suffer, lose, self._key)
        self._counts[f"× {lose.__name__.replace('_', ' ')}"] += 1
        server = self._begin(1)
        await asyncio.to_thread(server.wait_ready)
        try:
            await self._look(server)
        finally:
            server.kill()

    def _begin(self, number: int) -> Server:
        several = self._options.workers > 1
        kind = Server if several or number % _FRESH_EVERY == 0 else ForkedServer
        return kind(
            self._store,
            self._world.words,
            workers=self._options.workers,
            plan_images=1,  # a plan of each map is under way, too
            plan_epsilons=8.0,
        )

    async def _round(self, number: int) -> None:
        server = self._begin(number)
        moment = self._options.span * self._random.random()
        try:
            if self._random.random() < _START_SHARE:
                await asyncio.sleep(moment)
                self._counts["killed while starting"] += 1
                return
            await asyncio.to_thread(server.wait_ready)
            await self._look(server)
            load = asyncio.gather(
                self._upload(server, 0.0),
                self._upload(server, 0.02),
                self._delete(server),
                self._query(server),
                self._query(server),
            )
            await asyncio.sleep(moment)
            server.kill()
            await load
        finally:
            server.kill()

    async def _look(self, server: Server) -> None:
        """The promises, right after a start."""
        line = Line(server.url, self._key)
        listed = {
            one["name"]: one["id"] for one in (await line.ask("GET", "/v1/maps")).json()["maps"]
        }
        for name, entry in self._entries.items():
            there = name in listed
            if entry.state == "kept":
                self.findings.require(there, f"{name} was acknowledged and is lost")
            if entry.state == "gone":
                self.findings.require(not there, f"{name} was deleted and is back")
            if entry.state == "sent":
                self._counts["cut uploads stored" if there else "cut uploads dropped"] += 1
            if entry.state == "leaving":
                self._counts["cut deletes undone" if there else "cut deletes done"] += 1
            entry.state = "kept" if there else "gone"
            self.findings.require(
                not there or entry.id in ("", listed[name]), f"{name} has changed its id"
            )
            entry.id = listed.get(name, entry.id)
        self._look_at_disk(set(listed.values()))
        for name, map_id in listed.items():
            reply = await line.ask("POST", f"/v1/maps/{map_id}/localize", self._world.release)
            good = reply.status == 200 and reply.json()["localized"]
            self.findings.require(good, f"{name} does not answer: {reply.status} {reply.body!r}")
        gone = [entry.id for entry in self._entries.values() if entry.state == "gone" and entry.id]
        for map_id in gone[-3:]:
            reply = await line.ask("GET", f"/v1/maps/{map_id}")
            self.findings.require(reply.status == 404, f"a deleted map answers {reply.status}")
        line.close()
        self._counts["looks"] += 1

    def _look_at_disk(self, ids: set[str]) -> None:
        folders = {path.name for path in (self._store / "maps").iterdir()}
        self.findings.require(folders == ids, f"{len(folders)} folders, {len(ids)} maps")
        for map_id in folders & ids:
            whole = _digests(self._store / "maps" / map_id).items() >= self._files.items()
            self.findings.require(whole, "a map's files are not what was uploaded")
        for part in ("incoming", "quarantine", "aside"):
            left = len(list((self._store / part).iterdir()))
            self.findings.require(not left, f"{left} things are left in {part}")

    async def _ask(
        self, line: Line, method: str, path: str, body: bytes = b"", *, pause: float = 0.0
    ) -> Reply | None:
        try:
            reply = await line.ask(method, path, body, pause=pause)
        except Cut:
            return None
        busy = reply.status == 503 and "retry-after" in reply.headers
        self.findings.require(reply.status < 500 or busy, f"{method} answered {reply.status}")
        return reply

    async def _upload(self, server: Server, pause: float) -> None:
        line = Line(server.url, self._key)
        while (done := await self._upload_one(line, pause)) is not None:
            if not done:
                await asyncio.sleep(0.01)

    async def _upload_one(self, line: Line, pause: float) -> bool | None:
        """Whether it was acknowledged; None if the line was cut."""
        name = next(self._names)
        entry = self._entries[name] = Entry()
        path = f"/v1/maps?name={name.replace(' ', '%20')}"
        reply = await self._ask(line, "POST", path, self._tar, pause=pause)
        if reply is None:
            return None
        if reply.status == 201:
            entry.state, entry.id = "kept", reply.json()["id"]
            self._counts["uploads"] += 1
        else:
            del self._entries[name]
        return reply.status == 201

    async def _delete(self, server: Server) -> None:
        line = Line(server.url, self._key)
        while True:
            kept = [entry for entry in self._entries.values() if entry.state == "kept"]
            if len(kept) <= _KEPT:
                if (await self._ask(line, "GET", "/v1/maps")) is None:
                    return
                await asyncio.sleep(0.01)
                continue
            entry = self._random.choice(kept)
            entry.state = "leaving"
            reply = await self._ask(line, "DELETE", f"/v1/maps/{entry.id}")
            if reply is None:
                return
            self.findings.require(reply.status == 204, f"a delete answered {reply.status}")
            entry.state = "gone"
            self._counts["deletes"] += 1

    async def _query(self, server: Server) -> None:
        line = Line(server.url, self._key)
        while True:
            known = [
                entry for entry in self._entries.values() if entry.id and entry.state != "gone"
            ]
            if not known:
                await asyncio.sleep(0.01)
                if (await self._ask(line, "GET", "/healthz")) is None:
                    return
                continue
            entry = self._random.choice(known)
            path = f"/v1/maps/{entry.id}/localize"
            reply = await self._ask(line, "POST", path, self._world.release)
            if reply is None:
                return
            stays = entry.state == "kept"
            self.findings.require(
                reply.status == 200 or not stays or reply.status == 503,
                f"a query answered {reply.status}",
            )
            self._counts["queries"] += 1


def _digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.iterdir() if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[name]} {name}" for name in sorted(counts))


if __name__ == "__main__":
    sys.exit(main())
