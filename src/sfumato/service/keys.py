"""API keys: 256 random bits each, of which only the hash is kept.

A key reads `sfk_<id>_<secret>`. The id finds the row, the secret's SHA-256 is compared in
constant time, and an id that does not exist costs the same work. A slow password hash would
protect guessable secrets; nobody guesses 256 bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sfumato.core.errors import InvalidInput
from sfumato.service.database import Database
from sfumato.service.errors import key_expired

ROLES = ("owner", "query")
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"sfk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_SPAN = re.compile(r"([0-9]{1,5})([dhm])")
_UNITS = {"d": "days", "h": "hours", "m": "minutes"}
_NOBODY = hashlib.sha256(b"no such key").digest()


@dataclass(frozen=True)
class Key:
    """Who asks. The secret is nowhere."""

    id: str
    tenant: str
    role: str
    created: str
    revoked: str | None = None
    expires: str | None = None

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and self.expires <= now()


_COLUMNS = "id, tenant, role, created, revoked, expires"


class Keys:
    """The keys of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        tenant: str,
        role: str,
        *,
        expires: str | None = None,
        deliver: Callable[[str], None] | None = None,
    ) -> tuple[Key, str]:
        """A new key and its only full text.

        `deliver` gets the text before the key is valid; if it fails there is no key.
        """
        if not _TENANT.fullmatch(tenant):
            raise InvalidInput(
                "tenant must be 1 to 64 letters, digits or . _ - and begin with one of the first "
                f"two, got {tenant!r}."
            )
        if role not in ROLES:
            raise InvalidInput(f"role must be owner or query, got {role!r}.")
        key = Key(secrets.token_hex(8), tenant, role, now(), expires=expires)
        secret = secrets.token_urlsafe(32)
        text = f"sfk_{key.id}_{secret}"
        with self._database.write() as database:
            database.execute(
                "INSERT INTO keys (id, tenant, role, digest, created, expires) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (key.id, tenant, role, _digest(secret), key.created, expires),
            )
            if deliver is not None:
                deliver(text)
        return key, text

    def all(self) -> list[Key]:
        rows = self._database.connection().execute(
            f"SELECT {_COLUMNS} FROM keys ORDER BY created, id"  # noqa: S608
        )
        return [Key(*row) for row in rows]

    def revoke(self, key_id: str) -> Key:
        """From the next request on the key is unknown; what it is uploading will not appear."""
        with self._database.write() as database:
            database.execute(
                "UPDATE keys SET revoked = ? WHERE id = ? AND revoked IS NULL", (now(), key_id)
            )
            row = database.execute(
                f"SELECT {_COLUMNS} FROM keys WHERE id = ?",  # noqa: S608
                (key_id,),
            ).fetchone()
        if row is None:
            raise InvalidInput(f"there is no key {key_id!r}; `sfumato keys list` shows all.")
        return Key(*row)

    def find(self, text: str) -> Key | None:
        """The key with this full text, or None; every failure takes the same steps.

        A key that expired is refused with a sentence of its own.
        """
        parts = _KEY.fullmatch(text)
        key_id, secret = parts.groups() if parts else ("0" * 16, "")
        row = (
            self._database.connection()
            .execute(
                f"SELECT {_COLUMNS}, digest FROM keys WHERE id = ?",  # noqa: S608
                (key_id,),
            )
            .fetchone()
        )
        kept = row[6] if row is not None else _NOBODY
        same = hmac.compare_digest(_digest(secret), kept)
        if row is None or not same or parts is None:
            return None
        key = Key(*row[:6])
        if key.revoked is None and key.is_expired:  # only who has the secret is told so
            raise key_expired(key.expires)
        return key if key.revoked is None else None


def still_valid(database: sqlite3.Connection, key: Key) -> bool:
    """Whether a key that was good a moment ago still is, inside a transaction."""
    row = database.execute(
        "SELECT 1 FROM keys WHERE id = ? AND role = ? AND revoked IS NULL "
        "AND (expires IS NULL OR expires > ?)",
        (key.id, key.role, now()),
    ).fetchone()
    return row is not None


def now() -> str:
    """RFC 3339, UTC, whole seconds; such texts sort as the moments do."""
    return _text(datetime.now(UTC))


def parse_expiry(text: str) -> str:
    """When a key ends: in so many days, hours or minutes (30d, 12h, 90m), or a date in UTC."""
    relative = _SPAN.fullmatch(text)
    try:
        if relative:
            moment = datetime.now(UTC) + timedelta(**{_UNITS[relative[2]]: int(relative[1])})
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"--expires must be like 30d, 12h, 90m or 2030-01-31, got {text!r}."
        ) from None
    if _text(moment) <= now():
        raise InvalidInput(f"--expires must be in the future, got {text!r}.")
    return _text(moment)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
