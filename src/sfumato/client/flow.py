"""One question to a server: sent, sent again where that is safe, and read with suspicion."""

from __future__ import annotations

import json
import logging
import secrets
import time
from dataclasses import dataclass
from typing import Any, BinaryIO

import httpx

from sfumato.client.errors import Refused, Unreachable, printable
from sfumato.client.steps import Flow, Reply, Send, Wait
from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput

#: The server is busy or a proxy before it lost the way: the same bytes may be sent again.
_COME_BACK = (408, 429, 502, 503, 504)
_SMALL = 1 << 16
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long a client tries.

    timeout   seconds one operation on the connection may take
    deadline  seconds one question may take, all tries and waits together
    tries     how often it is sent at most
    """

    timeout: float = 30.0
    deadline: float = 120.0
    tries: int = 4

    def __post_init__(self) -> None:
        for name in ("timeout", "deadline"):
            if not 0 < as_number(name, getattr(self, name)) <= 86_400:
                raise InvalidInput(
                    f"{name} must be above 0 and at most a day in seconds, "
                    f"got {getattr(self, name)!r}."
                )
        check_count("tries", self.tries, low=1, high=100)


def ask(
    request: httpx.Request,
    patience: Patience,
    *,
    max_bytes: int = _SMALL,
    sink: BinaryIO | None = None,
    repeatable: bool = True,
) -> Flow[Reply]:
    """Send a request until it is answered; every try sends the same bytes.

    repeatable  False for what must not be done twice: it is then sent again only where it
                surely was not taken, before a connection stood or when the server was busy
    """
    deadline = time.monotonic() + patience.deadline
    why = ""
    for tried in range(1, patience.tries + 1):
        pause: float | None = None
        try:
            _log.info("asking the server, try %d of %d", tried, patience.tries)
            reply: Reply = yield Send(request, max_bytes, deadline, sink)
        except httpx.TransportError as problem:
            why = _why(problem)
            if not repeatable and not isinstance(
                problem, httpx.ConnectError | httpx.ConnectTimeout
            ):
                raise Unreachable(
                    f"the connection to the server was lost ({why}), and it may have done what "
                    "was asked; look before asking again."
                ) from None
        except httpx.HTTPError as problem:
            raise Unreachable(f"the server cannot be asked ({_why(problem)}).") from None
        else:
            _log.info("the server answered with status %d", reply.status)
            if reply.status not in _COME_BACK:
                return _accepted(reply)
            pause = _retry_after(reply)
            why = f"it is busy ({_explanation(reply)})"
            if pause is not None:
                why += f" and asks to come back after {pause:.0f} s"
        if pause is None:  # twice as long each time, not all clients at once
            pause = 0.25 * 2 ** (tried - 1) * (0.5 + secrets.randbelow(1024) / 1024)
        if tried == patience.tries or time.monotonic() + pause >= deadline:
            break
        yield Wait(pause)
    raise Unreachable(
        f"the server gave no answer in {tried} of {patience.tries} tries within "
        f"{patience.deadline:g} s: {why}."
    )


def _accepted(reply: Reply) -> Reply:
    if 200 <= reply.status < 300:
        return reply
    if 300 <= reply.status < 400:
        raise Refused(
            f"the server redirects to another address (status {reply.status}), which is not "
            "followed: what leaves this device goes where you said; give the final address.",
            status=reply.status,
        )
    body = _json_of(reply)
    code = printable(str(body.get("error", "")), 60)
    verb = "refused" if reply.status < 500 else "failed"
    raise Refused(f"the server {verb} ({_explanation(reply)}).", status=reply.status, code=code)


def _explanation(reply: Reply) -> str:
    """Status, the server's own sentence, and the number under which its log has the rest."""
    detail = _json_of(reply).get("detail")
    text = f"status {reply.status}"
    if isinstance(detail, str) and printable(detail):
        text += f": {printable(detail).rstrip('.')}"
    request_id = printable(reply.headers.get("x-request-id", ""), 64)
    return text + (f"; request {request_id}" if request_id else "")


def _json_of(reply: Reply) -> dict[str, Any]:
    try:
        content = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _retry_after(reply: Reply) -> float | None:
    text = reply.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 8 else None


def _why(problem: httpx.HTTPError) -> str:
    if isinstance(problem, httpx.TimeoutException):
        return "it took too long"
    return printable(str(problem), 120) or type(problem).__name__
