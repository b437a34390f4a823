"""The audit log: which key did what, when, and what it cost. Never what was in it.

One JSON line per request that came with a valid key: time, request id, key id, tenant, method,
the route's template, status, cost. No payload, no secret, no coordinate, no map id, no name. It
is `audit.log` in the store, shared by all workers, and moved on to `audit.log.1` … when it is
full; the oldest is dropped. A read-only server, which must not write there, sends the same lines
to its log.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.core.locks import wait_for_lock
from sfumato.service.keys import now
from sfumato.service.logs import describe_error, log

NAME = "audit.log"
OLDER = 8  # files kept beside the current one


class AuditLog:
    """Lines appended by any number of processes to one file of bounded size."""

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self._path, self._max_bytes = path, max_bytes
        self._lock = threading.Lock()
        self._file: int | None = None
        self._failed = False

    def write(self, fields: dict[str, Any]) -> None:
        """Append a line. A disk that takes none is no reason not to answer; the log says so."""
        line = json.dumps(fields).encode() + b"\n"
        try:
            with self._lock:
                os.write(self._current(len(line)), line)
            self._failed = False
        except OSError as error:
            if not self._failed:
                log("audit lines are being lost", level=logging.ERROR, **describe_error(error))
            self._failed = True

    def _current(self, wanted: int) -> int:
        """The file that has room for a line; others may exchange it at any moment."""
        while True:
            file = self._opened()
            size = os.fstat(file).st_size
            if not size or size + wanted <= self._max_bytes:
                return file
            wait_for_lock(file)
            if self._is_current(file):
                self._shift()
            self.close()  # lets go of the lock, too

    def _opened(self) -> int:
        if self._file is not None and not self._is_current(self._file):
            self.close()
        if self._file is None:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return self._file

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False

    def _shift(self) -> None:
        for number in range(OLDER - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


class Audit:
    """ASGI middleware around all others: one line per request of a valid key."""

    def __init__(self, app: ASGIApp, *, store: Path, read_only: bool, max_bytes: int) -> None:
        self._app = app
        self._log = None if read_only else AuditLog(store / NAME, max_bytes=max_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._note(scope, status)

    def _note(self, scope: Scope, status: int) -> None:
        state = scope.get("state", {})
        if "key_id" not in state:
            return
        fields = {
            "request": state.get("request_id"),
            "key": state["key_id"],
            "tenant": state.get("tenant"),
            "method": scope["method"],
            "route": getattr(scope.get("route"), "path", "unmatched"),
            "status": status or 499,  # the client went away
            "cost": state.get("cost", 0),
        }
        if self._log is None:
            log("audit", **fields)
        else:
            self._log.write({"time": now(), **fields})
