"""The service on real Ray: the same answers from shards, none that is wrong while one is lost."""

from __future__ import annotations

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
from own_cluster import PATIENCE, new_token, own_cluster, wait_until, within
from served import World, tar_of
from sfumato.core.wire import decode
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.service.answers import answer_of

pytestmark = [pytest.mark.needs("ray"), pytest.mark.usefixtures("bounded")]
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

    def is_whole(self, answer: httpx.Response) -> bool:
        """Whether it is that of the whole map; what is missing in any other is said."""
        told = answer.json()
        if answer.status_code == 503:
            assert told["error"] in ("map-incomplete", "busy"), answer.text
            assert told["error"] == "busy" or "could not be looked at" in told["detail"]
            assert int(answer.headers["Retry-After"]) >= 1
            return False
        assert answer.status_code == 200, answer.text
        assert told["localized"]
        if told["searched"] < 1:
            assert "could not be looked at" in told["warning"]
            return False
        assert told == self.expected
        return True

    def ask_until_whole(self) -> None:
        """A shard that needs longer than it has, on a busy machine, is left out and told."""
        wait_until(lambda: self.is_whole(self.ask()))


@pytest.fixture(scope="module")
def service(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnRay]:
    folder = tmp_path_factory.mktemp("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, str(folder))  # its processes are known by this
        for name, value in new_token().items():
            patch.setenv(name, value)
        with own_cluster() as made:
            patch.setenv("RAY_ADDRESS", made.address)
            yield from _served(world, folder)


def _served(world: World, folder: Path) -> Iterator[OnRay]:
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
        with within():
            url = server.wait_ready()
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=url, headers=headers, timeout=PATIENCE) as http:
            made = http.post("/v1/maps?name=room", content=tar_of(world.folder))
            assert made.status_code == 201, made.text
            http.base_url = httpx.URL(f"{url}/v1/maps/{made.json()['id']}/")
            whole = localize(
                decode(world.release),  # type: ignore[arg-type]
                Map.load(world.folder),
                dictionary=Dictionary.load(str(world.words)),
            )
            yield OnRay(server, http, world.release, answer_of(whole).model_dump(mode="json"))
        server.signal(signal.SIGTERM)
        assert server.wait() == 0
    finally:
        server.kill()


def test_shards_in_the_cluster_answer_as_the_map_in_one_piece(service: OnRay) -> None:
    service.ask_until_whole()
    assert service.expected["localized"]


def test_limits_hold_and_refusals_read_as_ever(service: OnRay) -> None:
    refused = service.http.post("localize", content=service.release[:-1])
    assert (refused.status_code, refused.json()["error"]) == (400, "malformed-release")
    stranger = service.http.post("localize", content=service.release, headers={"Authorization": ""})
    assert stranger.status_code == 401


def test_a_killed_shard_is_told_and_comes_back(service: OnRay) -> None:
    """While it is gone an answer is partial and says so, or a 503; then it is whole again."""
    before = _processes_of("shard-1")
    for process in before:
        os.kill(process, signal.SIGKILL)

    def is_back() -> bool:
        service.is_whole(service.ask())
        return bool(set(_processes_of("shard-1")) - set(before))

    wait_until(is_back)
    service.ask_until_whole()


def test_a_second_copy_is_started_under_load(service: OnRay) -> None:
    """Two copies of what localizes at most; the answers stay the same."""
    wait_until(lambda: len(_processes_of("localizer")) == 1)
    end = time.monotonic() + PATIENCE

    def ask() -> bool:
        while len(_processes_of("localizer")) < 2:
            assert time.monotonic() < end
            service.is_whole(service.ask())
        return True

    with ThreadPoolExecutor(4) as clients:
        assert all(one.result() for one in [clients.submit(ask) for _ in range(4)])
    service.ask_until_whole()


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
