"""What the service refuses, as a status, a short code and one sentence."""

from __future__ import annotations

import errno
import math
import sqlite3
from typing import Any

from sfumato.core.errors import (
    InvalidInput,
    MalformedRelease,
    Mismatch,
    SfumatoError,
)


class ServiceError(Exception):
    """An answer that is not the one asked for. `retry_after` is in seconds."""

    def __init__(
        self, status: int, code: str, detail: str, *, retry_after: float | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.headers: dict[str, str] = {}
        if retry_after is not None:
            self.headers["Retry-After"] = str(max(1, math.ceil(retry_after)))
        if status == 401:
            self.headers["WWW-Authenticate"] = "Bearer"

    def to_dict(self) -> dict[str, Any]:
        """For another process."""
        return {
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
            "headers": self.headers,
        }

    @staticmethod
    def from_dict(content: dict[str, Any]) -> ServiceError:
        error = ServiceError(content["status"], content["code"], content["detail"])
        error.headers.update(content["headers"])
        return error


def unauthorized() -> ServiceError:
    return ServiceError(
        401, "unauthorized", "a valid key is needed: Authorization: Bearer sfk_<id>_<secret>."
    )


def key_expired(when: str | None) -> ServiceError:
    return ServiceError(
        401,
        "key-expired",
        f"a valid key is needed: this one expired on {when}; ask the operator for a new one "
        "(`sfumato keys create`).",
    )


def forbidden_role() -> ServiceError:
    return ServiceError(403, "owner-needed", "this needs a key of the role owner.")


def no_such_map() -> ServiceError:
    return ServiceError(404, "no-such-map", "there is no map with this id.")


def map_damaged() -> ServiceError:
    return ServiceError(
        500, "map-damaged", "this map cannot be opened any more; tell the operator."
    )


def too_large(what: str, limit: int, unit: str = "bytes") -> ServiceError:
    return ServiceError(413, "too-large", f"{what} may have at most {limit} {unit}.")


def busy(detail: str, retry_after: float = 1.0) -> ServiceError:
    return ServiceError(503, "busy", detail, retry_after=retry_after)


def from_sfumato(error: SfumatoError) -> ServiceError:
    """The answer to a request that the library refused."""
    if isinstance(error, OSError):
        return from_storage(error)
    if isinstance(error, MalformedRelease):
        return ServiceError(400, "malformed-release", str(error))
    if isinstance(error, Mismatch):
        return ServiceError(409, "mismatch", str(error))
    if isinstance(error, InvalidInput):
        return ServiceError(400, "invalid", str(error))
    return internal()


def internal() -> ServiceError:
    return ServiceError(500, "internal", "the service failed; the operator's log says where.")


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_TOO_MANY_OPEN = {errno.EMFILE, errno.ENFILE}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}


def from_storage(error: OSError | sqlite3.Error) -> ServiceError:
    """The answer when the disk or the metadata refuses; nothing was changed."""
    text = str(error)
    if getattr(error, "errno", None) in _FULL or "full" in text:
        return disk_full()
    if getattr(error, "errno", None) in _CLOSED or "readonly" in text or "unable to open" in text:
        return read_only()
    if getattr(error, "errno", None) in _TOO_MANY_OPEN:
        return busy("too many files and connections are open; try again.", 2)
    if "locked" in text or "busy" in text:
        return busy("the store is busy with other changes; try again.")
    return ServiceError(
        507, "store-failed", "the store cannot be used now; nothing was changed. Tell the operator."
    )


def disk_full() -> ServiceError:
    return ServiceError(507, "disk-full", "the store has no room for this; nothing was changed.")


def read_only() -> ServiceError:
    return ServiceError(
        507, "read-only", "this store cannot be written to; change maps on the server that can."
    )
