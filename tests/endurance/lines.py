"""HTTP/1.1 by hand over one socket: what came, and whether an answer was cut."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

#: Nothing here takes so long unless it hangs.
PATIENCE = 300.0
_PIECES = 8


class Cut(Exception):
    """The server hung up; `begun` tells whether part of its answer had come."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("cut in an answer" if begun else "cut before an answer")
        self.begun = begun


@dataclass(frozen=True)
class Reply:
    """One whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Line:
    """One connection, opened when needed and kept as long as the server keeps it."""

    def __init__(self, url: str, key: str = "") -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._place = (parts.hostname, parts.port)
        self._key = key
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: dict[str, str] | None = None,
        pause: float = 0.0,
    ) -> Reply:
        """Send a request, its body in pieces with `pause` seconds between them; read the answer."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self._ask(method, path, body, headers or {}, pause)
            except BaseException:
                self.close()
                raise

    async def _ask(
        self, method: str, path: str, body: bytes, headers: dict[str, str], pause: float
    ) -> Reply:
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection(*self._place)
        except OSError:
            raise Cut(begun=False) from None
        reader, writer = self._streams
        told = {"Host": "endurance", "Content-Length": str(len(body)), **headers}
        if self._key:
            told.setdefault("Authorization", f"Bearer {self._key}")
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        size = len(body) // _PIECES + 1 if pause else max(len(body), 1)
        with suppress(ConnectionError):  # refused early: the answer may be there all the same
            writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
            for start in range(0, len(body), size):
                writer.write(body[start : start + size])
                await writer.drain()
                if pause:
                    await asyncio.sleep(pause)
        reply = await _read(reader)
        if reply.headers.get("connection", "").lower() == "close":
            self.close()
        return reply

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def ask_once(url: str, key: str, method: str, path: str, body: bytes = b"") -> Reply:
    """One request over a connection of its own."""
    line = Line(url, key)
    try:
        return await line.ask(method, path, body)
    finally:
        line.close()


async def _read(reader: asyncio.StreamReader) -> Reply:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        raise Cut(begun=bool(error.partial)) from None
    except ConnectionError:
        raise Cut(begun=False) from None
    first, *rest = head.decode("latin-1").strip().split("\r\n")
    status = int(first.split()[1])
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in rest)
    }
    if status in (204, 304):
        return Reply(status, headers, b"")
    try:
        body = await reader.readexactly(int(headers["content-length"]))
    except (asyncio.IncompleteReadError, ConnectionError):
        raise Cut(begun=True) from None
    return Reply(status, headers, body)
