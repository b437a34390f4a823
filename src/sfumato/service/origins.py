"""Which other web sites may let their visitors' browsers ask this service: those on a list.

A browser asks another origin only where the service names that origin. It is compared as a whole,
and there is no "all of them": every request carries a key, which any page could then use.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.core.gravity import GRAVITY_HEADER

_METHODS = "GET, POST"
_SENT = f"Authorization, Content-Type, If-None-Match, {GRAVITY_HEADER}"
_SEEN = "ETag, Retry-After, X-Request-Id"
_SECONDS = "600"


class Origins:
    """ASGI middleware around all others: CORS for exactly these origins, and only for /v1/."""

    def __init__(self, app: ASGIApp, *, allowed: Sequence[str]) -> None:
        self._app, self._allowed = app, frozenset(allowed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._allowed or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        is_allowed = origin in self._allowed

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                answer.add_vary_header("Origin")
                if is_allowed:
                    answer["Access-Control-Allow-Origin"] = origin
                    answer["Access-Control-Expose-Headers"] = _SEEN
            await send(message)

        if is_allowed and _asks_first(scope, headers):
            await _permit(named)
        else:
            await self._app(scope, receive, named)


def _asks_first(scope: Scope, headers: Headers) -> bool:
    return scope["method"] == "OPTIONS" and "access-control-request-method" in headers


async def _permit(send: Send) -> None:
    """What a page may ask with; the question itself then needs a key as everybody's does."""
    headers = {
        "Access-Control-Allow-Methods": _METHODS,
        "Access-Control-Allow-Headers": _SENT,
        "Access-Control-Max-Age": _SECONDS,
        "Cache-Control": "no-store",
    }
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": 204, "headers": raw})
    await send({"type": "http.response.body", "body": b""})
