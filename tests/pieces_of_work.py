"""What tests let workers do; other processes import it from here."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, MissingExtra, WorkerLost


def square(item: int) -> int:
    return item * item


def times(factor: int, item: int) -> int:
    return factor * item


def row_sum(rows: NDArray[Any], item: int) -> tuple[int, bool]:
    """The sum of a row, and whether it could be changed."""
    return int(rows[item].sum()), bool(rows.flags.writeable)


def slow_first(item: int) -> int:
    time.sleep(0.3 if item == 0 else 0)
    return item


def refuse(item: int) -> int:
    if item == 3:
        raise InvalidInput("3 is refused; give another.")
    return item


def lack(item: int) -> int:
    raise MissingExtra("this", "train", ["torch"])


def die_once(folder: str, item: int) -> int:
    """End the process in the middle of item 2, the first time."""
    mark = Path(folder) / "died"
    if item == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def always_die(item: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def large(item: int) -> NDArray[np.uint8]:
    return np.full(2_000_000, item, dtype=np.uint8)


def huge(item: int) -> NDArray[np.uint8]:
    return np.zeros(200_000_000, dtype=np.uint8)


def mark_and_wait(folder: str, item: int) -> int:
    (Path(folder) / str(item)).touch()
    time.sleep(0.05)
    return item


class Counter:
    """An actor that counts."""

    def __init__(self, start: int) -> None:
        self.value = start

    def add(self, amount: int) -> int:
        self.value += amount
        return self.value

    def fail(self) -> None:
        raise InvalidInput("a counter cannot fail; count.")

    def pid(self) -> int:
        return os.getpid()


def give_too_much(place: str, what: str) -> None:
    """Print what a place says to 200 MB that are shared or come back, and end with code 2."""
    from sfumato.execution import started

    try:
        with started(place, 1) as execution:
            if what == "a result":
                list(execution.map(huge, [0]))
            else:
                execution.share(huge(0))
    except InvalidInput as error:
        print(error)
        sys.exit(2)


def lose_workers(place: str) -> None:
    """Print what comes of work that kills its workers, once and always."""
    from sfumato.execution import started

    with started(place, 1) as execution, tempfile.TemporaryDirectory() as folder:
        print(sum(execution.map(die_once, range(4), folder)))
        try:
            list(execution.map(always_die, [0]))
        except WorkerLost:
            print("given up")
