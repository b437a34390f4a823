"""What can go wrong between a device and a server, as the device tells it.

SfumatoError
└── ServerError             the server did not do what it was asked
    ├── Unreachable         no answer in time; nothing is lost, the same bytes can be sent again
    ├── Refused             the server said no, and why
    └── BadAnswer           an answer that cannot be true, or is not one at all

Text that came from a server is cut, and its control characters are written out, before it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.errors import SfumatoError
from sfumato.core.text import visible

if TYPE_CHECKING:
    from sfumato.client.device import Prepared


class ServerError(SfumatoError):
    """The server did not do what it was asked.

    prepared  the release that was to be sent; hand it to `send` again, which costs nothing
              more. None where no release was involved.
    """

    prepared: Prepared | None = None


class Unreachable(ServerError):
    """No answer within the deadline and the number of tries."""


class Refused(ServerError):
    """The server said no.

    status  the HTTP status
    code    the server's short word for it, or "" where it gave none
    """

    def __init__(self, message: str, *, status: int, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class BadAnswer(ServerError):
    """An answer that cannot be true, or is not one at all."""


def printable(text: str, limit: int = 300) -> str:
    """Foreign text on one line: cut, and unable to move the cursor or change the colours."""
    short = text if len(text) <= limit else text[:limit] + " …"
    return visible(" ".join(short.split()))
