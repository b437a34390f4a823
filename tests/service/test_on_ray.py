"""The service on real Ray: the same answers from shards, none that is wrong while one is lost."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from endurance.rig import Server, make_key
from own_cluster import PATIENCE, new_token, own_cluster
from served import World, tar_of
from sfumato.core.wire import decode
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.service.answers import answer_of

pytestmark = pytest.mark.needs("ray")
SHARDS = 2
MARK = "TEST_OF_THE_SERVICE_ON_RAY"


@dataclass(frozen=True)
class OnRay:
    """A service with one map, and what it should answer."""

    server: Server
    http: httpx.Client
    release: bytes
    expected: dict[str, Any]

    def ask(self) -> httpx.Response:
        return self.http.post("localize", content=self.release)


@pytest.fixture(scope="module")
def service(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnRay]:
    folder = tmp_path_factory.mktemp("ray")
    patch = pytest.MonkeyPatch()
    patch.setenv(MARK, str(folder))  # its processes are known by this
    for name, value in new_token().items():
        patch.setenv(name, value)
    with own_cluster() as address:
        patch.setenv("RAY_ADDRESS", address)
        key = make_key(folder / "store")
        server = Server(
            folder / "store",
            world.words,
            on="ray",
            shards=SHARDS,
            shard_observations=1,
            max_replicas=2,
            plan_images=0,
        )
        try:
            url = server.wait_ready()
            headers = {"Authorization": f"Bearer {key}"}
            with httpx.Client(base_url=url, headers=headers, timeout=120) as http:
                made = http.post("/v1/maps?name=room", content=tar_of(world.folder))
                assert made.status_code == 201, made.text
                http.base_url = httpx.URL(f"{url}/v1/maps/{made.json()['id']}/")
                whole = localize(
                    decode(world.release),  # type: ignore[arg-type]
                    Map.load(world.folder),
                    dictionary=Dictionary.load(str(world.words)),
                )
                yield OnRay(server, http, world.release, answer_of(whole).model_dump(mode="json"))
        finally:
            server.signal(signal.SIGTERM)
            assert server.wait() == 0
            patch.undo()


def test_shards_in_the_cluster_answer_as_the_map_in_one_piece(service: OnRay) -> None:
    answer = service.ask()
    assert answer.status_code == 200, answer.text
    assert answer.json() == service.expected
    assert service.expected["localized"]


def test_limits_hold_and_refusals_read_as_ever(service: OnRay) -> None:
    refused = service.http.post("localize", content=service.release[:-1])
    assert (refused.status_code, refused.json()["error"]) == (400, "malformed-release")
    stranger = service.http.post("localize", content=service.release, headers={"Authorization": ""})
    assert stranger.status_code == 401


def test_a_killed_shard_is_told_and_comes_back(service: OnRay) -> None:
    """While it is gone an answer is partial and says so, or a 503; then it is whole again."""
    os.kill(_process_of_shard(1), signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    partial = 0
    while time.monotonic() < end:
        answer = service.ask()
        told = answer.json()
        if answer.status_code == 503:
            assert told["error"] == "map-incomplete"
            assert "could not be looked at" in told["detail"]
            assert int(answer.headers["Retry-After"]) >= 1
            partial += 1
        else:
            assert answer.status_code == 200, answer.text
            assert told["localized"]
            if told["searched"] == 1:
                assert told == service.expected
                if partial or time.monotonic() > end - PATIENCE + 15:
                    break
            else:
                assert "could not be looked at" in told["warning"]
                partial += 1
    assert service.ask().json() == service.expected


def test_a_second_copy_is_started_under_load(service: OnRay) -> None:
    """Two copies of what localizes at most; the answers stay the same."""
    assert len(_processes_of("localizer")) == 1
    end = time.monotonic() + PATIENCE

    def ask() -> set[str]:
        answers = set()
        while len(_processes_of("localizer")) < 2 and time.monotonic() < end:
            answers.add(service.ask().text)
        return answers

    with ThreadPoolExecutor(4) as clients:
        answers = set().union(*(one.result() for one in [clients.submit(ask) for _ in range(4)]))
    assert len(_processes_of("localizer")) == 2
    assert [json.loads(answer) for answer in answers] == [service.expected]


def _process_of_shard(number: int) -> int:
    (found,) = _processes_of(f"shard-{number}")
    return found


def _processes_of(group: str) -> list[int]:
    """By the name that Ray gives its processes; of this test's own cluster."""
    name = f"ray::ServeReplica:sfumato-{group}:".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            mine = f"{MARK}={os.environ[MARK]}".encode() in (path / "environ").read_bytes()
            if mine and (path / "cmdline").read_bytes().startswith(name):
                found.append(int(path.name))
    return found
