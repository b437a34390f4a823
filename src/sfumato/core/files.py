"""Files that others made: only plain files are opened, and no more is read than a limit allows."""

from __future__ import annotations

import errno
import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput


def open_plain(path: str | Path, *, follow_links: bool = True) -> BufferedReader:
    """Open a plain file for reading; folders, pipes and devices are refused before they block.

    `follow_links=False` also refuses a symbolic link: for files of a folder that someone else
    packed, whose links may lead anywhere. Errors of the system are raised as they are.
    """
    _check_plain(path, Path(path).stat(follow_symlinks=follow_links).st_mode)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:  # it became a link just now
            raise _link(path) from None
        raise
    file = os.fdopen(handle, "rb")
    try:
        _check_plain(path, os.fstat(handle).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def read_limited(
    path: str | Path, limit: int, *, what: str = "file", follow_links: bool = True
) -> bytes:
    """All bytes of a plain file that has at most `limit`; `what` names it in the refusal."""
    with open_plain(path, follow_links=follow_links) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InvalidInput(f"a {what} may have {limit:,} bytes, {path} has more; name another one.")
    return data


def parse_json(data: bytes | str) -> Any:
    """What JSON holds; any other text, bytes that are not UTF-8 and endless nesting: ValueError."""
    try:
        return json.loads(data.decode("utf-8") if isinstance(data, bytes) else data)
    except (ValueError, RecursionError):
        # Undecodable bytes, numbers of thousands of digits and syntax are all ValueErrors.
        raise ValueError("not valid JSON") from None


def _check_plain(path: str | Path, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise _link(path)
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise InvalidInput(f"{path} must be a plain file, it is {kind}; name another one.")


def _link(path: str | Path) -> InvalidInput:
    return InvalidInput(
        f"{path} must be a plain file, it is a symbolic link; put the file itself in its place."
    )
