"""Threads change how long work takes and nothing else."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sfumato.core.threads import THREAD_NAME, in_order
from sfumato.dictionary.cells import make_cells
from sfumato.dictionary.kmeans import first_words, iterate
from sfumato.dictionary.seeding import start_rows
from sfumato.dictionary.vectors import Space
from sfumato.execution import use
from sfumato.execution.threads import Threads


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order(workers: int) -> None:
    assert list(in_order(lambda item: item * item, range(50), workers)) == [
        item * item for item in range(50)
    ]
    assert list(in_order(str, [], workers)) == []


def test_an_error_in_a_worker_reaches_the_caller_and_stops_the_rest() -> None:
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 3:
            raise KeyError(item)
        return item

    with pytest.raises(KeyError):
        list(in_order(work, range(1000), 2))
    assert len(begun) < 20
    assert not [t for t in threading.enumerate() if t.name.startswith(THREAD_NAME)]


def test_the_number_of_workers_does_not_change_the_words() -> None:
    points = np.random.default_rng(0).integers(0, 255, (40_000, 8), dtype=np.uint8)
    space = Space()
    states = []
    for workers in (1, 3):
        with use(Threads(workers)):
            rng = np.random.default_rng(0)
            cells = make_cells(points, 1200, space, rng)
            assert len(cells.centres) > 64
            state = first_words(cells, start_rows(cells, 1200, "random", space, rng), space)
            states.append(iterate(cells, iterate(cells, state, space), space))
    assert np.array_equal(states[0].words, states[1].words)
    assert np.array_equal(states[0].assignment, states[1].assignment)
