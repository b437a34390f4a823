"""HTTP/1.1 with a deadline for headers, which uvicorn lacks: a socket that never asks is a leak."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_BODY = b'{"error": "too-slow", "detail": "the request\'s header came too slowly; send it again."}'
_ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n" % len(_BODY)
) + _BODY


class HeaderDeadline(H11Protocol):
    """Closes a connection whose request's header is not there in time."""

    #: Set once before the first connection; uvicorn makes the instances.
    seconds = 10.0

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._timer is None and self._is_idle():  # the first byte of a further request
            self._wait()
        super().data_received(data)
        if not self._is_idle():
            self._stop()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_idle() and not self.transport.is_closing():
            self.transport.write(_ANSWER)
            self.transport.close()
