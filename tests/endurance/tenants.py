"""Is a foreign map answered exactly like a missing one: the same bytes, and the same work?

    python tests/endurance/tenants.py --count 2000

Every route with a map's id × {own, foreign, missing, a path out of the store}. Answers to foreign
and missing ids must be equal to the byte. Then both are asked many times in random order; the
medians of their times are printed, never judged.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.lines import Line, Reply, ask_once
from endurance.rig import Findings, ForkedServer, World, make_key, make_world, scratch
from sfumato.service.storage import new_id

MISSING = "A" * 22
OUTSIDE = ("..", "%2e%2e", "..%2f..%2fmetadata.db", "%00", "..%5c..", "maps%2f" + MISSING)
ROUTES = (
    ("GET", "/v1/maps/{}"),
    ("DELETE", "/v1/maps/{}"),
    ("POST", "/v1/maps/{}/localize"),
    ("GET", "/v1/maps/{}/plan"),
    ("GET", "/v1/maps/{}/plan?epsilon=8"),
    ("GET", "/v1/maps/{}/points"),
)
_OF_EACH_ANSWER = ("x-request-id", "date")


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=2000, help="timed requests per route and id")
    options = parser.parse_args(words)
    findings = Findings()
    with scratch() as folder:
        asyncio.run(_run(folder, options.count, findings))
    return findings.close()


async def _run(folder: Path, count: int, findings: Findings) -> None:
    world = make_world(folder)
    store = folder / "store"
    keys = {
        "owner": make_key(store, "a"),
        "query": make_key(store, "a", "query"),
    }
    stranger = make_key(store, "b")
    server = ForkedServer(store, world.words)
    try:
        url = await asyncio.to_thread(server.wait_ready)
        theirs = await ask_once(url, stranger, "POST", "/v1/maps?name=room", world.tar())
        foreign = theirs.json()["id"]
        for role, key in keys.items():
            line = Line(url, key)
            await _compare(line, role, foreign, world, findings)
            line.close()
        line = Line(url, keys["owner"])
        reply = await line.ask("GET", "/v1/maps")
        findings.require(foreign.encode() not in reply.body, "a list names a foreign map")
        reply = await line.ask("POST", "/v1/maps?name=room", world.tar())
        findings.require(reply.status == 201, "a name of another tenant is taken")
        reply = await ask_once(url, stranger, "GET", f"/v1/maps/{foreign}")
        findings.require(reply.status == 200, "a stranger could harm a map")
        for method, route in ROUTES:
            await _time(line, method, route, foreign, world, count)
        line.close()
    finally:
        server.kill()


async def _compare(line: Line, role: str, foreign: str, world: World, findings: Findings) -> None:
    for method, route in ROUTES:
        for body in (b"", world.release, b"not a release"):
            missing = await line.ask(method, route.format(MISSING), body)
            other = await line.ask(method, route.format(foreign), body)
            wanted = 403 if role == "query" and method == "DELETE" else 404
            place = f"{role}: {method} {route}"
            findings.require(missing.status == wanted, f"{place} answers {missing.status}")
            findings.require(_told(missing) == _told(other), f"{place} tells foreign from missing")
            for path in OUTSIDE:
                reply = await line.ask(method, route.format(path), body)
                findings.require(
                    reply.status in (403, 404, 405), f"{place} with {path} answers {reply.status}"
                )
    print(f"{role}: {len(ROUTES)} routes × 3 bodies × (foreign, missing, {len(OUTSIDE)} outside)")


def _told(reply: Reply) -> tuple[object, ...]:
    kept = {name: value for name, value in reply.headers.items() if name not in _OF_EACH_ANSWER}
    return reply.status, kept, reply.body


async def _time(
    line: Line, method: str, route: str, foreign: str, world: World, count: int
) -> None:
    """In random order, with two missing ids: their difference is what chance alone does."""
    body = world.release if method == "POST" else b""
    missing, another = new_id(), new_id()
    waits: dict[str, list[float]] = {foreign: [], missing: [], another: []}
    order = [*waits] * count
    random.Random(0).shuffle(order)
    for map_id in order:
        start = time.perf_counter()
        await line.ask(method, route.format(map_id), body)
        waits[map_id].append(time.perf_counter() - start)
    first, second, third = (1e6 * statistics.median(waits[name]) for name in waits)
    print(
        f"{method} {route}: foreign {first:.0f} µs, missing {second:.0f} µs, another missing "
        f"{third:.0f} µs; foreign − missing {first - (second + third) / 2:+.0f} µs, between the "
        f"missing {second - third:+.0f} µs",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
