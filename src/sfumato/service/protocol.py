"""HTTP/1.1 with what uvicorn lacks: a deadline for headers, and room left for files.

A socket that never asks is a leak. Sockets, maps and metadata share one limit of open files, so
there are fewer sockets than that: the next ones are asked to come back.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from contextlib import suppress
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.service.settings import Settings

_BODY = b'{"error": "too-slow", "detail": "the request\'s header came too slowly; send it again."}'
_ANSWER = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n" % len(_BODY)
) + _BODY


_FILES = 256  # kept free for maps, uploads and metadata
_REFUSED = 64  # sockets beyond the limit that are answered before they are closed
_WANTED = 65_536
_LINES, _BYTES_PER_LINE = 512, 16  # so many lines may be short, further ones not on average


def raise_file_limit() -> None:
    """The usual soft limit of open files is too low for a server; take what may be had."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def guard_connections(settings: Settings) -> None:
    """Set the limits once, before the first connection; uvicorn makes the instances."""
    GuardedHttp.seconds = settings.header_seconds
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = _WANTED if files == resource.RLIM_INFINITY else files
    most = max(1, room - _FILES - _REFUSED)
    GuardedHttp.max_connections = min(settings.max_connections, most)
    GuardedHttp.max_per_address = settings.max_connections_per_address or most


class GuardedHttp(H11Protocol):
    """Closes a connection whose request's header is not there in time, or that is one too many."""

    seconds = 10.0
    max_connections = 4096
    max_per_address = 512
    open_from: ClassVar[Counter[str]] = Counter()  # connections, by address

    _timer: asyncio.TimerHandle | None = None
    _address = ""
    _num_bytes = _num_lines = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""
        self.open_from[self._address] += 1
        excess = max(
            len(self.connections) - self.max_connections,
            self.open_from[self._address] - self.max_per_address,
        )
        if excess > _REFUSED:
            transport.abort()
            return
        if excess > 0:
            self.app_state = {**self.app_state, "full": True}  # the edge answers 503
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self.open_from[self._address] -= 1
        if not self.open_from[self._address]:
            del self.open_from[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_shredded(data):
            self.transport.abort()
            return
        if self._timer is None and self._is_idle():  # the first byte of a further request
            self._wait()
        super().data_received(data)
        if not self._is_idle():
            self._stop()

    def _is_shredded(self, data: bytes) -> bool:
        """Whether what came so far is cut into pieces of a few bytes.

        Parsing takes time for each chunk and each line, not for each byte: bodies in chunks of one
        byte would keep a worker busy for seconds. Bodies of real clients have a line end in 65,536
        bytes by chance, and two for each chunk of some kilobytes.
        """
        self._num_bytes += len(data)
        self._num_lines += data.count(b"\n")
        return self._num_lines > _LINES and self._num_lines * _BYTES_PER_LINE > self._num_bytes

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
