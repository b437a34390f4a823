"""How often a key may ask: a token bucket per key, shared by all workers of a machine.

A key's limit is the same however many workers there are and whichever of them its connections
reach. The table lives in a throw-away SQLite file; losing it forgives what was spent. Several
machines behind a balancer each keep their own.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from sfumato.service.errors import ServiceError


class Rates:
    """Token buckets in a file. `per_minute=0` means no limit."""

    def __init__(
        self,
        path: Path | str,
        *,
        per_minute: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,  # counts from boot: one clock for all workers
    ) -> None:
        self._per_second, self._burst, self._clock = per_minute / 60, float(burst), clock
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            path, timeout=5, isolation_level=None, check_same_thread=False
        )
        self._database.execute("PRAGMA journal_mode = MEMORY")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS buckets "
            "(key TEXT PRIMARY KEY, tokens REAL NOT NULL, moment REAL NOT NULL) WITHOUT ROWID"
        )

    def spend(self, key_id: str) -> None:
        """Take one token, or refuse with the seconds until there is one."""
        tokens = self._take(key_id, needed=1.0, amount=1.0)
        if tokens < 1:
            raise ServiceError(
                429,
                "rate-limited",
                f"this key may ask {self._per_second * 60:g} times a minute; wait and try again.",
                retry_after=(1 - tokens) / self._per_second,
            )

    def charge(self, key_id: str, amount: float) -> None:
        """Take more tokens for a costly request; refuse if earlier ones are not paid for yet.

        There may be fewer tokens than that: the key waits afterwards until it has paid.
        """
        tokens = self._take(key_id, needed=0.0, amount=amount)
        if tokens < 0:
            raise ServiceError(
                429,
                "rate-limited",
                "this key has asked for so much computing that it must wait; send fewer keypoints "
                "or ask less often.",
                retry_after=(1 - tokens) / self._per_second,
            )

    def _take(self, key_id: str, *, needed: float, amount: float) -> float:
        """How many tokens there were; `amount` is gone if that were at least `needed`."""
        if not self._per_second:
            return math.inf
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            now = self._clock()
            row = self._database.execute(
                "SELECT tokens, moment FROM buckets WHERE key = ?", (key_id,)
            ).fetchone()
            tokens, moment = row or (self._burst, now)
            tokens = min(self._burst, tokens + max(now - moment, 0.0) * self._per_second)
            left = tokens - amount if tokens >= needed else tokens
            self._database.execute(
                "INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)", (key_id, left, now)
            )
            self._database.execute("COMMIT")
        return float(tokens)

    def close(self) -> None:
        self._database.close()
