"""Limits of a computing process hold for one piece of work, and are lifted after it."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import computations
from sfumato.service.compute import ComputeQueue
from sfumato.service.processes import Limits

MIB = 1 << 20


def test_the_limit_of_one_piece_of_work_does_not_hold_for_the_next_body() -> None:
    """A body is received before its own work has a limit: by then the last one's must be gone."""
    line = ComputeQueue("test", places=1, waiting=1, limits=Limits(memory_bytes=16 * MIB))
    try:
        first, second = (
            asyncio.run(line.run("me", computations.echo, {}, body, seconds=120))
            for body in (b"", bytes(64 * MIB))
        )
        assert (second["pid"], second["length"]) == (first["pid"], 64 * MIB)
    finally:
        line.close()


def test_limits_are_lifted_to_what_the_kernel_allows() -> None:
    """In a process of its own: limits of processor time cannot be seen from outside."""
    script = """
import resource
from sfumato.service.processes import Limits, _limit, _unlimit
kinds = (resource.RLIMIT_DATA, resource.RLIMIT_CPU)
before = [resource.getrlimit(kind) for kind in kinds]
_limit(Limits(memory_bytes=1 << 30, cpu_seconds=50))
assert all(resource.getrlimit(kind)[0] > 0 for kind in kinds)
assert all(resource.getrlimit(kind)[0] != old[1] for kind, old in zip(kinds, before))
_unlimit()
assert [resource.getrlimit(kind) for kind in kinds] == [(old[1], old[1]) for old in before]
"""
    subprocess.run([sys.executable, "-c", script], check=True)
