"""What the benchmarks share: clocks, medians over runs in turns, memory, threads.

NumPy is not imported here: threads are set before it is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

Result = TypeVar("Result")


class Spent(NamedTuple):
    """Seconds of the clock on the wall, and of this process on all its cores.

    Processor time suffers less than wall time when the machine is shared.
    """

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:9.1f} s wall {self.cpu:9.1f} s CPU"

    def times(self, factor: float) -> Spent:
        return Spent(self.wall * factor, self.cpu * factor)

    def faster_than(self, other: Spent) -> str:
        """How many times faster this is: the ratio of the benchmark."""
        return f"{other.wall / self.wall:.1f}× wall, {other.cpu / self.cpu:.1f}× CPU"


def timed(work: Callable[[], Result]) -> tuple[Result, Spent]:
    """The result, and what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Spent(time.perf_counter() - wall, time.process_time() - cpu)


def in_turns(
    works: Sequence[Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[list[float]]:
    """Seconds of each work in every turn; one turn before is not counted.

    In turns, since on a shared machine one after the other would compare two moments; every second
    turn backwards, since a load that grows or falls would favour whoever comes first.
    """
    turns = []
    for number in range(repeats + 1):
        turn = [0.0] * len(works)
        for place in list(range(len(works)))[:: -1 if number % 2 else 1]:
            start = clock()
            works[place]()
            turn[place] = clock() - start
        turns.append(turn)
    return turns[1:]


def medians(turns: Sequence[Sequence[float]]) -> list[float]:
    """The median over turns of each work."""
    return [statistics.median(times) for times in zip(*turns, strict=True)]


def parser_of(module: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the first line of a module's docstring."""
    return argparse.ArgumentParser(description=(module or "").strip().splitlines()[0])


def use_threads(count: int) -> None:
    """OpenBLAS and OpenMP read this when NumPy and faiss are first imported: call it before."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(count)


def forget_peak() -> None:
    """Begin counting the peak of memory anew."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_gib() -> float:
    """The most memory this process has held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / (1 << 20)


def say(text: str) -> None:
    print(text, flush=True)
