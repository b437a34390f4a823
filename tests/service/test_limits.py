"""Rates, slow bodies, settings, logs: what keeps a service standing."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from served import Serve, Served
from sfumato.core.errors import InvalidInput
from sfumato.service import request_guard
from sfumato.service.bodies import pieces
from sfumato.service.errors import ServiceError
from sfumato.service.logs import JsonLines
from sfumato.service.rates import Rates
from sfumato.service.settings import Settings, from_environment


def test_a_key_may_ask_so_often_and_no_more_however_many_workers_there_are(tmp_path: Path) -> None:
    moment = [100.0]
    workers = [
        Rates(tmp_path / "rates.db", per_minute=60, burst=3, clock=lambda: moment[0])
        for _ in range(2)
    ]
    for turn in range(3):
        workers[turn % 2].spend("k")
    with pytest.raises(ServiceError) as refused:
        workers[1].spend("k")
    assert refused.value.status == 429
    assert refused.value.headers["Retry-After"] == "1"
    workers[0].spend("another")
    moment[0] += 1.0
    workers[0].spend("k")
    with pytest.raises(ServiceError):
        workers[1].spend("k")
    moment[0] += 1000.0
    for _ in range(3):
        workers[0].spend("k")
    with pytest.raises(ServiceError):
        workers[0].spend("k")
    for worker in workers:
        worker.close()


def test_the_rate_holds_for_every_route_of_a_key(serve: Serve) -> None:
    served = serve(rate_per_minute=0.001, rate_burst=2)
    for _ in range(2):
        assert served.client.get("/v1/maps", headers=served.query).status_code == 200
    refused = served.client.get("/v1/maps", headers=served.query)
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 1000
    assert served.client.get("/v1/maps", headers=served.stranger).status_code == 200
    assert served.client.get("/healthz").status_code == 200


def script(*steps: dict[str, Any]) -> Callable[[], Awaitable[dict[str, Any]]]:
    """A client that sends these messages and then nothing, for ever."""
    left = list(steps)

    async def receive() -> dict[str, Any]:
        if not left:
            await asyncio.Event().wait()
        return left.pop(0)

    return receive


def test_a_body_that_stops_coming_ends_with_408() -> None:
    settings = Settings(body_seconds=0.05, body_bytes_per_second=1e6)
    drip = script(*({"type": "http.request", "body": b"x", "more_body": True},) * 3)

    async def read() -> None:
        async for _ in pieces(drip, 100, settings, what="a release"):
            pass

    with pytest.raises(ServiceError) as refused:
        asyncio.run(read())
    assert (refused.value.status, refused.value.code) == (408, "too-slow")


def test_a_refused_body_is_read_on_for_a_moment_so_that_the_answer_arrives(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_guard, "_LINGER_SECONDS", 0.05)
    steps = ({"type": "http.request", "body": bytes(1000), "more_body": True},) * 3
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/maps",
        "raw_path": b"/v1/maps",
        "query_string": b"name=a",
        "headers": [(b"content-length", b"9000")],
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
    }
    served.client.run(served.app(scope, script(*steps), send))
    start, body, end = said
    assert start["status"] == 401
    assert (b"connection", b"close") in start["headers"]
    assert json.loads(body["body"])["error"] == "unauthorized"
    assert (body["more_body"], end["body"]) == (True, b"")


def test_what_nobody_expected_is_a_500_that_tells_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("secret coordinates 12.5 13.5")

    monkeypatch.setattr(served.service.store, "of_tenant", broken)
    with caplog.at_level(logging.INFO, logger="sfumato.service"):
        answer = served.client.get("/v1/maps", headers=served.owner)
    assert answer.status_code == 500
    assert answer.json()["error"] == "internal"
    written = "".join(JsonLines().format(record) for record in caplog.records)
    assert "RuntimeError" in written
    assert "secret" not in written + answer.text


def test_logs_say_what_happened_and_nothing_that_was_in_it(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        room = served.map_id("hidden-name")
        served.localize(room, served.world.release)
        served.client.get(f"/v1/maps/{room}?token=hidden-token", headers=served.stranger)
    own = [record for record in caplog.records if not record.name.startswith("http")]
    lines = [JsonLines().format(record) for record in own]  # the test's own client logs, too
    entry = next(json.loads(line) for line in lines if "localize" in line)
    assert entry["route"] == "/v1/maps/{id}/localize"
    assert (entry["method"], entry["status"], entry["tenant"]) == ("POST", 200, "a")
    assert set(entry) == {
        *("time", "level", "event", "request", "method", "route", "status", "ms", "tenant"),
    }
    everything = "".join(lines)
    secret = served.owner["Authorization"].rpartition("_")[2]
    for word in (room, "hidden", secret, "sfk_", "view-"):
        assert word not in everything


def test_an_error_of_the_web_server_is_logged_without_its_message() -> None:
    try:
        raise ValueError("payload")
    except ValueError as error:
        trace = (type(error), error, error.__traceback__)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "x", 1, "Exception\n", (), trace)
    entry = json.loads(JsonLines().format(record))
    assert entry["error"] == "ValueError"
    assert "payload" not in json.dumps(entry)


def test_settings_come_from_a_file_the_environment_and_the_command() -> None:
    settings = Settings().updated({"workers": 3, "dictionaries": ["a", "b"]}, source="file")
    environment = {
        "SFUMATO_PORT": "0",
        "SFUMATO_READ_ONLY": "true",
        "HOME": "/",
        "SFUMATO_KEY": "x",
    }
    settings = settings.updated(from_environment(environment), source="the environment")
    settings = settings.updated({"workers": 2}, source="the command line")
    assert (settings.workers, settings.port, settings.read_only) == (2, 0, True)
    assert settings.dictionaries == ("a", "b")
    listed = from_environment({"SFUMATO_DICTIONARIES": "a, b", "SFUMATO_PLAN_EPSILONS": "4,8"})
    assert Settings().updated(listed, source="x").plan_epsilons == (4.0, 8.0)
    assert Settings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("prot", 1, "no setting"),
        ("port", "eighty", "like 8750"),
        ("port", 70_000, "65535"),
        ("port", -1, "at least 0"),
        ("workers", 0, "at least 1"),
        ("workers", 1.5, "like 1"),
        ("read_only", "perhaps", "like False"),
        ("deadline_seconds", "nan", "a number"),
        ("dictionaries", [], "dictionary"),
        ("plan_epsilons", "0", "positive"),
    ],
)
def test_wrong_settings_are_refused(name: str, value: Any, word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        Settings().updated({name: value}, source="file")
