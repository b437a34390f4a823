"""`sfumato map push`, against a server that lives in the test."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import pytest

from commands import sfumato
from pretend_server import KEY, MAP_ID, Pretend, map_info
from sfumato.cli import output
from synthetic import MAPPING_POSES, make_map, make_room


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_text(KEY + "\n")
    return path


def test_a_map_is_pushed(
    key: Path, server: str, pretend: Pretend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_map(make_room(300), MAPPING_POSES[:3]).save(tmp_path / "town")
    pretend.extra["/v1/maps"] = lambda request: httpx.Response(201, json=map_info())
    common = ["map", "push", tmp_path / "town", "--server", server, "--key-file", key]
    assert sfumato(*common) == 0
    assert MAP_ID in capsys.readouterr().out
    assert sfumato(*common, "--json") == 0
    assert json.loads(capsys.readouterr().out)["id"] == MAP_ID
    assert [path for method, path, _ in pretend.requests if method == "POST"] == ["/v1/maps"] * 2
    assert pretend.requests[0][2] == pretend.requests[1][2]
    assert sfumato("map", "push", tmp_path, "--server", server, "--key-file", key) == 2
    assert "not a stored map" in capsys.readouterr().err


def test_a_push_is_not_silent_while_the_server_works(
    key: Path,
    server: str,
    pretend: Pretend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def slowly(request: httpx.Request) -> httpx.Response:
        time.sleep(0.3)
        return httpx.Response(201, json=map_info())

    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.02)
    make_map(make_room(300), MAPPING_POSES[:3]).save(tmp_path / "town")
    pretend.extra["/v1/maps"] = slowly
    pushed = ("map", "push", tmp_path / "town", "--server", server, "--key-file", key)
    assert sfumato(*pushed) == 0
    assert "the server checks and files the map" in capsys.readouterr().err
