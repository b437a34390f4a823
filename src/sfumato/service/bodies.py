"""Bodies that arrive in pieces: counted while they stream, and not waited for forever.

A body has `body_seconds`, and longer only while it keeps a minimum pace. Whoever sends one byte
a minute gets 408 and holds nothing but a socket until then.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.types import Receive

from sfumato.core.errors import MalformedRelease
from sfumato.core.wire import HEADER, read_header
from sfumato.service.errors import ServiceError, busy, too_large
from sfumato.service.settings import Settings

_Result = TypeVar("_Result")


class Gone(Exception):
    """The client hung up; nobody is there to answer."""


async def pieces(
    receive: Receive, limit: int, settings: Settings, *, what: str
) -> AsyncIterator[bytes]:
    """The body of a request, at most `limit` bytes of it, at no less than the minimum pace."""
    start, count = time.monotonic(), 0
    while True:
        allowed = settings.body_seconds + count / settings.body_bytes_per_second
        try:
            message = await asyncio.wait_for(receive(), start + allowed - time.monotonic())
        except TimeoutError:
            raise ServiceError(
                408,
                "too-slow",
                f"{what} must arrive at {settings.body_bytes_per_second:g} bytes per second or "
                "faster; send it again on a better line.",
            ) from None
        if message["type"] == "http.disconnect":
            raise Gone
        piece: bytes = message.get("body", b"")
        count += len(piece)
        if count > limit:
            raise too_large(what, limit)
        if piece:
            yield piece
        if not message.get("more_body", False):
            return


def announced_length(request: Request, limit: int, what: str) -> int | None:
    """Content-Length, refused before a byte is read if it is too large."""
    text = request.headers.get("content-length")
    if text is None or not text.isdecimal():
        return None
    if len(text) > 18 or int(text) > limit:
        raise too_large(what, limit)
    return int(text)


class Buffers:
    """How many bytes of bodies this worker holds, and may hold, at once."""

    def __init__(self, limit: int) -> None:
        self._limit, self._held = limit, 0

    def take(self, count: int) -> None:
        if self._held + count > self._limit:
            raise busy("too many requests are being received; try again.")
        self._held += count

    def give_back(self, count: int) -> None:
        self._held -= count


@asynccontextmanager
async def received_release(
    request: Request, settings: Settings, buffers: Buffers
) -> AsyncIterator[bytes]:
    """The body of a localize request, counted as held until the block has ended.

    A lying header ends it after its first hundred bytes.
    """
    what, limit = "a release", settings.max_release_bytes
    announced = announced_length(request, limit, what)
    body = bytearray()
    checked = False
    try:
        async for piece in pieces(request.receive, limit, settings, what=what):
            buffers.take(len(piece))
            body += piece
            if not checked and len(body) >= HEADER.size:
                _check_header(bytes(body[: HEADER.size]), announced, settings)
                checked = True
        if not body:
            raise MalformedRelease("the body is empty; it must be exactly one release.")
        yield bytes(body)
    finally:
        buffers.give_back(len(body))


async def unless_hung_up(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of work; it is cancelled as soon as the client closes the connection."""

    async def hung_up() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working, watching = asyncio.create_task(work), asyncio.create_task(hung_up())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Gone
        return working.result()
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


def _check_header(head: bytes, announced: int | None, settings: Settings) -> None:
    header = read_header(head)
    if header.length > settings.max_release_bytes:
        raise too_large("a release", settings.max_release_bytes)
    if announced is not None and header.length != announced:
        raise MalformedRelease(
            f"the header announces {header.length} bytes, Content-Length {announced}."
        )
    if header.rows > settings.max_keypoints:
        raise too_large("a release", settings.max_keypoints, "keypoints")


class Digest:
    """RFC 9530's Content-Digest over a body, if the client sent one."""

    def __init__(self, request: Request) -> None:
        self._expected = _expected_digest(request.headers.get("content-digest"))
        self._hash = hashlib.sha256()

    def update(self, piece: bytes) -> None:
        self._hash.update(piece)

    def check(self) -> None:
        if self._expected is not None and self._hash.digest() != self._expected:
            raise ServiceError(
                400, "wrong-digest", "the body does not have its Content-Digest; send it again."
            )


def _expected_digest(field: str | None) -> bytes | None:
    if field is None:
        return None
    for part in field.split(","):
        name, _, value = part.strip().partition("=")
        if name == "sha-256" and len(value) > 2 and value[0] == value[-1] == ":":
            try:
                digest = base64.b64decode(value[1:-1], validate=True)
            except (binascii.Error, ValueError):
                break
            if len(digest) == 32:
                return digest
            break
    raise ServiceError(
        400, "unknown-digest", "Content-Digest must be sha-256=:<base64 of 32 bytes>:."
    )
