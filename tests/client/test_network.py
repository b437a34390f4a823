"""Networks that fail: the same bytes again, within limits, and never for ever."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import sfumato as sf
from pretend_server import CAMERA, KEY, PHOTO, URL, Pretend, answer, make_client
from sfumato.client import AsyncClient, Client
from sfumato.client.errors import BadAnswer, Refused, Unreachable
from sfumato.core.errors import InvalidInput


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits are noted, not made."""
    noted: list[float] = []
    monkeypatch.setattr("sfumato.client.steps.time.sleep", noted.append)
    return noted


def busy(status: int, seconds: str | None) -> httpx.Response:
    headers = {} if seconds is None else {"retry-after": seconds}
    return httpx.Response(
        status, json={"error": "busy", "detail": "the queue is full."}, headers=headers
    )


def test_every_try_sends_the_same_bytes(tmp_path: Path, naps: list[float]) -> None:
    server = Pretend(httpx.ConnectError("refused"), busy(503, "7"), httpx.ReadTimeout("late"))
    ledger = sf.Ledger(tmp_path / "ledger")
    with make_client(server, ledger=ledger) as client:
        assert client.localize(PHOTO, CAMERA).localized
    assert len(server.asked) == 4
    assert len(set(server.asked)) == 1
    assert ledger.spent().pictures == 1
    assert naps[1] == 7
    assert 0 < naps[0] < naps[2] < 2


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_tries_end(status: int, naps: list[float]) -> None:
    server = Pretend(*(busy(status, "1") for _ in range(9)))
    with make_client(server, tries=3) as client, pytest.raises(Unreachable) as told:
        client.localize(PHOTO, CAMERA)
    assert len(server.asked) == 3
    assert "in 3 of 3 tries" in str(told.value)
    assert "the queue is full" in str(told.value)
    assert naps == [1, 1]


def test_a_wait_beyond_the_deadline_is_not_made(naps: list[float]) -> None:
    server = Pretend(busy(429, "900"))
    with make_client(server) as client, pytest.raises(Unreachable, match="come back after 900 s"):
        client.localize(PHOTO, CAMERA)
    assert len(server.asked) == 1
    assert not naps


@pytest.mark.parametrize("seconds", [None, "soon", "-5", "٣", "9" * 40, "1.5"])
def test_waits_that_are_no_whole_seconds_become_our_own(
    seconds: str | None, naps: list[float]
) -> None:
    if seconds == "٣":
        response = httpx.Response(503, headers=[(b"retry-after", "٣".encode())], content=b"")
    else:
        response = busy(503, seconds)
    with make_client(Pretend(response)) as client:
        assert client.localize(PHOTO, CAMERA).localized
    assert 0 < naps[0] < 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 500, 507, 301, 308])
def test_a_refusal_is_not_repeated_and_a_redirect_not_followed(
    status: int, naps: list[float]
) -> None:
    body = {"error": "no", "detail": "because\x1b[2J of this."}
    headers = {"location": "https://elsewhere.example/", "x-request-id": "r-17"}
    server = Pretend(httpx.Response(status, json=body, headers=headers))
    with make_client(server) as client, pytest.raises(Refused) as told:
        client.localize(PHOTO, CAMERA)
    assert told.value.status == status
    assert len(server.asked) == 1
    assert not naps
    assert "\x1b" not in str(told.value)
    if status >= 400:
        assert "because\\x1b[2J of this; request r-17" in str(told.value)
        assert told.value.code == "no"
    else:
        assert "not followed" in str(told.value)


def test_patience_must_make_sense() -> None:
    for wrong in ({"timeout": 0}, {"deadline": float("nan")}, {"tries": 0}, {"deadline": 1e9}):
        with pytest.raises(InvalidInput):
            Client(URL, KEY, **wrong)


@contextmanager
def raw_server(script: Any) -> Iterator[str]:
    """A real socket on this machine; `script` gets each connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(60)
                    try:
                        script(connection, stop)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            stop.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(60)
            assert not thread.is_alive()


def drip(text: bytes) -> Any:
    """Sends a head, then one byte after the other until the client hangs up."""

    def script(connection: socket.socket, stop: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(text)
        while not stop.wait(0.02):
            connection.sendall(b"x")

    return script


DRIPS = [
    b"HTTP/1.1 200 OK\r\nX-Endless: ",
    b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n",
]


@pytest.mark.parametrize("head", DRIPS, ids=["header", "body"])
def test_a_server_that_drips_runs_into_the_deadline(head: bytes) -> None:
    # Every byte comes well within the timeout of one operation; only the deadline ends it.
    with (
        raw_server(drip(head)) as url,
        Client(url, KEY, timeout=60, deadline=0.5, tries=1) as client,
        pytest.raises(Unreachable, match="too long"),
    ):
        client.maps()


@pytest.mark.parametrize("head", DRIPS, ids=["header", "body"])
def test_a_dripping_server_does_not_hold_the_async_client_either(head: bytes) -> None:
    async def ask(url: str) -> None:
        async with AsyncClient(url, KEY, timeout=60, deadline=0.5, tries=1) as client:
            await client.maps()

    with raw_server(drip(head)) as url, pytest.raises(Unreachable, match="too long"):
        asyncio.run(ask(url))


def test_an_endless_answer_is_left_unread() -> None:
    def flood(connection: socket.socket, stop: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not stop.is_set():
            connection.sendall(bytes(1 << 16))

    with (
        raw_server(flood) as url,
        Client(url, KEY, tries=1) as client,
        pytest.raises(BadAnswer, match="longer than"),
    ):
        client.maps()


def test_bytes_that_are_no_http_are_told() -> None:
    def talk(connection: socket.socket, stop: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(b"220 mail.example ESMTP\r\n")

    with (
        raw_server(talk) as url,
        Client(url, KEY, tries=1) as client,
        pytest.raises(Unreachable) as told,
    ):
        client.maps()
    assert "\n" not in str(told.value)


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(connection: socket.socket, stop: threading.Event) -> None:
        connection.recv(65536)
        body = b'{"maps": []}'
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        connection.sendall(head + body)

    monkeypatch.setitem(os.environ, "HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setitem(os.environ, "ALL_PROXY", "http://127.0.0.1:9")
    with raw_server(talk) as url, Client(url, KEY, tries=1) as client:
        assert client.maps() == ()
    assert answer()["localized"]
