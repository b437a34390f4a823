"""A Ray cluster of one node in processes of its own, that only its test may join."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PATIENCE = 240.0  # seconds


def new_token() -> dict[str, str]:
    """What lets processes with this environment join a cluster, and no others."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def own_cluster(*more: str, store_bytes: int = 100_000_000, **settings: str) -> Iterator[str]:
    """The address of a cluster; it is told who may join by this process's environment.

    more      further words for `ray start`
    settings  of Ray, by the names of their variables
    """
    port = free_port()
    others = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as short:  # sockets lie in it
        head = subprocess.Popen(
            [
                *(sys.executable, "-m", "ray.scripts.scripts"),
                *("start", "--head", "--block", f"--port={port}", "--num-cpus=2"),
                *("--include-dashboard=false", f"--object-store-memory={store_bytes}"),
                *("--node-ip-address=127.0.0.1", f"--temp-dir={short}", "--disable-usage-stats"),
                *more,
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**others, "RAY_worker_niceness": "0", **settings},
        )
        try:
            wait_for(port)
            yield f"127.0.0.1:{port}"
        finally:
            head.terminate()
            head.wait(PATIENCE)


def wait_for(port: int) -> None:
    """Until somebody listens."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise AssertionError("Ray did not start")
