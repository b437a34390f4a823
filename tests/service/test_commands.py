"""`sfumato keys` and `sfumato serve` as commands: what they print, what they refuse."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato
from served import World
from sfumato.service import run
from sfumato.service.database import NAME, Database
from sfumato.service.keys import Keys


def test_a_key_is_shown_once_and_stored_hashed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert sfumato("keys", "create", "--store", store, "--tenant", "a", "--role", "owner") == 0
    shown = capsys.readouterr()
    text = shown.out.strip()
    assert "only time" in shown.err
    assert text.startswith("sfk_")
    secret = text.rpartition("_")[2]
    assert sfumato("keys", "list", "--store", store) == 0
    listed = capsys.readouterr().out
    assert "owner" in listed
    kept = b"".join(file.read_bytes() for file in store.glob(f"{NAME}*"))
    assert secret not in listed
    assert secret.encode() not in kept
    found = Keys(Database(store)).find(text)
    assert found is not None
    assert (found.tenant, found.role) == ("a", "owner")


def test_a_key_can_be_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    assert sfumato("keys", "create", "--store", store, "--tenant", "a", "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["role"] == "query"
    keys = Keys(Database(store))
    assert keys.find(made["key"]) is not None
    assert sfumato("keys", "revoke", made["id"], "--store", store) == 0
    assert keys.find(made["key"]) is None
    capsys.readouterr()
    assert sfumato("keys", "list", "--store", store, "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)["keys"]
    first = entry["revoked"]
    assert first is not None
    assert sfumato("keys", "revoke", made["id"], "--store", store, "--json") == 0
    assert json.loads(capsys.readouterr().out)["revoked"] == first


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("create", "--tenant", "../x"), "tenant must be"),
        (("create", "--tenant", ""), "tenant must be"),
        (("create", "--tenant", "a", "--role", "admin"), "owner or query"),
        (("list",), "not a store"),
        (("revoke", "0123"), "not a store"),
    ],
)
def test_wrong_keys_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert sfumato("keys", *words, "--store", tmp_path / "store") == 2
    assert sentence in capsys.readouterr().err


def test_a_key_that_does_not_exist_cannot_be_revoked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("keys", "create", "--store", tmp_path, "--tenant", "a") == 0
    assert sfumato("keys", "revoke", "0123", "--store", tmp_path) == 2
    assert "no key '0123'" in capsys.readouterr().err


@pytest.mark.usefixtures("undisturbed")
def test_serve_refuses_with_one_sentence(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = ["--dictionary", world.words, "--store", tmp_path / "store"]
    (tmp_path / "bad.toml").write_text("port = ")
    (tmp_path / "odd.toml").write_text("colour = 'red'")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for words, sentence in (
            ([*good, "--port", port], "cannot be listened on"),
            ([*good, "--port", 0, "--host", "no.such.host.invalid"], "cannot be listened on"),
            ([*good, "--workers", 0], "workers must be"),
            ([*good[:1], "nowhere", *good[2:]], "no dictionary at nowhere"),
            ([*good, "--config", tmp_path / "none.toml"], "not a readable TOML"),
            ([*good, "--config", tmp_path / "bad.toml"], "not a readable TOML"),
            ([*good, "--config", tmp_path / "odd.toml"], "'colour'"),
            ([*good[:3], "/dev/null/store"], "cannot be used as a store"),
            ([*good[:3], tmp_path / "none", "--read-only"], "not a store"),
        ):
            assert sfumato("serve", *words) == 2, words
            shown = capsys.readouterr().err
            assert sentence in shown
            assert len(shown.strip().splitlines()) == 1


def test_a_file_the_environment_and_the_command_are_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[Any] = []

    def serve(settings: Any, ready: Any) -> None:
        heard.append(settings)
        ready("::1", 1234)

    monkeypatch.setattr(run, "serve", serve)
    monkeypatch.setenv("SFUMATO_PARALLEL", "3")
    monkeypatch.setenv("SFUMATO_PORT", "7")
    (tmp_path / "s.toml").write_text('port = 5\nworkers = 2\ndictionaries = ["x"]\n')
    assert sfumato("serve", "--config", tmp_path / "s.toml", "--port", 9) == 0
    assert capsys.readouterr().out == "sfumato serve: ready on http://[::1]:1234\n"
    settings = heard[0]
    assert (settings.port, settings.parallel, settings.workers) == (9, 3, 2)
    assert settings.dictionaries == ("x",)
