"""Real Ray: three nodes on this machine, the same results, and what happens when parts are lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from own_cluster import PATIENCE, UNHURRIED, new_token, run, sfumato, wait_until, within
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
from sfumato.core.errors import InvalidInput, Mismatch, WorkerLost
from sfumato.dictionary import Dictionary
from sfumato.execution import Execution, use
from sfumato.execution.nodes import versions
from sfumato.execution.threads import Threads
from spread_work import EVERY, write_pictures

pytestmark = [
    pytest.mark.needs("ray"),
    pytest.mark.usefixtures("bounded"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves its files open
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
NODES = 3
STORE = 80 * 2**20
_QUIET: dict[str, Any] = {"include_log_monitor": False, "object_store_memory": STORE}


def _give_time(patch: pytest.MonkeyPatch) -> None:
    """Ray gives a node 30 seconds to start, and lets those come that need longer, unasked for."""
    from ray._private import services

    look_up = services.get_node

    def wait_for_node(*node: Any) -> Any:
        found: list[Any] = []

        def look() -> bool:
            with contextlib.suppress(RuntimeError):
                found.append(look_up(*node))
            return bool(found)

        wait_until(look)
        return found[0]

    patch.setattr(services, "get_node", wait_for_node)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**new_token(), **UNHURRIED}.items():
            patch.setenv(name, value)
        import sfumato.execution.on_ray  # noqa: F401, I001 - it turns off what Ray would report
        from ray.cluster_utils import Cluster

        _give_time(patch)
        head = {"num_cpus": 1, "no_monitor": True, "include_dashboard": False, **_QUIET}
        with within():
            made: Any = Cluster(initialize_head=True, head_node_args=head)
            made.others = [made.add_node(num_cpus=1, **_QUIET) for _ in range(NODES - 1)]
        patch.setenv("RAY_ADDRESS", made.address)
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def ray_place(cluster: Any) -> Iterator[Execution]:
    from sfumato.execution.on_ray import connect

    with within():
        joined = connect("ray")
    with joined as execution:
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
    assert counter.call("add", 5).result(PATIENCE) == 15
    found = ray_place.find("the counter")
    assert found is not None
    assert found.call("add", 1).result(PATIENCE) == 16
    assert ray_place.find("another") is None
    os.kill(counter.call("pid").result(PATIENCE), signal.SIGKILL)
    answers: list[int] = []

    def ask() -> bool:
        with contextlib.suppress(WorkerLost):
            answers.append(counter.call("add", 1).result(PATIENCE))
        return bool(answers)

    wait_until(ask)
    assert answers == [11]
    counter.stop()
    with pytest.raises(WorkerLost):
        counter.call("add", 1).result(PATIENCE)
    assert not counter.is_alive()
    assert ray_place.find("the counter") is None


def test_nothing_is_left_of_an_actor_that_was_stopped(ray_place: Execution) -> None:
    """Its name is free at once, and those that know it by its name are not answered either."""
    for start in range(3):
        counter = ray_place.start(Counter, start, name="again", restarts=-1, cpus=0)
        known = ray_place.find("again")
        assert known is not None
        assert known.call("add", 1).result(PATIENCE) == start + 1
        counter.restart()
        assert counter.call("add", 2).result(PATIENCE) == start + 2
        with pytest.raises(WorkerLost):
            known.call("add", 1).result(PATIENCE)
        counter.stop()
        counter.stop()
        assert ray_place.find("again") is None


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


def test_a_driver_that_was_killed_goes_on_where_it_was(cluster: Any, tmp_path: Path) -> None:
    """The pictures are spoilt meanwhile: who began anew could not end with the same words."""
    # The workers of the other tests keep the processors of the other nodes.
    cluster.add_node(num_cpus=1, **_QUIET)
    pictures = write_pictures(tmp_path / "pictures", 12)
    options = ("dictionary", "build", pictures, "--words", 128, "--iterations", 40)
    run(*options, "-o", tmp_path / "local")
    output, said = tmp_path / "words", tmp_path / "said"
    line = (*options, "-o", output, "--on", "ray", "--workers", 1)
    with (
        said.open("w") as log,
        subprocess.Popen(sfumato(*line), stdout=log, stderr=log) as driver,
    ):
        deadline = time.monotonic() + PATIENCE
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
