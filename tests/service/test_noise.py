"""What one tenant does, however much it is, does not stop another."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from computations import slow_localize, under_way
from endurance.lines import ask_once
from endurance.rig import ForkedServer, forked_server, make_key, make_world
from served import Serve, refused
from sfumato.core.releases import WordRelease
from sfumato.service import compute, query_routes
from sfumato.service.rates import Rates
from synthetic import CAMERA, DICTIONARY


def dense_release(count: int, words_each: int) -> bytes:
    """Many keypoints in one spot with many words each: all that a map has, many times over."""
    generator = np.random.default_rng(0)
    words = np.argsort(generator.random((count, DICTIONARY.num_words)), axis=1)[:, :words_each]
    return WordRelease(
        keypoints=generator.uniform(200, 240, (count, 2)).astype(np.float32),
        words=np.sort(words, axis=1).astype(np.uint32),
        num_words=DICTIONARY.num_words,
        dictionary=DICTIONARY.fingerprint,
        epsilon=1.0,
        image_size=(640, 480),
        extractor="tiny",
        camera=CAMERA,
    ).to_bytes()


def test_a_tenant_that_fills_every_place_and_the_line_does_not_stop_another(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(parallel=2, queue_size=4)
    monkeypatch.setattr(compute, "LONG_SECONDS", 0.05)
    body = served.world.release
    loud_map = served.map_id()
    answer = served.client.post(
        "/v1/maps",
        params={"name": "hall"},
        headers=served.stranger,
        content=served.world.tar(),
    )
    quiet_map = answer.json()["id"]
    with monkeypatch.context() as patch:
        patch.setattr(query_routes, "localize_release", slow_localize)
        store = served.service.store.folder
        with under_way(store, lambda: served.localize(loud_map, body)):
            asking = [
                threading.Thread(target=served.localize, args=(loud_map, body)) for _ in range(12)
            ]
            for thread in asking:
                thread.start()
            while served.service.metrics.waiting._value.get() < 6:
                time.sleep(0.005)
            patch.undo()
            for _ in range(5):
                answer = served.localize(quiet_map, body, headers=served.stranger)
                assert answer.status_code == 200, answer.text
        for thread in asking:
            thread.join()


def test_work_that_takes_too_long_is_really_stopped(serve: Serve) -> None:
    served = serve(max_cpu_seconds=1, parallel=1)
    answer = served.localize(served.map_id(), dense_release(20_000, 40))
    refused(answer, 413, "computing")
    assert served.localize(served.map_id("again"), served.world.release).status_code == 200


def test_work_that_takes_too_much_memory_is_refused(serve: Serve) -> None:
    served = serve(max_request_memory_bytes=16 << 20, parallel=1)
    room = served.map_id()
    refused(served.localize(room, dense_release(20_000, 100)), 413, "16 MiB of memory")
    assert served.localize(room, served.world.release).status_code == 200


def test_a_costly_request_counts_as_several(serve: Serve) -> None:
    served = serve(rate_per_minute=0.6, rate_burst=10, candidates_per_request=1000)
    room = served.map_id()
    body = dense_release(400, 40)  # far more than 10 · 1000 candidates
    assert served.localize(room, body).status_code == 200
    late = served.localize(room, body)
    refused(late, 429, "times a minute")
    assert int(late.headers["retry-after"]) > 1000
    own = served.client.get("/v1/maps", headers=served.owner)
    assert own.status_code == 200  # another key of the same tenant


def test_what_is_owed_is_paid_before_more_is_computed(tmp_path: Path) -> None:
    moment = [100.0]
    rates = Rates(tmp_path / "rates.db", per_minute=60, burst=10, clock=lambda: moment[0])
    rates.charge("k", 30)  # into debt: −20
    with pytest.raises(Exception, match="so much computing") as caught:
        rates.charge("k", 1)
    assert caught.value.headers["Retry-After"] == "21"  # type: ignore[attr-defined]
    moment[0] += 20.0
    rates.charge("k", 0)
    with pytest.raises(Exception, match="times a minute"):
        rates.spend("k")
    moment[0] += 1.0
    rates.spend("k")
    rates.close()
    free = Rates(":memory:", per_minute=0, burst=1)
    free.charge("k", 1e9)
    free.spend("k")
    free.close()


def test_the_work_stops_when_the_client_hangs_up(tmp_path: Path) -> None:
    with forked_server(tmp_path, parallel=1, max_cpu_seconds=600) as (world, url, key):
        made = asyncio.run(ask_once(url, key, "POST", "/v1/maps?name=a", world.tar()))
        room = made.json()["id"]
        body = dense_release(20_000, 150)
        host, port = url.removeprefix("http://").split(":")
        head = (
            f"POST /v1/maps/{room}/localize HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        with socket.create_connection((host, int(port))) as line:
            line.sendall(head + body)
            while not waiting(url, key):
                time.sleep(0.01)
        while waiting(url, key):
            time.sleep(0.01)


def waiting(url: str, key: str) -> int:
    text = asyncio.run(ask_once(url, key, "GET", "/metrics")).body.decode()
    (row,) = [line for line in text.splitlines() if line.startswith("sfumato_queue_jobs ")]
    return int(float(row.split()[1]))


def test_a_long_header_is_refused_however_it_arrives(tmp_path: Path) -> None:
    with forked_server(tmp_path) as (_, url, key):
        host, port = url.removeprefix("http://").split(":")
        for long in ("X-Long: " + "x" * 40_000, f"X-Long: {30 * 'x'}\r\n" * 1000 + "X-End: x"):
            with socket.create_connection((host, int(port))) as line:
                line.sendall(f"GET /healthz HTTP/1.1\r\nHost: x\r\n{long}\r\n\r\n".encode())
                with suppress(ConnectionResetError):  # closed on what it did not want to read
                    answer = line.recv(4096)
                    assert answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400")), answer[:100]
        path = "/healthz?" + "x" * 17_000
        assert asyncio.run(ask_once(url, key, "GET", path)).status in (400, 431)
        assert asyncio.run(ask_once(url, key, "GET", "/healthz?" + "x" * 8000)).status == 200


def test_one_address_cannot_take_every_connection(tmp_path: Path) -> None:
    world, store = make_world(tmp_path), tmp_path / "store"
    key = make_key(store)
    server = ForkedServer(
        store, world.words, max_connections_per_address=3, header_seconds=600, host="127.0.0.1"
    )
    try:
        url = server.wait_ready()
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        silent = [
            socket.create_connection(address, source_address=("127.0.0.2", 0)) for _ in range(3)
        ]
        with socket.create_connection(address, source_address=("127.0.0.2", 0)) as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert line.recv(4096).startswith(b"HTTP/1.1 503")
        assert asyncio.run(ask_once(url, key, "GET", "/v1/maps")).status == 200
        for one in silent:
            one.close()
    finally:
        server.kill()


def test_a_server_is_ready_when_the_first_request_finds_everything_loaded(serve: Serve) -> None:
    served = serve()
    while not served.service.queue.is_warm:
        answer = served.client.get("/readyz")
        assert answer.status_code == 503 or served.service.queue.is_warm
    assert served.client.get("/readyz").status_code == 200
