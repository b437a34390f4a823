"""Structured mutations of valid releases over HTTP: never a 5xx, and memory that does not grow.

    python tests/endurance/mutations.py --count 10000 [--seed 0]

Fields of the header, lengths, word indices, their order, cameras, positions and descriptors are
changed; three times in four the length is adapted and the checksum repaired, so that the change
gets past them to the code behind.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from endurance.rig import run_in_loop

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.lines import Cut, Line
from endurance.rig import (
    Findings,
    ForkedServer,
    World,
    make_key,
    make_world,
)
from sfumato.core.bits import bit_width, pack_bits, unpack_bits
from sfumato.core.errors import MalformedRelease
from sfumato.core.wire import HEADER, read_header

_LENGTH_AT = 92
_NUMBERS = {"<B": 255, "<I": 2**32 - 1, "<Q": 2**64 - 1}
_FIELDS = (
    ("magic", 0, "<I"),
    ("version", 4, "<B"),
    ("kind", 5, "<B"),
    ("flags", 6, "<B"),
    ("camera", 7, "<B"),
    ("rows", 8, "<I"),
    ("width", 12, "<I"),
    ("height", 16, "<I"),
    ("size a", 20, "<I"),
    ("size b", 24, "<I"),
    ("length", _LENGTH_AT, "<Q"),
)
_DOUBLES = (float("nan"), float("inf"), -float("inf"), 0.0, -1.0, 1e308, 5e-324, -0.0, 1e9)
_ALLOWED_GROWTH = 24 << 20
_WARM_UP = 500

Mutation = Callable[[bytearray, random.Random], bytearray]


def field(data: bytearray, rng: random.Random) -> bytearray:
    """A whole number of the header: a border, a neighbour, or anything."""
    _, offset, form = rng.choice(_FIELDS)
    (old,) = struct.unpack_from(form, data, offset)
    top = _NUMBERS[form]
    new = rng.choice([0, 1, 2, top, top // 2, old + 1, old - 1, old * 2, rng.randint(0, top)])
    struct.pack_into(form, data, offset, max(0, min(new, top)))
    return data


def epsilon(data: bytearray, rng: random.Random) -> bytearray:
    struct.pack_into("<d", data, 28, rng.choice(_DOUBLES))
    return data


def extractor(data: bytearray, rng: random.Random) -> bytearray:
    data[36:60] = rng.choice(
        [
            b"sift".ljust(24, b"\0"),
            bytes(24),
            b"\xff" * 24,
            rng.randbytes(24),
            b"tiny\0x" + bytes(18),
        ]
    )
    return data


def dictionary(data: bytearray, rng: random.Random) -> bytearray:
    data[60:92] = rng.choice([bytes(32), rng.randbytes(32)])
    return data


def camera(data: bytearray, rng: random.Random) -> bytearray:
    """One intrinsic value that no camera has."""
    offset = HEADER.size + 8 * rng.randrange(4)
    struct.pack_into("<d", data, offset, rng.choice(_DOUBLES))
    return data


def no_rows(data: bytearray, _: random.Random) -> bytearray:
    """N = 0, all else as it must be."""
    struct.pack_into("<I", data, 8, 0)
    return data[: HEADER.size + 32] + bytearray(4)


def million_rows(data: bytearray, rng: random.Random) -> bytearray:
    """N = 10⁶ and the length that goes with it; the body has it, or hardly anything."""
    size = 4 * 10**6 + 9 * 10**6 // 8
    struct.pack_into("<I", data, 8, 10**6)
    struct.pack_into("<Q", data, _LENGTH_AT, HEADER.size + 32 + size + 4)
    return data[: HEADER.size + 32] + bytes(size if rng.random() < 0.05 else 64) + bytearray(4)


def words(data: bytearray, rng: random.Random) -> bytearray:
    """Rows of words: twice the same, not sorted, or beyond the dictionary."""
    header = read_header(bytes(data))
    if header.kind != 2:
        return floats(data, rng)
    start = HEADER.size + 32 + 4 * header.rows
    indices = unpack_bits(memoryview(data)[start:-4], header.rows * header.size_b, 9).copy()
    size_b, size_a = rng.choice([(1, 512), (2, 512), (2, 300), (4, 400)])
    rows = len(indices) // size_b
    table = indices[: rows * size_b].reshape(rows, size_b)
    if rng.random() < 0.3:
        table = table.copy()
        table.sort(axis=1)
    head = bytearray(data[:start])
    struct.pack_into("<I", head, 8, rows)
    struct.pack_into("<II", head, 20, size_a, size_b)
    positions = data[HEADER.size + 32 : HEADER.size + 32 + 4 * rows]
    packed = pack_bits(table, bit_width(size_a))
    return head[: HEADER.size + 32] + positions + bytearray(packed) + bytearray(4)


def floats(data: bytearray, rng: random.Random) -> bytearray:
    """NaN, infinity and the like among descriptors or offsets."""
    offset = 4 * rng.randrange((HEADER.size + 32) // 4, (len(data) - 8) // 4)
    struct.pack_into("<f", data, offset, rng.choice([float("nan"), float("inf"), -1e38, 1e-45]))
    return data


def truncated(data: bytearray, rng: random.Random) -> bytearray:
    return data[: rng.randrange(len(data))]


def doubled(data: bytearray, rng: random.Random) -> bytearray:
    return data + data[: rng.choice([1, 4, HEADER.size, len(data)])]


def bits(data: bytearray, rng: random.Random) -> bytearray:
    """Some bits of the body."""
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def unchanged(data: bytearray, _: random.Random) -> bytearray:
    return data


MUTATIONS: tuple[Mutation, ...] = (
    field, field, field, epsilon, extractor, dictionary, camera, no_rows, million_rows, words,
    words, floats, truncated, doubled, bits, bits, unchanged,
)  # fmt: skip


def mutate(world: World, seed: int) -> tuple[str, bytes]:
    """The mutation with this number and its name: the same for every run."""
    rng = random.Random(seed)
    data = bytearray(rng.choice([world.release, world.release, world.plain, world.subspaces]))
    chosen = rng.choices(MUTATIONS, k=rng.choice([1, 1, 1, 2]))
    for mutation in chosen:
        try:
            data = mutation(data, rng)
        except (
            struct.error,
            ValueError,
            IndexError,
            MalformedRelease,
        ):  # the first left too little
            continue
    if rng.random() < 0.75 and len(data) > HEADER.size + 4:
        if chosen[0] not in (field, million_rows) or rng.random() < 0.5:
            struct.pack_into("<Q", data, _LENGTH_AT, len(data))
        struct.pack_into("<I", data, len(data) - 4, zlib.crc32(data[:-4]))
    return chosen[0].__name__, bytes(data)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first mutation")
    return run_in_loop(parser, words, _run)


async def _run(folder: Path, options: argparse.Namespace, findings: Findings) -> None:
    world = make_world(folder, num_points=150)
    store = folder / "store"
    key = make_key(store)
    server = ForkedServer(store, world.words)
    by_status: Counter[int] = Counter()
    by_name: dict[str, Counter[int]] = {}
    before = 0
    try:
        line = Line(await asyncio.to_thread(server.wait_ready), key)
        path = "/v1/maps?name=room&accept=words,plain,subspaces"
        room = (await line.ask("POST", path, world.tar())).json()["id"]
        for number in range(options.count):
            if number == min(_WARM_UP, options.count // 2):
                before = server.memory()
            name, body = mutate(world, options.seed + number)
            try:
                reply = await line.ask("POST", f"/v1/maps/{room}/localize", body)
            except Cut as cut:
                findings.add(f"mutation {options.seed + number} ({name}): {cut}")
                continue
            by_status[reply.status] += 1
            by_name.setdefault(name, Counter())[reply.status] += 1
            if reply.status != 200 and not 400 <= reply.status < 500:
                findings.add(f"mutation {options.seed + number} ({name}): {reply.status}")
            if (number + 1) % 1000 == 0:
                print(f"{number + 1}: {server.memory() / 2**20:.0f} MiB", flush=True)
        after = server.memory()
        reply = await line.ask("POST", f"/v1/maps/{room}/localize", world.release)
        findings.require(reply.status == 200, f"afterwards the release gets {reply.status}")
        line.close()
    finally:
        server.kill()
    for name, counts in (*sorted(by_name.items()), ("together", by_status)):
        shown = ", ".join(f"{count} × {status}" for status, count in sorted(counts.items()))
        print(f"{name:>14}: {shown}")
    print(f"memory: {before / 2**20:.0f} MiB before, {after / 2**20:.0f} MiB after")
    findings.require(after - before < _ALLOWED_GROWTH, "memory grows with bad releases")


if __name__ == "__main__":
    sys.exit(main())
