"""Whose turn it is: a waiting line in which no tenant can stand in another's way.

Tenants take turns by the seconds they have used, not by how much they ask (start-time fair
queueing): whoever has used least is next. If the line is full, the tenant with most waiting jobs
loses its newest one to whoever has fewer. A job that runs for long gives its place back: it goes
on beside the others, and they no longer wait for it. Its tenant has no more jobs running at once
than there are places, so long jobs of one tenant never take the places of all.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Generic, TypeVar

_Job = TypeVar("_Job")
LONG_PER_PLACE = 2  # jobs that have left their place, for each place: they bound the memory


class FairQueue(Generic[_Job]):
    """Jobs of many tenants for `places` that compute, with at most `waiting` in line."""

    def __init__(self, *, places: int, waiting: int) -> None:
        self._places, self._waiting = places, waiting
        self._lines: dict[str, deque[_Job]] = {}
        self._running: Counter[str] = Counter()  # by tenant
        self._long = 0  # of those, how many have left their place
        self._used: dict[str, float] = {}  # seconds, on a clock that all tenants share
        self._clock = 0.0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, tenant: str, job: _Job) -> list[_Job]:
        """Stand in line; the jobs that were turned away, which may be the new one itself."""
        with self._changed:
            line = self._lines.setdefault(tenant, deque())
            line.append(job)
            self._changed.notify()
            # Whoever finds a free place need not wait at all.
            free = max(0, self._places - self._in_places)
            if sum(map(len, self._lines.values())) <= self._waiting + free:
                return []
            longest = max(self._lines.values(), key=len)
            turned_away = (longest if len(longest) > len(line) else line).pop()
            self._lines = {name: jobs for name, jobs in self._lines.items() if jobs}
            return [turned_away]

    def take(self) -> tuple[str, _Job] | None:
        """Wait for the next job and take a place for it; None once the queue is closed."""
        with self._changed:
            while not self._closed:
                tenant = self._next()
                if tenant is not None:
                    line = self._lines[tenant]
                    job = line.popleft()
                    if not line:
                        del self._lines[tenant]
                    self._clock = self._start_of(tenant)
                    self._running[tenant] += 1
                    return tenant, job
                self._changed.wait()
            return None

    def leave_place(self, tenant: str) -> bool:
        """A job that has run for long makes room for another tenant that waits for it.

        False: nobody else waits, or too many have done so already.
        """
        with self._changed:
            if self._long >= LONG_PER_PLACE * self._places or not self._lines.keys() - {tenant}:
                return False
            self._long += 1
            self._changed.notify_all()
            return True

    def done(self, tenant: str, seconds: float, *, has_left: bool) -> None:
        """A job has ended after so many seconds; `has_left` says that its place was left before."""
        with self._changed:
            self._long -= has_left
            self._running[tenant] -= 1
            self._used[tenant] = self._start_of(tenant) + seconds
            self._used = {name: used for name, used in self._used.items() if used > self._clock}
            self._running += Counter()  # drop tenants that have none
            self._changed.notify_all()

    def remove(self, tenant: str, job: _Job) -> None:
        """Nobody waits for this job any more; one that is running already is not touched."""
        with self._changed:
            line = self._lines.get(tenant)
            if line is not None and job in line:
                line.remove(job)
                if not line:
                    del self._lines[tenant]

    def close(self) -> list[_Job]:
        """No further job is given out; those that were in line."""
        with self._changed:
            self._closed = True
            left = [job for line in self._lines.values() for job in line]
            self._lines.clear()
            self._changed.notify_all()
            return left

    @property
    def running(self) -> int:
        return self._running.total()

    @property
    def _in_places(self) -> int:
        return self._running.total() - self._long

    def _next(self) -> str | None:
        if self._in_places >= self._places:
            return None
        ready = [name for name in self._lines if self._running[name] < self._places]
        return min(ready, key=self._start_of, default=None)

    def _start_of(self, tenant: str) -> float:
        return max(self._clock, self._used.get(tenant, 0.0))
