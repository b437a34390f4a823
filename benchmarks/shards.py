"""A map in shards on Ray beside the same map in one process: equal answers, their time, and a loss.

    python benchmarks/shards.py [--observations 10000000] [--shards 4] [--queries 20] [--work DIR]
    python benchmarks/shards.py --here [--observations 100000000]

The map is a simulated wall, 2,000 observations an image, words drawn at random, ε = 10 per
descriptor (1 of 16,384 words; positions and their number are not protected). It lies in two stores
that `sfumato serve` and `sfumato serve --on ray` serve, and both are asked by HTTP in turns, one
request after the other. Then two clients ask without a pause while the process that holds one shard
is killed: every answer must be the one from before, or say that a part was not looked at.
With --here there is neither Ray nor HTTP: shards and map in this process, for larger maps.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from benchmarks.localize import EPSILON, NUM_WORDS, long_wall
from benchmarks.measure import parser_of, peak_gib, timed
from benchmarks.wall import CAMERA, look_at

from endurance.rig import Server, make_key
from sfumato.core.randomness import SecureRandom
from sfumato.core.releases import WordRelease
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from sfumato.server.mapping.filing import store_derived
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.own_error import FACT, OwnError
from sfumato.server.shards.sharded_map import ShardedMap
from sfumato.server.shards.stored import shard_map
from sfumato.service.checking import describe
from sfumato.service.storage import Store, new_id

LIMITS = {"max_candidates": 10**9, "max_cpu_seconds": 60, "plan_images": 0, "deadline_seconds": 120}
TENANT = "benchmark"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--observations", type=int, default=10**7)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument(
        "--load-seconds", type=float, default=60.0, help="under load, one is killed"
    )
    parser.add_argument("--work", type=Path, help="where the map is written; removed afterwards")
    parser.add_argument("--here", action="store_true", help="shards in this process, without Ray")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work, prefix="sfumato-shards-") as name:
        folder = Path(name)
        ids = np.arange(NUM_WORDS, dtype=np.float32)[:, None]
        dictionary = Dictionary.from_words(ids, extractor="bench", metric="l2")
        dictionary.save(folder / "words")
        questions = write_map(folder, dictionary, options)
        if options.here:
            compare_here(folder / "map", questions, options)
        else:
            compare_served(folder, questions, options)


def write_map(folder: Path, dictionary: Dictionary, options: argparse.Namespace) -> list[bytes]:
    """The wall in a folder, and releases taken along it."""
    world, point_words = long_wall(options.observations, dictionary)
    facts = {FACT: OwnError(0.01, 0.01, 0.001, 40).as_facts()}  # descriptors here tell nothing
    world = replace(world, facts=facts)
    world.save(folder / "map")
    store_derived(Map.load(folder / "map", verify=False))
    print(f"{world}", flush=True)
    generator = np.random.default_rng(0)
    mechanism = SubsetMechanism(EPSILON, 1, dictionary)
    questions = []
    for _ in range(options.queries):
        _, seen, pixels = look_at(world.points, generator.uniform(2, world.num_images - 6))
        wrong = generator.integers(0, NUM_WORDS, len(seen))
        true = np.where(generator.random(len(seen)) < 0.5, point_words[seen], wrong)
        release = WordRelease(
            keypoints=(pixels + generator.normal(0, 0.3, pixels.shape)).clip(0, 479 + 160),
            image_size=(640, 480),
            extractor="bench",
            camera=CAMERA,
            words=mechanism.draw(true.astype(np.uint32), SecureRandom()),
            num_words=NUM_WORDS,
            dictionary=dictionary.fingerprint,
            epsilon=EPSILON,
        )
        questions.append(release.to_bytes())
    return questions


def compare_here(path: Path, questions: list[bytes], options: argparse.Namespace) -> None:
    """The map in one piece and in shards, asked in turns by one process."""
    world = Map.load(path, verify=False)
    _, spent = timed(lambda: shard_map(world, path.parent / "shards", options.shards))
    print(f"cut into {options.shards} shards in{spent}", flush=True)
    sharded = ShardedMap.load(path.parent / "shards", verify=False)
    seconds: dict[str, list[float]] = {"whole": [], "shards": []}
    equal = found = 0
    for turn in range(2):  # the first is not counted: files come from the disk
        for body in questions:
            release = WordRelease.from_bytes(body)
            assert isinstance(release, WordRelease)
            start = time.perf_counter()
            one = localize(release, world)
            middle = time.perf_counter()
            other = localize(release, sharded)
            if turn:
                seconds["whole"].append(middle - start)
                seconds["shards"].append(time.perf_counter() - middle)
                equal += repr(one) == repr(other)
                found += one.localized
    tell(seconds, equal, found, len(questions))
    print(f"peak {peak_gib():.1f} GiB")


def compare_served(folder: Path, questions: list[bytes], options: argparse.Namespace) -> None:
    """Two services, one after the other in turns for each question, then a loss under load."""
    stores = {name: folder / name for name in ("whole", "shards")}
    keys, ids = {}, {}
    for name, store in stores.items():
        keys[name] = make_key(store, TENANT, "owner")
        ids[name] = put_map(store, folder / "map", keys[name])
    more: dict[str, Any] = {"on": "ray", "shards": options.shards, "shard_observations": 1}
    servers = {
        "whole": Server(stores["whole"], folder / "words", **LIMITS),
        "shards": Server(stores["shards"], folder / "words", **LIMITS, **more),
    }
    try:
        for server in servers.values():
            server.wait_ready()
        print("both services are ready", flush=True)
        clients = {
            name: httpx.Client(
                base_url=f"{server.url}/v1/maps/{ids[name]}",
                headers={"Authorization": f"Bearer {keys[name]}"},
                timeout=300,
            )
            for name, server in servers.items()
        }
        answers = ask_in_turns(clients, questions)
        kill_under_load(clients["shards"], questions, answers, options)
    finally:
        for server in servers.values():
            server.signal(signal.SIGTERM)
        for server in servers.values():
            server.wait()


def ask_in_turns(clients: dict[str, httpx.Client], questions: list[bytes]) -> list[dict[str, Any]]:
    seconds: dict[str, list[float]] = {name: [] for name in clients}
    answers: list[dict[str, Any]] = []
    equal = found = 0
    for turn in range(2):
        for body in questions:
            told = {}
            for name, client in clients.items():
                start = time.perf_counter()
                told[name] = client.post("/localize", content=body)
                if turn:
                    seconds[name].append(time.perf_counter() - start)
            if turn:
                equal += told["whole"].text == told["shards"].text
                found += told["whole"].json()["localized"]
                answers.append(told["whole"].json())
    tell(seconds, equal, found, len(questions))
    return answers


def tell(seconds: dict[str, list[float]], equal: int, found: int, count: int) -> None:
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    print(f"equal answers: {equal} of {count}; localized: {found}")
    for name, value in middle.items():
        print(f"{name:8} p50 {1e3 * value:8.1f} ms   slowest {1e3 * max(seconds[name]):8.1f} ms")
    print(f"shards / whole by p50: {middle['shards'] / middle['whole']:.2f} (at most 2 wanted)")


def kill_under_load(
    client: httpx.Client,
    questions: list[bytes],
    answers: list[dict[str, Any]],
    options: argparse.Namespace,
) -> None:
    """Two clients ask on while one shard dies; what the answers were, and when they are whole."""
    counted: Counter[str] = Counter()
    whole_again: list[float] = []
    wrong: list[str] = []
    start = time.monotonic()
    killed = start + 5

    def ask(first: int) -> None:
        number = first
        while time.monotonic() < start + options.load_seconds:
            expected = answers[number % len(questions)]
            reply = client.post("/localize", content=questions[number % len(questions)])
            told = reply.json()
            now = time.monotonic()
            if reply.status_code == 200 and told == expected:
                counted["the same"] += 1
                if now > killed and counted["said to be partial"] + counted["503"]:
                    whole_again.append(now - killed)
            elif reply.status_code == 200 and told["searched"] < 1:
                counted["said to be partial"] += 1
                whole_again.clear()
            elif reply.status_code == 503:
                counted["503"] += 1
                whole_again.clear()
            else:
                wrong.append(json.dumps(told)[:200])
            number += 1

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(max(killed - time.monotonic(), 0))
    os.kill(pid_of_shard(1), signal.SIGKILL)
    for thread in threads:
        thread.join()
    print(f"a shard killed under load: {dict(counted)}, wrong: {len(wrong)}")
    after = f"{min(whole_again):.0f} s after the loss" if whole_again else "never"
    print(f"whole answers again {after}, without a restart of the service")
    for one in wrong[:3]:
        print(one)


def pid_of_shard(number: int) -> int:
    """The process that holds a shard, by the name that Ray gives it."""
    name = f"ray::ServeReplica:sfumato-shard-{number}:"
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(name.encode()):
                return int(path.parent.name)
        except OSError:
            continue
    raise SystemExit(f"no process {name} runs here")


def put_map(store: Path, folder: Path, key: str) -> str:
    """Take a map into a store as an upload does; a tar of gigabytes is not what is measured."""
    opened = Store(store)
    try:
        with opened.draft() as draft:
            shutil.copytree(folder, draft, dirs_exist_ok=True)
            world = Map.load(draft, verify=False)
            info = describe(world, draft, accepts=["words"], created="2026-01-01T00:00:00Z")
            map_id = new_id()
            owner = opened.keys.find(key)
            assert owner is not None
            opened.commit(draft, owner, map_id, "wall", info)
    finally:
        opened.database.close()
    return map_id


if __name__ == "__main__":
    main()
