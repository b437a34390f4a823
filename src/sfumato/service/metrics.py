"""Prometheus metrics; with several workers they are summed over all of them.

prometheus_client's multiprocess mode keeps one file per process in PROMETHEUS_MULTIPROC_DIR, which
`run.py` sets before a worker imports this. Nothing names a tenant, a key or a map.
"""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """Counters of one process, shown for all."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "sfumato_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "sfumato_request_seconds",
            "From the first byte of a request to the last of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.localized = Counter(
            "sfumato_localizations",
            "Releases worked on, by kind and outcome.",
            ("kind", "localized"),
            registry=self._registry,
        )
        self.waiting = Gauge(
            "sfumato_queue_jobs",
            "Localizations in line or running.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.in_flight = Gauge(
            "sfumato_requests_in_flight",
            "Requests being received or answered.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        folder = os.environ.get(VARIABLE)
        if folder is None:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def forget_dead_workers() -> None:
    """Remove the gauges of processes that are gone; their counters stay counted."""
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return
    for file in Path(folder).glob("gauge_live*_*.db"):
        pid = file.stem.rpartition("_")[2]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            file.unlink(missing_ok=True)
