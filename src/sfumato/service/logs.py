"""Logs as JSON lines on stderr: what happened, never what was in it.

A request is logged with its route's template, not its path: no map id, no name, no key, no
payload, no coordinate. An error that nobody expected is logged by type and place in the source,
without its message, which may quote what a client sent.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

LOGGER = logging.getLogger("sfumato.service")
ERROR, WARNING = logging.ERROR, logging.WARNING


class JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        content: dict[str, Any] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "event": record.getMessage().strip(),
        }
        content |= getattr(record, "fields", {})
        if record.exc_info is not None and record.exc_info[1] is not None:
            content |= describe_error(record.exc_info[1])
        return json.dumps(content, ensure_ascii=False)


def describe_error(error: BaseException) -> dict[str, Any]:
    """Type and places, without the message."""
    return {"error": type(error).__name__, "at": _places(error.__traceback__)}


def _places(trace: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(trace)[-6:]
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames]


def configure(*, level: int = logging.INFO) -> None:
    """Send sfumato's and uvicorn's records to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("sfumato.service", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name != "uvicorn.error" else []
        logger.setLevel(level if name == "sfumato.service" else logging.WARNING)
        logger.propagate = name == "uvicorn.error"


def log(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """One line with named values."""
    LOGGER.log(level, event, extra={"fields": fields})
