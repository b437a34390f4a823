"""Sockets: how many, how fast their answers leave, and what they are told at the end."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
from pathlib import Path
from typing import Any

import pytest

from endurance.lines import ask_once
from endurance.rig import forked_server
from sfumato.service.metrics import Metrics
from sfumato.service.protocol import GuardedHttp, guard_connections, raise_file_limit
from sfumato.service.request_guard import RequestGuard
from sfumato.service.run import _bind
from sfumato.service.settings import Settings


def test_one_connection_too_many_is_asked_to_come_back(tmp_path: Path) -> None:
    with forked_server(tmp_path, max_connections=3, header_seconds=600) as (_, url, key):
        host, port = url.removeprefix("http://").split(":")
        idle = [socket.create_connection((host, int(port))) for _ in range(3)]
        refused = asyncio.run(ask_once(url, key, "GET", "/v1/maps"))
        assert refused.status == 503
        assert refused.json()["error"] == "busy"
        assert refused.headers["retry-after"] == "2"
        assert refused.headers["connection"] == "close"
        assert len(refused.headers["x-request-id"]) == 16
        for one in idle:
            one.close()
        while (answer := asyncio.run(ask_once(url, key, "GET", "/v1/maps"))).status == 503:
            pass  # until the server has noticed
        assert answer.status == 200


def test_sockets_leave_room_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [1024, 1024]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    for name in ("seconds", "max_connections", "max_per_address"):
        monkeypatch.setattr(GuardedHttp, name, getattr(GuardedHttp, name))
    guard_connections(Settings())
    assert GuardedHttp.max_connections == 704
    guard_connections(Settings(max_connections=100))
    assert GuardedHttp.max_connections == 100
    limits[0] = resource.RLIM_INFINITY
    guard_connections(Settings())
    assert GuardedHttp.max_connections == 4096


def test_the_limit_of_open_files_is_raised_and_never_lowered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: made.append(limits))
    endless = resource.RLIM_INFINITY
    for found in ((1024, 4096), (1024, endless), (4096, 4096), (endless, endless), (10**6, 10**6)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, found=found: found)
        raise_file_limit()
    assert made == [(4096, 4096), (65_536, endless)]


def test_answers_are_sent_without_delay() -> None:
    with _bind(Settings(port=0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # what asyncio looks at for TCP_NODELAY


def test_a_request_cut_by_the_grace_time_is_told_to_come_back() -> None:
    sent: list[dict[str, Any]] = []

    async def forever(*_: Any) -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async def run() -> None:
        scope = {
            "type": "http",
            "method": "POST",
            "query_string": b"",
            "headers": [(b"content-length", b"9")],
            "state": {},
        }
        task = asyncio.create_task(RequestGuard(forever, metrics=Metrics())(scope, forever, send))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    start, body = sent
    assert start["status"] == 503
    assert (b"retry-after", b"2") in start["headers"]
    assert (b"connection", b"close") in start["headers"]
    assert json.loads(body["body"])["error"] == "busy"


def test_a_body_in_pieces_of_a_byte_is_cut_off(tmp_path: Path) -> None:
    """Parsing costs by the piece: one connection could keep a worker busy for seconds."""
    with forked_server(tmp_path) as (world, url, key):
        host, port = url.removeprefix("http://").split(":")
        head = b"POST /v1/maps/x/localize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        with socket.create_connection((host, int(port))) as line:
            line.sendall(head)
            pieces = b"1\r\nx\r\n" * 10_000_000
            with pytest.raises((ConnectionResetError, BrokenPipeError)):
                line.sendall(pieces)
        made = asyncio.run(ask_once(url, key, "POST", "/v1/maps?name=a", world.tar()))
        path = f"/v1/maps/{made.json()['id']}/localize"
        assert asyncio.run(ask_once(url, key, "POST", path, world.release)).status == 200
