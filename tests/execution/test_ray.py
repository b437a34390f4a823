"""Real Ray: three nodes on this machine, the same results, and what happens when parts are lost."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pieces_of_work
from own_cluster import free_port, new_token, own_cluster, wait_for
from pieces_of_work import (
    Counter,
    always_die,
    die_once,
    large,
    mark_and_wait,
    refuse,
    row_sum,
    square,
)
from sfumato.core.errors import InvalidInput, Mismatch, MissingExtra, WorkerLost
from sfumato.dictionary import Dictionary
from sfumato.execution import Execution, use
from sfumato.execution.nodes import versions
from sfumato.execution.threads import Threads
from spread_work import EVERY, features_in, write_pictures

pytestmark = [
    pytest.mark.needs("ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves its files open
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
NODES = 3
STORE = 80 * 2**20
_QUIET: dict[str, Any] = {"include_log_monitor": False, "object_store_memory": STORE}


def _patiently(start: Callable[[], Any]) -> Any:
    """Ray gives a node 30 seconds to start, which on a busy machine may not be enough."""
    for _ in range(3):
        with contextlib.suppress(Exception):
            return start()
    return start()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    patch = pytest.MonkeyPatch()
    for name, value in new_token().items():
        patch.setenv(name, value)
    from ray.cluster_utils import Cluster

    import sfumato.execution.on_ray  # noqa: F401 - it turns off what Ray would report

    head = {"num_cpus": 1, "no_monitor": True, "include_dashboard": False, **_QUIET}
    made: Any = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    made.others = [
        _patiently(lambda: made.add_node(num_cpus=1, **_QUIET)) for _ in range(NODES - 1)
    ]
    patch.setenv("RAY_ADDRESS", made.address)
    yield made
    made.shutdown()
    patch.undo()


@pytest.fixture(scope="module")
def ray_place(cluster: Any) -> Iterator[Execution]:
    from sfumato.execution.on_ray import connect

    with connect("ray") as execution:
        assert execution.workers == NODES
        yield execution


@pytest.mark.parametrize("work", EVERY, ids=lambda work: work.__name__)
def test_ray_gives_the_same_result(
    work: Callable[[Path], Any], ray_place: Execution, tmp_path: Path
) -> None:
    with use(Threads(1)):
        alone = work(tmp_path / "alone")
    with use(ray_place):
        together = work(tmp_path / "together")
    assert alone == together


def test_what_a_map_promises_holds(ray_place: Execution, tmp_path: Path) -> None:
    import numpy as np

    assert list(ray_place.map(square, range(30))) == [item * item for item in range(30)]
    assert sorted(ray_place.map(square, range(5), ordered=False)) == [0, 1, 4, 9, 16]
    rows = np.arange(12).reshape(3, 4)
    with ray_place.share(rows) as shared:
        assert list(ray_place.map(row_sum, [0, 2], shared)) == [(6, False), (38, False)]
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert list(ray_place.map(row_sum, [1], mapped)) == [(22, False)]
    with pytest.raises(InvalidInput, match="3 is refused"):
        list(ray_place.map(refuse, range(100)))


def test_the_item_of_a_worker_that_was_killed_is_done_again(
    ray_place: Execution, tmp_path: Path
) -> None:
    assert list(ray_place.map(die_once, range(6), str(tmp_path))) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "died").exists()


def test_an_item_that_kills_every_worker_is_given_up(ray_place: Execution) -> None:
    with pytest.raises(WorkerLost, match="a worker of the cluster was lost"):
        list(ray_place.map(always_die, [1]))


def test_results_larger_than_the_store_of_a_node_come_all_the_same(ray_place: Execution) -> None:
    """60 results of 2 MB together, and none is held longer than it is needed."""
    assert [int(found[0]) for found in ray_place.map(large, range(60))] == list(range(60))


def test_an_actor_is_found_by_name_noticed_when_lost_and_made_anew(ray_place: Execution) -> None:
    counter = ray_place.start(Counter, 10, name="the counter", restarts=1, cpus=0)
    assert counter.call("add", 5).result(120) == 15
    found = ray_place.find("the counter")
    assert found is not None
    assert found.call("add", 1).result(120) == 16
    assert ray_place.find("another") is None
    os.kill(counter.call("pid").result(120), signal.SIGKILL)
    deadline = time.monotonic() + 120
    while True:
        try:
            assert counter.call("add", 1).result(60) == 11
            break
        except WorkerLost:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    counter.stop()
    with pytest.raises(WorkerLost):
        counter.call("add", 1).result(120)
    assert not counter.is_alive()


def test_a_path_that_nodes_cannot_see_is_refused(ray_place: Execution, tmp_path: Path) -> None:
    ray_place.check_path(tmp_path)
    with pytest.raises(InvalidInput, match=f"{NODES} nodes of the cluster cannot see"):
        ray_place.check_path(tmp_path / "elsewhere")


def test_a_cluster_with_another_version_is_refused(
    ray_place: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.execution import on_ray

    there = {**versions(), "sfumato": "0.0.1"}
    monkeypatch.setattr(on_ray.OnRay, "_on_every_node", lambda self, function: [there])
    with pytest.raises(Mismatch, match=r"needs sfumato .* as this machine has, one has sfumato 0"):
        on_ray.connect("ray")


def sfumato(*words: object) -> list[str]:
    return [sys.executable, "-c", "from sfumato.cli.app import main; main()", *map(str, words)]


def run(*words: object) -> None:
    """A command that must succeed; where it does not, what it said is shown."""
    done = subprocess.run(sfumato(*words), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_driver_that_was_killed_goes_on_where_it_was(cluster: Any, tmp_path: Path) -> None:
    """The pictures are spoilt meanwhile: who began anew could not end with the same words."""
    # The workers of the other tests keep the processors of the other nodes.
    _patiently(lambda: cluster.add_node(num_cpus=1, **_QUIET))
    pictures = write_pictures(tmp_path / "pictures", 12)
    options = ("dictionary", "build", pictures, "--words", 128, "--iterations", 40)
    run(*options, "-o", tmp_path / "local")
    output, said = tmp_path / "words", tmp_path / "said"
    line = (*options, "-o", output, "--on", "ray", "--workers", 1)
    with (
        said.open("w") as log,
        subprocess.Popen(sfumato(*line), stdout=log, stderr=log) as driver,
    ):
        deadline = time.monotonic() + 300
        try:
            while not list((tmp_path / "words.partial").glob("state-*")):
                assert driver.poll() is None, said.read_text()[-3000:]
                assert time.monotonic() < deadline, said.read_text()[-3000:]
                time.sleep(0.02)
        finally:
            driver.send_signal(signal.SIGKILL)
    assert not output.exists()
    for path in pictures.iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    run(*line)
    found, local = Dictionary.load(output), Dictionary.load(tmp_path / "local")
    assert found.fingerprint == local.fingerprint


@pytest.fixture(scope="module")
def client_port(cluster: Any) -> Iterator[int]:
    """Where a second cluster takes clients; no disk is there to help its store."""
    port = free_port()
    settings = {
        "RAY_local_fs_capacity_threshold": "0.000001",
        # A client's process ends where the client needs longer than this, by default 30 s.
        "TIMEOUT_FOR_SPECIFIC_SERVER_S": "240",
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "240",
    }
    with own_cluster(f"--ray-client-server-port={port}", store_bytes=STORE, **settings):
        wait_for(port)
        yield port


def test_a_client_outside_of_the_cluster_gets_the_same_result(
    client_port: int, tmp_path: Path
) -> None:
    pictures = write_pictures(tmp_path / "pictures")
    options = ("--words", 64, "--iterations", 3)
    made = {}
    for name, place in (
        ("here", ()),
        ("there", ("--on", f"ray://127.0.0.1:{client_port}", "--workers", 2)),
    ):
        run("extract", pictures, "-o", tmp_path / f"{name}.h5", *place)
        run("dictionary", "build", pictures, "-o", tmp_path / name, *options, *place)
        made[name] = (
            features_in(tmp_path / f"{name}.h5"),
            Dictionary.load(tmp_path / name).fingerprint,
        )
    assert made["here"] == made["there"]
    assert len(made["here"][0]) == 6


@pytest.mark.parametrize("share", ["what is shared", "a result"])
def test_what_no_store_can_hold_is_refused_with_a_sentence(client_port: int, share: str) -> None:
    """In a process of its own: this one has joined the other cluster."""
    code = "import sys; sys.path.append(sys.argv[1]); import pieces_of_work as pieces; "
    code += "pieces.give_too_much(*sys.argv[2:])"
    folder = str(Path(pieces_of_work.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, folder, f"ray://127.0.0.1:{client_port}", share],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr[-3000:]
    assert done.stdout.startswith("what is shared or comes back is larger than the object store")


def test_a_token_that_is_not_there_is_asked_for_in_a_sentence(tmp_path: Path) -> None:
    write_pictures(tmp_path / "photos", 1)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "none")}
    kept = {name: one for name, one in os.environ.items() if not name.startswith("RAY_")}
    words = sfumato("extract", tmp_path / "photos", "-o", tmp_path / "f.h5", "--on", "ray")
    done = subprocess.run(words, capture_output=True, text=True, env={**kept, **token})
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


def test_a_node_that_is_removed_takes_nothing_with_it(
    cluster: Any, ray_place: Execution, tmp_path: Path
) -> None:
    """The last test of the module: afterwards the cluster has one node less."""
    found = []
    for done, result in enumerate(ray_place.map(mark_and_wait, range(60), str(tmp_path))):
        found.append(result)
        if done == 10:
            cluster.remove_node(cluster.others[0], allow_graceful=False)
    assert found == list(range(60))
