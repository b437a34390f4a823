"""What all endurance programs share: a small world, and a server in a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import served
from endurance.lines import PATIENCE
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import PlainRelease
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting
from sfumato.service.database import Database
from sfumato.service.keys import Keys
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

#: Loopback only, any free port, no rate limit, no plans.
QUIET = {
    "host": "127.0.0.1",
    "port": "0",
    "rate_per_minute": "0",
    "min_free_bytes": "0",
    "plan_images": "0",
}


@dataclass(frozen=True)
class World(served.World):
    """A stored map with its dictionary, and releases of one view of it."""

    subspaces: bytes


def make_world(folder: Path, *, num_points: int = 300, num_views: int = 3) -> World:
    """A room of a few hundred points, localized in milliseconds."""
    room = make_room(num_points)
    make_map(room, MAPPING_POSES[:num_views]).save(folder / "map")
    DICTIONARY.save(folder / "words")
    features, _ = room.look(pose_at(0.7, 0.1, 0.8, turn_deg=5), seed=0, clutter=50)
    rng = SecureRandom()
    words = SubsetMechanism(8.0, 1, DICTIONARY).release(features, rng=rng, camera=CAMERA)
    lifting = SubspaceLifting(strategy="random", dimension=2)
    plain = PlainRelease(
        keypoints=features.keypoints,
        descriptors=features.descriptors,
        image_size=features.image_size,
        extractor="tiny",
        camera=CAMERA,
    )
    return World(
        folder / "map",
        folder / "words",
        words.to_bytes(),
        plain.to_bytes(),
        lifting.release(features, rng=rng, camera=CAMERA).to_bytes(),
    )


def run_in_loop(
    parser: argparse.ArgumentParser,
    words: list[str] | None,
    run: Callable[[Path, argparse.Namespace, Findings], Coroutine[Any, Any, None]],
) -> int:
    """Parse options, run in a folder that is removed afterwards; 1 if something was found."""
    options = parser.parse_args(words)
    findings = Findings()
    with scratch() as folder:
        asyncio.run(run(folder, options, findings))
    return findings.close()


@contextmanager
def scratch(work: Path | None = None) -> Iterator[Path]:
    """A folder for one run; kept if it was named."""
    if work is not None:
        work.mkdir(parents=True)
        yield work
        return
    with tempfile.TemporaryDirectory(prefix="sfumato-endurance-") as folder:
        yield Path(folder)


def make_key(store: Path, tenant: str = "me", role: str = "owner") -> str:
    database = Database(store)
    try:
        return Keys(database).create(tenant, role)[1]
    finally:
        database.close()


class NotStarted(Exception):
    """A server that ended before it was ready; the text is the end of its log."""


class Server:
    """`sfumato serve`, started as the command. Settings are given by name: workers=2."""

    def __init__(self, store: Path, words: Path, **settings: object) -> None:
        self.log = store.with_name(f"{store.name}.log")
        values = {**QUIET, **settings, "store": store, "dictionaries": words}
        self.settings = {name: str(value) for name, value in values.items()}
        self.url = ""
        self._begin()

    def _begin(self) -> None:
        named = {f"SFUMATO_{name.upper()}": value for name, value in self.settings.items()}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from sfumato.cli.app import main; main()", "serve"],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **named},
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> str:
        """Block until requests are answered; the address."""
        assert self._process.stdout is not None
        found = re.search(r"http://\S+", self._process.stdout.readline())
        if found is None:
            raise NotStarted(self.log.read_text()[-8000:])
        self.url = found[0]
        return self.url

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        """Block until it has ended; the exit code, negative for a signal."""
        code = self._process.wait(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()

    def pids(self) -> list[int]:
        """The first process, its workers, and those that compute for them."""
        return _family(self.pid)

    def memory(self) -> int:
        """What all its processes hold together, in bytes."""
        return sum(held_bytes(pid) for pid in self.pids())


def _family(pid: int) -> list[int]:
    found = [pid]
    with suppress(FileNotFoundError):  # it may end while we look
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += _family(int(child))
    return found


def held_bytes(pid: int) -> int:
    """Proportional set size: a page that several processes share counts by its share."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    return 0


class ForkedServer(Server):
    """The same code, forked from a process that has imported it; one worker only."""

    def _begin(self) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["endurance.warm"])
        with _found_by_children(Path(__file__).parents[1]):
            forkserver.ensure_running()
        self._ready, theirs = context.Pipe(duplex=False)
        self._child = context.Process(target=_serve, args=(self.settings, self.log, theirs))
        self._child.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self._child.pid is not None
        return self._child.pid

    def wait_ready(self) -> str:
        try:
            self.url = self._ready.recv()
        except EOFError:
            raise NotStarted(self.log.read_text()[-8000:]) from None
        return self.url

    def signal(self, number: int) -> None:
        if self._child.is_alive():
            os.kill(self.pid, number)

    def wait(self) -> int:
        self._child.join(PATIENCE)
        code = self._child.exitcode
        assert code is not None
        self._ready.close()
        return code


@contextmanager
def _found_by_children(folder: Path) -> Iterator[None]:
    """The fork server imports what it preloads from PYTHONPATH, not from our sys.path."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder.resolve()), *filter(None, [before])])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _serve(settings: dict[str, str], log: Path, ready: Connection[Any, Any]) -> None:
    from sfumato.service.run import serve
    from sfumato.service.settings import Settings

    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    chosen = Settings().updated(settings, source="the program")
    serve(chosen, lambda host, port: ready.send(f"http://{host}:{port}"))


def cpu_seconds(pids: list[int]) -> float:
    """What these processes have computed so far."""
    total = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


class Findings:
    """Promises that were broken; a program that has any exits with 1."""

    def __init__(self) -> None:
        self._seen: list[str] = []
        self._start = time.monotonic()

    def add(self, sentence: str) -> None:
        self._seen.append(sentence)
        print(f"BROKEN: {sentence}", flush=True)

    def require(self, condition: bool, sentence: str) -> None:
        if not condition:
            self.add(sentence)

    def close(self) -> int:
        """The exit code, after the last line."""
        seconds = time.monotonic() - self._start
        verdict = f"{len(self._seen)} promises broken" if self._seen else "every promise was kept"
        print(f"{verdict}; {seconds:.0f} s", flush=True)
        return int(bool(self._seen))


@contextmanager
def forked_server(folder: Path, **settings: object) -> Iterator[tuple[World, str, str]]:
    """A small world, the address of a server that knows its words, and an owner's key."""
    world, store = make_world(folder), folder / "store"
    key = make_key(store)
    server = ForkedServer(store, world.words, **settings)
    try:
        yield world, server.wait_ready(), key
    finally:
        server.kill()
