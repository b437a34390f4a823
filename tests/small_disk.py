"""Real disks: one of one megabyte, and one that is read-only; gone with their process."""

from __future__ import annotations

import functools
import subprocess
import sys
from pathlib import Path

import pytest

_READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
_MOUNT = 'mount -t tmpfs -o size=1m none "$1" && shift && exec "$@"'
_WAYS = (("unshare", "-m"), ("unshare", "-rm"))


@functools.cache
def _way() -> tuple[str, ...] | None:
    """How this system lets a test mount something: as root, or as the root of a namespace."""
    for way in _WAYS:
        words = [*way, "sh", "-c", _MOUNT, "sh", "/mnt", "true"]
        try:
            if subprocess.run(words, capture_output=True, check=False).returncode == 0:
                return way
        except OSError:
            continue
    return None


def on_read_only_disk(folder: Path, script: str, *arguments: object) -> str:
    """Run a Python script while `folder` can only be read, by root too; what it printed."""
    return on_small_disk(folder, script, *arguments, mount=_READ_ONLY)


def on_small_disk(folder: Path, script: str, *arguments: object, mount: str = _MOUNT) -> str:
    """Run a Python script while `folder` is a disk of one megabyte; what it printed."""
    way = _way()
    if way is None:
        pytest.skip("no disk can be mounted here: neither root nor user namespaces are allowed.")
    folder.mkdir(exist_ok=True)
    words = [*way, "sh", "-c", mount, "sh", str(folder), sys.executable, "-c", PRELUDE + script]
    run = subprocess.run(
        [*words, str(folder), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    return run.stdout


PRELUDE = """
import sys
from pathlib import Path

disk = Path(sys.argv[1])

def fill(leave=0):
    with (disk / "ballast").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    if leave:
        with (disk / "ballast").open("r+b") as file:
            file.truncate(file.seek(0, 2) - leave)

def command(*words):
    from sfumato.cli.app import main
    try:
        main([str(word) for word in words])
    except SystemExit as stopped:
        return stopped.code
"""
