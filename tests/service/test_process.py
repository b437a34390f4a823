"""The real command in processes of its own: started, stopped, killed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from served import World, bearer
from sfumato.service.database import Database
from sfumato.service.keys import Keys

TIMEOUT = 300


class Running:
    """`sfumato serve` on a free port."""

    def __init__(self, store: Path, words: Path, **settings: object) -> None:
        environment = {key: value for key, value in os.environ.items() if "SFUMATO" not in key}
        environment |= {"SFUMATO_RATE_PER_MINUTE": "0", "SFUMATO_PLAN_IMAGES": "0"}
        environment |= {f"SFUMATO_{key.upper()}": str(value) for key, value in settings.items()}
        command = [str(Path(sys.executable).with_name("sfumato")), "serve", "--json"]
        command += ["--store", str(store), "--dictionary", str(words), "--port", "0"]
        self.log = store.parent / "log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.ready = json.loads(line)
        self.url: str = self.ready["url"]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(TIMEOUT)
        if self.process.stdout is not None:
            self.process.stdout.close()


class Start:
    def __init__(self, world: World, store: Path) -> None:
        self.world, self.store = world, store
        self._all: list[Running] = []
        keys = Keys(Database(store))
        self.owner = bearer(keys.create("a", "owner")[1])

    def __call__(self, **settings: object) -> Running:
        running = Running(self.store, self.world.words, **settings)
        self._all.append(running)
        return running

    def close(self) -> None:
        for running in self._all:
            running.close()

    def upload(self, running: Running, name: str = "room") -> str:
        answer = httpx.post(
            f"{running.url}/v1/maps",
            params={"name": name},
            headers=self.owner,
            content=self.world.tar(),
            timeout=TIMEOUT,
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def localize(self, running: Running, map_id: str) -> httpx.Response:
        url = f"{running.url}/v1/maps/{map_id}/localize"
        return httpx.post(url, headers=self.owner, content=self.world.release, timeout=TIMEOUT)

    def names(self, running: Running) -> list[str]:
        answer = httpx.get(f"{running.url}/v1/maps", headers=self.owner, timeout=TIMEOUT)
        return [entry["name"] for entry in answer.json()["maps"]]


@pytest.fixture
def start(world: World, tmp_path: Path) -> Iterator[Start]:
    made = Start(world, tmp_path / "store")
    yield made
    made.close()


def test_requests_under_way_are_answered_after_sigterm(start: Start) -> None:
    running = start()
    room = start.upload(running)
    assert start.localize(running, room).json()["localized"] is True
    answers: list[Any] = []
    half = threading.Event()

    def slow_body() -> Iterator[bytes]:
        yield start.world.release[:200]
        assert half.wait(TIMEOUT)
        yield start.world.release[200:]

    def ask() -> None:
        url = f"{running.url}/v1/maps/{room}/localize"
        length = {"Content-Length": str(len(start.world.release))}
        answers.append(
            httpx.post(url, headers=start.owner | length, content=slow_body(), timeout=TIMEOUT)
        )

    asking = threading.Thread(target=ask)
    asking.start()
    while _in_flight(running) < 2:  # the slow one, and the question itself
        time.sleep(0.01)
    running.process.send_signal(signal.SIGTERM)
    port = running.ready["port"]
    while _listens(port):
        time.sleep(0.01)
    half.set()
    asking.join()
    assert answers[0].json()["localized"] is True
    assert running.process.wait(TIMEOUT) == 0


def _in_flight(running: Running) -> float:
    shown = httpx.get(f"{running.url}/metrics", timeout=TIMEOUT).text
    return float(shown.split("\nsfumato_requests_in_flight ")[1].split()[0])


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT).close()
    except OSError:
        return False
    return True


def test_a_kill_in_the_middle_of_an_upload_leaves_the_acknowledged_map_only(start: Start) -> None:
    running = start()
    room = start.upload(running)
    body = start.world.tar()
    head = f"POST /v1/maps?name=half HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    head += f"Authorization: {start.owner['Authorization']}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.ready["port"]), timeout=TIMEOUT) as line:
        line.sendall(head.encode() + body[: len(body) // 2])
        while not list((start.store / "incoming").iterdir()):
            time.sleep(0.01)
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
    again = start()
    assert start.names(again) == ["room"]
    assert not list((start.store / "incoming").iterdir())
    assert start.localize(again, room).json()["localized"] is True
    assert again.stop() == 0


def test_several_workers_share_maps_limits_and_metrics(start: Start) -> None:
    running = start(workers=2)
    assert running.ready["workers"] == 2
    room = start.upload(running)
    for _ in range(4):  # each on a connection of its own: both workers get some
        assert start.localize(running, room).json()["localized"] is True
    shown = httpx.get(f"{running.url}/metrics", timeout=TIMEOUT).text
    assert 'sfumato_localizations_total{kind="words",localized="true"} 4.0' in shown
    assert running.stop() == 0


def test_workers_end_when_their_first_process_is_killed(start: Start) -> None:
    running = start(workers=2)
    start.upload(running)
    left = (start.store / "run").readlink()
    assert list(left.glob("pymp-*"))  # the sockets of computing processes
    assert running.stop(signal.SIGKILL) == -signal.SIGKILL
    again = start()  # gets the store's lock only when all old workers are gone
    assert not left.exists()
    assert start.names(again) == ["room"]
    assert not _listens(running.ready["port"])


def test_slow_sockets_are_closed_with_408(start: Start) -> None:
    running = start(header_seconds=0.2, body_seconds=0.2)
    room = start.upload(running)
    heads = [
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n",
        f"POST /v1/maps/{room}/localize HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n"
        f"Authorization: {start.owner['Authorization']}\r\n\r\nS".encode(),
    ]
    for head in heads:
        address = ("127.0.0.1", running.ready["port"])
        with socket.create_connection(address, timeout=TIMEOUT) as line:
            line.sendall(head)
            received = b""
            while piece := line.recv(65_536):
                received += piece
        assert received.startswith(b"HTTP/1.1 408")
        assert b'"too-slow"' in received
