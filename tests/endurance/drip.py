"""A healthy client beside 200 sockets that send or read almost nothing.

    python tests/endurance/drip.py --sockets 200 --requests 300

The slow ones belong to another tenant and are of five kinds: silent, a header byte by byte, a
release byte by byte, a map byte by byte, and an answer that is never read. Whichever is closed is
opened again. The healthy client asks one question after the other: alone, beside them, alone.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from endurance.rig import run_in_loop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.lines import Cut, Line, ask_once
from endurance.rig import Findings, ForkedServer, make_key, make_world
from sfumato.dictionary import Dictionary

_DRIP_SECONDS, _REOPEN_SECONDS = 1.0, 5.0
_KINDS = ("silent", "header", "release", "map", "answer")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sockets", type=int, default=200)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument(
        "--settle", type=float, default=15.0, help="seconds of dripping before it counts"
    )
    parser.add_argument("--kinds", nargs="+", choices=_KINDS, default=_KINDS)
    return run_in_loop(parser, words, _run)


async def _run(folder: Path, options: argparse.Namespace, findings: Findings) -> None:
    world = make_world(folder)
    store = folder / "store"
    key, other = make_key(store), make_key(store, "slow")
    server = ForkedServer(store, Path(f"{world.words},bsds-16k"))
    try:
        url = await asyncio.to_thread(server.wait_ready)
        line = Line(url, key)
        info = (await line.ask("POST", "/v1/maps?name=room", world.tar())).json()
        path = f"/v1/maps/{info['id']}/localize"
        theirs = (await ask_once(url, other, "POST", "/v1/maps?name=room", world.tar())).json()

        async def ask() -> list[float]:
            return await _healthy(line, path, world.release, options.requests, findings)

        before = await ask()
        memory = server.memory()
        drips = Drips(url, other, theirs["id"], Dictionary.load("bsds-16k").fingerprint)
        tasks = [
            asyncio.create_task(
                drips.keep_open(options.kinds[i % len(options.kinds)], world.release)
            )
            for i in range(options.sockets)
        ]
        await asyncio.sleep(options.settle)
        beside = await ask()
        reply = await line.ask("POST", "/v1/maps?name=hall", world.tar())
        findings.require(
            reply.status == 201, f"an upload beside slow ones is answered {reply.status}"
        )
        memory_beside = server.memory()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        after = await ask()
        line.close()
    finally:
        server.kill()
    print(f"{options.sockets} slow sockets, opened {drips.opened} times; told: {dict(drips.told)}")
    for name, waits in (("alone", before), (f"beside {options.sockets}", beside), ("alone", after)):
        if waits:
            print(
                f"{name:>12}: {len(waits)} answers, p50 {1e3 * statistics.median(waits):.1f} ms, "
                f"p90 {1e3 * sorted(waits)[len(waits) * 9 // 10]:.1f} ms"
            )
    print(f"memory: {memory / 2**20:.0f} MiB alone, {memory_beside / 2**20:.0f} MiB beside")


async def _healthy(
    line: Line, path: str, release: bytes, count: int, findings: Findings
) -> list[float]:
    waits = []
    for _ in range(count):
        start = time.monotonic()
        try:
            reply = await line.ask("POST", path, release)
        except Cut as cut:
            findings.add(f"a healthy request was {cut}")
            continue
        waits.append(time.monotonic() - start)
        good = reply.status == 200 and reply.json()["localized"]
        findings.require(good, f"a healthy request was answered {reply.status}")
    return waits


class Drips:
    """Sockets that hold on to what they get."""

    def __init__(self, url: str, key: str, room: str, fingerprint: str) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname, parts.port)
        host = f"Host: endurance\r\nAuthorization: Bearer {key}\r\n"
        post = f"POST /v1/maps/{room}/localize HTTP/1.1\r\n{host}"
        upload = f"POST /v1/maps?name=slow HTTP/1.1\r\n{host}"
        self._heads = {
            "silent": b"",
            "header": b"",
            "release": f"{post}Content-Length: 5000\r\n\r\n".encode(),
            "map": f"{upload}Content-Length: 90000\r\n\r\n".encode(),
            "answer": f"GET /v1/dictionaries/{fingerprint} HTTP/1.1\r\n{host}\r\n".encode() * 3,
        }
        self._dripped_header = f"{post}X-Slow: {'z' * 4000}".encode()
        self.opened = 0
        self.told: Counter[str] = Counter()

    async def keep_open(self, kind: str, release: bytes) -> None:
        body = {"release": release, "header": self._dripped_header, "map": bytes(5000)}
        while True:
            with suppress(OSError):
                await self._hold(kind, body.get(kind, b""))
            await asyncio.sleep(_REOPEN_SECONDS)

    async def _hold(self, kind: str, body: bytes) -> None:
        plain = socket.socket()
        plain.setblocking(False)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.get_running_loop().sock_connect(plain, self._place)
        reader, writer = await asyncio.open_connection(sock=plain, limit=1024)
        self.opened += 1
        try:
            writer.write(self._heads[kind])
            if kind == "answer":
                await asyncio.sleep(3600)
            position = 0
            while True:
                if position < len(body):
                    writer.write(body[position : position + 1])
                    position += 1
                with suppress(TimeoutError):
                    told = await asyncio.wait_for(reader.read(64), _DRIP_SECONDS)
                    self.told[told[9:12].decode() or "closed"] += 1
                    return
        finally:
            writer.close()


if __name__ == "__main__":
    sys.exit(main())
