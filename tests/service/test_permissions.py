"""A store is its owner's alone, and a service that others can reach says what that means."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato
from served import World
from sfumato.service import run
from sfumato.service.permissions import close_to_others
from sfumato.service.settings import Settings


def modes(folder: Path) -> dict[str, int]:
    paths = [folder, *folder.rglob("*")]
    return {path.name: stat.S_IMODE(path.lstat().st_mode) for path in paths}


def start(
    world: World, store: Path, *, umask: int, host: str = "127.0.0.1"
) -> list[dict[str, Any]]:
    """`sfumato serve` until it is ready; its log."""
    command = [sys.executable, "-c", "from sfumato.cli.app import main; main()", "serve"]
    command += ["--store", str(store), "--dictionary", str(world.words)]
    with subprocess.Popen(
        [*command, "--host", host, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        umask=umask,
    ) as process:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        found = modes(store)
        process.terminate()
        log = [json.loads(line) for line in process.communicate()[1].splitlines()]
    assert found.pop("run", 0o777) == 0o777  # a link
    assert all(not mode & 0o077 for mode in found.values()), found
    return log


def warnings(log: list[dict[str, Any]]) -> list[str]:
    return [line["event"] for line in log if line["level"] == "warning"]


def test_a_store_made_under_an_open_umask_is_closed(world: World, tmp_path: Path) -> None:
    assert not warnings(start(world, tmp_path / "store", umask=0))
    before = os.umask(0)
    try:
        assert sfumato("keys", "create", "--store", tmp_path / "keys", "--tenant", "a") == 0
    finally:
        os.umask(before)
    assert all(not mode & 0o077 for mode in modes(tmp_path / "keys").values())


def test_an_open_store_is_mended_with_a_warning(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    assert sfumato("keys", "create", "--store", store, "--tenant", "a") == 0
    (store / "maps").mkdir()
    store.chmod(0o755)
    (store / "metadata.db").chmod(0o644)
    assert sfumato("store", "check", store) == 1
    assert "other users" in capsys.readouterr().out
    (warning,) = warnings(start(world, store, umask=0o022))
    assert "other users could look into the store" in warning
    assert "0700" in warning
    assert not warnings(start(world, store, umask=0o022))


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    store = tmp_path / "store"
    store.mkdir()
    (store / "link").symlink_to(outside)
    close_to_others(store)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644


def test_a_service_for_other_machines_warns_of_plain_http(world: World, tmp_path: Path) -> None:
    (warning,) = warnings(start(world, tmp_path / "store", umask=0o077, host="0.0.0.0"))
    assert "no TLS" in warning
    assert "TLS proxy" in warning


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_no_warning(host: str) -> None:
    assert run._is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "::ffff:0:0"])
def test_everything_else_is_warned_of(host: str) -> None:
    assert not run._is_loopback(Settings(host=host).host)
