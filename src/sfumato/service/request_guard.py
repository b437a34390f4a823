"""Around every request: an id, a log line, metrics, and an answer whatever happens inside."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.service.bodies import Gone
from sfumato.service.errors import ServiceError, busy, internal
from sfumato.service.logs import describe_error, log
from sfumato.service.metrics import Metrics

_LINGER_SECONDS = 2.0
_LINGER_BYTES = 8 << 20
MAX_HEADER_BYTES = 16_384
#: The service asks itself whether it is ready; that is neither logged nor counted.
STARTING = "x-sfumato-starting"


class RequestGuard:
    """ASGI middleware. Reads what is left of a refused body for a moment before it closes.

    A socket closed on unread bytes is reset, and the client may lose the answer that says why.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, receive, send)
        scope.setdefault("state", {})["request_id"] = request.id
        self._metrics.in_flight.inc()
        try:
            if scope["state"].get("full"):
                await request.answer(_full())
            elif _header_bytes(scope) > MAX_HEADER_BYTES:
                await request.answer(_long_header())
            else:
                await self._app(scope, request.receive, request.send)
        except Gone:
            request.status = request.status or 499
        except asyncio.CancelledError:
            # Past the grace time: an answer is still better than a dead line.
            if not request.status:
                await request.answer(
                    busy("this server is about to stop; ask again.", 2), wait=False
                )
            raise
        except Exception as error:  # noqa: BLE001 - the last door: it becomes a 500 and a log line
            log("failed", level=logging.ERROR, request=request.id, **describe_error(error))
            if not request.status:
                await request.answer(internal())
        finally:
            self._metrics.in_flight.dec()
            if not _asks_itself(scope):
                self._account(scope, request)

    def _account(self, scope: Scope, request: _Request) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        seconds = time.perf_counter() - request.start
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._metrics.requests.labels(method, route, str(request.status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        log(
            "request",
            request=request.id,
            method=method,
            route=route,
            status=request.status,
            ms=round(seconds * 1000, 1),
            tenant=scope["state"].get("tenant"),
        )


_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}


class _Request:
    """One request's receive and send, watched."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.id = secrets.token_hex(8)
        self.start = time.perf_counter()
        self.status = 0
        self._receive, self._send = receive, send
        self._body_is_read = not _has_body(scope)

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._body_is_read = True
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", []), (b"x-request-id", self.id.encode())]
            headers.append((b"x-content-type-options", b"nosniff"))
            if not any(name.lower() == b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            if not self._body_is_read:
                headers.append((b"connection", b"close"))
            message = {**message, "headers": headers}
        elif not message.get("more_body", False) and not self._body_is_read:
            await self._send({**message, "more_body": True})
            await self._linger()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _linger(self) -> None:
        count, end = 0, time.monotonic() + _LINGER_SECONDS
        while not self._body_is_read and count < _LINGER_BYTES:
            try:
                message = await asyncio.wait_for(self.receive(), end - time.monotonic())
            except TimeoutError:
                return
            count += len(message.get("body", b""))

    async def answer(self, error: ServiceError, *, wait: bool = True) -> None:
        """An error, without help from the framework; `wait` for what is left of the body."""
        body = json.dumps({"error": error.code, "detail": error.detail}).encode()
        headers: list[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        headers += [
            (name.lower().encode(), value.encode()) for name, value in error.headers.items()
        ]
        start: dict[str, Any] = {"type": "http.response.start", "status": error.status}
        await self.send({**start, "headers": headers})
        self._body_is_read |= not wait
        await self.send({"type": "http.response.body", "body": body})


def _full() -> ServiceError:
    error = busy("too many connections are open; try again.", 2)
    error.headers["Connection"] = "close"
    return error


def _long_header() -> ServiceError:
    return ServiceError(
        431, "header-too-large", f"a request's header may have at most {MAX_HEADER_BYTES} bytes."
    )


def _header_bytes(scope: Scope) -> int:
    """The web server bounds only a header that comes in pieces, not one that comes at once."""
    line = len(scope.get("raw_path") or b"") + len(scope["query_string"])
    return line + sum(len(name) + len(value) for name, value in scope["headers"])


def _asks_itself(scope: Scope) -> bool:
    return scope.get("path") == "/readyz" and STARTING.encode() in dict(scope["headers"])


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
