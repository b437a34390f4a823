"""A cluster that is joined from outside, and every way in which it cannot be joined."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import pieces_of_work
from own_cluster import OwnCluster, ended, new_token, own_cluster, run, sfumato
from sfumato.core.errors import InvalidInput, MissingExtra
from sfumato.dictionary import Dictionary
from spread_work import features_in, write_pictures

pytestmark = [
    pytest.mark.needs("ray"),
    pytest.mark.usefixtures("bounded"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Ray
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
STORE = 80 * 2**20


@pytest.fixture(scope="module")
def made() -> Iterator[OwnCluster]:
    """A cluster that asks for a token; no disk is there to help its store."""
    settings = {
        "RAY_local_fs_capacity_threshold": "0.000001",
        # A client's process ends where the client needs longer than this, by default 30 s.
        "TIMEOUT_FOR_SPECIFIC_SERVER_S": "240",
        # Where that process dies, its client waits so long before it tries again.
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "60",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in new_token().items():
            patch.setenv(name, value)
        with own_cluster(store_bytes=STORE, **settings) as cluster:
            yield cluster


def pieces(function: str, *words: str) -> list[str]:
    """A function of pieces_of_work in a process of its own, which joins one cluster only."""
    code = "import sys; sys.path.append(sys.argv[1]); import pieces_of_work as pieces; "
    code += f"pieces.{function}(*sys.argv[2:])"
    return [sys.executable, "-c", code, str(Path(pieces_of_work.__file__).parent), *words]


def test_a_client_outside_of_the_cluster_gets_the_same_result(
    made: OwnCluster, tmp_path: Path
) -> None:
    pictures = write_pictures(tmp_path / "pictures")
    options = ("--words", 64, "--iterations", 3)
    results = {}
    for name, place in (("here", ()), ("there", ("--on", made.client, "--workers", 2))):
        run("extract", pictures, "-o", tmp_path / f"{name}.h5", *place)
        run("dictionary", "build", pictures, "-o", tmp_path / name, *options, *place)
        results[name] = (
            features_in(tmp_path / f"{name}.h5"),
            Dictionary.load(tmp_path / name).fingerprint,
        )
    assert results["here"] == results["there"]
    assert len(results["here"][0]) == 6


@pytest.mark.parametrize("share", ["what is shared", "a result"])
def test_what_no_store_can_hold_is_refused_with_a_sentence(made: OwnCluster, share: str) -> None:
    done = ended(pieces("give_too_much", made.client, share))
    assert done.returncode == 2, done.stderr[-3000:]
    assert done.stdout.startswith("what is shared or comes back is larger than the object store")


@pytest.mark.parametrize("inside", [True, False])
def test_what_ray_notices_is_not_printed_among_results(made: OwnCluster, inside: bool) -> None:
    there = {**os.environ, "RAY_ADDRESS": made.address}
    done = ended(pieces("lose_workers", "ray" if inside else made.client), there)
    assert (done.returncode, done.stdout, done.stderr) == (0, "14\ngiven up\n", "")


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("given", ["another token", "a token"])
def test_a_cluster_with_another_token_says_so_in_one_line(
    made: OwnCluster, given: str, inside: bool, tmp_path: Path
) -> None:
    write_pictures(tmp_path / "photos", 1)
    there = {name: one for name, one in os.environ.items() if not name.startswith("RAY_")}
    if given == "another token":
        there |= new_token()
    there["RAY_ADDRESS"] = made.address
    place = "ray" if inside else made.client
    words = sfumato("extract", tmp_path / "photos", "-o", tmp_path / "f.h5", "--on", place)
    done = ended(words, there)
    assert (done.returncode, done.stdout) == (2, "")
    where = made.address if inside else made.client
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"sfumato: the Ray cluster at {where} asks for {given}; ")
    assert "RAY_AUTH_TOKEN_PATH" in line


def test_a_cluster_of_others_on_this_machine_need_not_be_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sfumato.execution.on_ray import cluster, greeting

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(cluster, "found_here", lambda: "here:6379")
    monkeypatch.setattr(greeting, "_refusal", lambda address: "UNAUTHENTICATED")
    with pytest.raises(InvalidInput, match=r"at here:6379 asks for .*, or .* RAY_ADDRESS=local"):
        cluster._join("ray", None)


def test_a_port_that_is_for_others_is_named_at_once(made: OwnCluster) -> None:
    from sfumato.execution.on_ray.greeting import greet

    with pytest.raises(InvalidInput, match=r"for its machines; their port is 6379 unless"):
        greet(made.client.removeprefix("ray://"))
    with pytest.raises(InvalidInput, match=r"for its clients; their port is 10001 unless"):
        greet(f"ray://{made.address}")


def test_another_service_is_not_taken_for_a_cluster() -> None:
    from sfumato.execution.on_ray.greeting import greet

    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            with pytest.raises(InvalidInput, match=r"something listens at ray://.*, but not a Ray"):
                greet(f"ray://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()


def test_a_token_that_is_not_there_is_asked_for_in_a_sentence(tmp_path: Path) -> None:
    write_pictures(tmp_path / "photos", 1)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "none")}
    kept = {name: one for name, one in os.environ.items() if not name.startswith("RAY_")}
    words = sfumato("extract", tmp_path / "photos", "-o", tmp_path / "f.h5", "--on", "ray")
    done = ended(words, {**kept, **token})
    assert done.returncode == 2, done.stderr[-3000:]
    assert "needs the token of the cluster" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("package", ["grpc", "starlette"])
def test_a_bare_ray_is_said_to_be_too_little(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.execution.on_ray import cluster

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == package else real(name)
    )
    serving = "sfumato.execution.on_ray.serving"
    monkeypatch.delitem(sys.modules, serving, raising=False)
    wanted: dict[str, Callable[[], Any]] = {
        "grpc": lambda: cluster._join("ray://127.0.0.1:1", None),
        "starlette": lambda: importlib.import_module(serving),
    }
    with pytest.raises(MissingExtra, match=rf'sfumato\[ray\]"; not installed here: {package}'):
        wanted[package]()
