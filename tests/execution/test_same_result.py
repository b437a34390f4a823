"""The same result to the last bit, whether work is done here or by other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.execution import use
from sfumato.execution.processes import Processes
from sfumato.execution.threads import Threads
from spread_work import EVERY


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as execution:
        yield execution


@pytest.mark.parametrize("work", EVERY, ids=lambda work: work.__name__)
def test_processes_give_the_same_result(
    work: Callable[[Path], Any], processes: Processes, tmp_path: Path
) -> None:
    with use(Threads(1)):
        alone = work(tmp_path / "alone")
    with use(processes):
        together = work(tmp_path / "together")
    assert alone == together
