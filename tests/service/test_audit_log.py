"""The audit log tells who asked what, and nothing of what was in it."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Request

from served import Serve, Served, bearer
from sfumato.service import auditing
from sfumato.service.auditing import NAME, OLDER, AuditLog


def lines(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (store / NAME).read_text().splitlines()]


def test_every_use_of_a_key_is_one_line(served: Served) -> None:
    room = served.map_id()
    served.localize(room, served.world.release)
    served.localize(room, b"nonsense")
    served.client.get(f"/v1/maps/{room}", headers=served.stranger)
    served.client.get("/v1/maps", headers=bearer("sfk_wrong"))
    served.client.get("/healthz")
    found = lines(served.service.store.folder)
    assert [(one["method"], one["route"], one["status"], one["tenant"]) for one in found] == [
        ("POST", "/v1/maps", 201, "a"),
        ("POST", "/v1/maps/{id}/localize", 200, "a"),
        ("POST", "/v1/maps/{id}/localize", 400, "a"),
        ("GET", "/v1/maps/{id}", 404, "b"),
    ]
    for one in found:
        assert set(one) == {
            "time", "request", "key", "tenant", "method", "route", "status", "cost",
        }  # fmt: skip
        assert isinstance(one["cost"], int)
    assert found[0]["key"] == served.owner_id
    mode = (served.service.store.folder / NAME).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_no_payload_secret_name_id_or_coordinate_is_in_it(served: Served) -> None:
    room = served.map_id("the hall", accept="words,plain")
    answer = served.localize(room, served.world.plain).json()
    assert answer["localized"] is True
    served.client.get("/v1/maps", headers={**served.owner, "X-Note": "a header"})
    served.client.get(f"/v1/maps/{room}/plan?epsilon=3.14159", headers=served.owner)
    text = (served.service.store.folder / NAME).read_text()
    for headers in (served.owner, served.query):
        assert headers["Authorization"][-43:] not in text
    for word in (room, "the hall", "sfk_", "a header", "3.14159", "SFR"):
        assert word not in text
    assert not re.search(r"[0-9]\.[0-9]", text)  # a coordinate would have a decimal point


def test_the_cost_is_what_the_route_has_noted(served: Served) -> None:
    @served.app.get("/priced")
    async def priced(request: Request) -> None:
        request.state.key_id, request.state.tenant, request.state.cost = "k", "a", 123

    served.client.get("/priced")
    (line,) = lines(served.service.store.folder)
    assert (line["route"], line["cost"]) == ("/priced", 123)


def test_the_log_is_bounded_and_loses_the_oldest_only(tmp_path: Path) -> None:
    one, other = (AuditLog(tmp_path / NAME, max_bytes=1000) for _ in range(2))
    for number in range(2000):
        (one if number % 3 else other).write({"number": number})
    files = sorted(tmp_path.iterdir())
    assert len(files) == OLDER + 1
    assert all(file.stat().st_size <= 1000 for file in files)
    found = sorted(
        json.loads(line)["number"] for file in files for line in file.read_text().splitlines()
    )
    assert found == list(range(found[0], 2000))
    one.close()
    other.close()


def test_a_log_that_cannot_be_written_stops_nobody(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    told: list[str] = []
    monkeypatch.setattr(auditing, "log", lambda event, **_: told.append(event))
    (serve.store / NAME).mkdir()
    for _ in range(2):
        assert served.client.get("/v1/maps", headers=served.owner).status_code == 200
    assert told == ["audit lines are being lost"]


def test_a_read_only_server_sends_the_lines_to_its_log(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = serve()
    writer.service.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    reader = serve(read_only=True)
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(auditing, "log", lambda event, **fields: told.append(fields))
    answer = reader.client.get("/v1/maps", headers=writer.owner)
    assert isinstance(answer, httpx.Response)
    (fields,) = told
    assert (fields["key"], fields["route"], fields["status"]) == (writer.owner_id, "/v1/maps", 200)
    assert not (serve.store / NAME).exists()
