"""The same promises on threads and in processes of this machine."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pieces_of_work import (
    Counter,
    always_die,
    die_once,
    lack,
    mark_and_wait,
    refuse,
    row_sum,
    slow_first,
    square,
    times,
)
from sfumato.core.errors import InvalidInput, MissingExtra, WorkerLost
from sfumato.execution import Execution, current, started
from sfumato.execution.nodes import check_answers, translated
from sfumato.execution.processes import Processes
from sfumato.execution.threads import Threads


@pytest.fixture(scope="module", params=["threads", "processes"])
def place(request: pytest.FixtureRequest) -> Iterator[Execution]:
    with Threads(2) if request.param == "threads" else Processes(2) as execution:
        yield execution


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as execution:
        yield execution


def test_results_come_in_the_order_of_the_items(place: Execution) -> None:
    assert list(place.map(square, range(50))) == [item * item for item in range(50)]
    assert list(place.map(times, range(5), 3)) == [0, 3, 6, 9, 12]
    assert list(place.map(square, [])) == []
    assert place.reduce(lambda text, item: f"{text}{item}", "", slow_first, range(5)) == "01234"


def test_results_need_not_come_in_order(place: Execution) -> None:
    found = list(place.map(slow_first, range(5), ordered=False))
    assert sorted(found) == [0, 1, 2, 3, 4]
    assert found[0] != 0


def test_an_error_of_the_work_is_raised_here_and_nothing_else_is_begun(place: Execution) -> None:
    begun: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            begun.append(item)
            yield item

    with pytest.raises(InvalidInput, match="3 is refused"):
        list(place.map(refuse, items()))
    assert len(begun) < 20
    assert list(place.map(square, range(4))) == [0, 1, 4, 9]


def test_an_error_that_cannot_be_sent_is_told_in_words(place: Execution) -> None:
    with pytest.raises((MissingExtra, RuntimeError), match="needs the train extra"):
        list(place.map(lack, [1]))


def test_few_items_are_asked_for_ahead(place: Execution, tmp_path: Path) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        for item in range(10_000):
            taken = item
            yield item

    results = place.map(square, items())
    for _ in range(3):
        next(results)
    assert taken < 20
    results.close()  # type: ignore[attr-defined]


def test_a_map_that_is_left_begins_nothing_more(place: Execution, tmp_path: Path) -> None:
    results = place.map(mark_and_wait, range(1000), str(tmp_path))
    next(results)
    results.close()  # type: ignore[attr-defined]
    begun = len(list(tmp_path.iterdir()))
    time.sleep(0.3)
    assert len(list(tmp_path.iterdir())) <= begun + 2 < 50


def test_an_actor_keeps_what_it_was_told(place: Execution) -> None:
    counter = place.start(Counter, 10, name="the counter")
    assert counter.call("add", 5).result(60) == 15
    assert counter.call("add", amount=1).result(60) == 16
    with pytest.raises(InvalidInput, match="cannot fail"):
        counter.call("fail").result(60)
    assert counter.is_alive()
    found = place.find("the counter")
    assert found is not None
    assert found.call("add", 0).result(60) == 16
    assert place.find("another") is None
    counter.restart()
    assert counter.call("add", 0).result(60) == 10
    counter.stop()
    assert not counter.is_alive()


def test_shared_arrays_are_read_only_and_handed_over_once(processes: Processes) -> None:
    rows = np.arange(12).reshape(3, 4)
    with processes.share(rows) as shared:
        assert list(processes.map(row_sum, range(3), shared)) == [
            (6, False),
            (22, False),
            (38, False),
        ]
        assert list(processes.map(row_sum, [2], shared)) == [(38, False)]


def test_a_mapped_file_goes_as_its_path(processes: Processes, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.arange(12).reshape(3, 4))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with processes.share(rows) as shared:
        assert shared.place.stat().st_size < 1000
        assert list(processes.map(row_sum, [1], shared)) == [(22, False)]
    with processes.share(rows) as shared:
        (tmp_path / "rows.npy").unlink()
        with Processes(2) as others, pytest.raises(InvalidInput, match="shared storage"):
            list(others.map(row_sum, [1], shared))


def test_the_item_of_a_worker_that_was_killed_is_done_again(
    processes: Processes, tmp_path: Path
) -> None:
    assert list(processes.map(die_once, range(6), str(tmp_path))) == [0, 1, 4, 9, 16, 25]
    assert (tmp_path / "died").exists()


def test_an_item_that_kills_every_worker_is_given_up(processes: Processes) -> None:
    with pytest.raises(WorkerLost, match="code -9"):
        list(processes.map(always_die, [1]))


def test_a_lost_actor_is_noticed_and_made_anew_where_it_should(processes: Processes) -> None:
    for restarts in (0, 1):
        counter = processes.start(Counter, 1, restarts=restarts)
        assert counter.call("add", 1).result(60) == 2
        os.kill(counter.call("pid").result(60), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while counter.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not counter.is_alive()
        if restarts:
            assert counter.call("add", 1).result(60) == 2
        else:
            with pytest.raises(WorkerLost):
                counter.call("add", 1).result(60)
        counter.stop()


def test_no_more_processes_are_started_than_there_is_work_for() -> None:
    with Processes(64) as execution:
        assert list(execution.map(square, range(2))) == [0, 1]
        assert len(execution._pool) <= 2


def test_what_was_chosen_holds_inside_and_is_ended_outside() -> None:
    assert isinstance(current(), Threads)
    with started("local", workers=2) as chosen:
        assert current() is chosen
        assert isinstance(chosen, Processes)
        assert list(current().map(square, [3])) == [9]
    assert isinstance(current(), Threads)
    assert isinstance(chosen, Processes)
    assert not len(chosen._pool)


@pytest.mark.parametrize(
    ("on", "workers", "message"),
    [
        ("somewhere", None, "local, ray or ray://HOST:PORT, got 'somewhere'"),
        ("local", 0, "workers must be"),
        ("local", 10**9, "workers must be"),
    ],
)
def test_a_place_that_does_not_exist_is_refused(on: str, workers: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message), started(on, workers):
        pass


def test_without_ray_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        return None if name == "ray" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    monkeypatch.delitem(sys.modules, "sfumato.execution.on_ray", raising=False)
    with pytest.raises(MissingExtra, match=r'pip install "sfumato\[ray\]"'), started("ray"):
        pass


def test_an_address_where_nobody_listens_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for address in (f"ray://127.0.0.1:{port}", f"127.0.0.1:{port}"):
            assert check_answers(address) == address
    for address in (f"ray://127.0.0.1:{port}", f"127.0.0.1:{port}", "ray://", "ray://h:none"):
        with pytest.raises(InvalidInput, match="no Ray cluster answers at"):
            check_answers(address)


@pytest.mark.parametrize(
    ("given", "whole"),
    [
        ("ray://head", "ray://head:10001"),
        ("ray://head:7", "ray://head:7"),
        ("ray://[::1]", "ray://[::1]:10001"),
        ("head", "head:6379"),
    ],
)
def test_an_address_without_a_port_gets_that_of_ray(
    given: str, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    @contextmanager
    def connect(place: tuple[str, int], _seconds: float) -> Iterator[None]:
        asked.append(place)
        yield

    monkeypatch.setattr(socket, "create_connection", connect)
    assert check_answers(given) == whole
    assert [port for _, port in asked] == [int(whole.rpartition(":")[2])]


@pytest.mark.parametrize(
    ("name", "ours", "words"),
    [
        ("ObjectStoreFullError", InvalidInput, "larger than the object store"),
        ("OutOfMemoryError", WorkerLost, "ran out of memory"),
        ("ActorDiedError", WorkerLost, "was lost"),
    ],
)
def test_errors_of_a_cluster_become_ours(name: str, ours: type[Exception], words: str) -> None:
    ray_error = type("RayError", (Exception,), {})
    error = type(name, (ray_error,), {})()
    assert isinstance(translated(error), ours)
    assert words in str(translated(error))
    assert translated(same := ValueError("of the work")) is same
    outer = type("RayTaskError", (ray_error,), {})()
    assert isinstance(translated(outer), RuntimeError)
    outer.cause = error  # as a client of a cluster gets it
    assert isinstance(translated(outer), ours if name == "ObjectStoreFullError" else Exception)
