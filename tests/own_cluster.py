"""Ray clusters that only their tests may join, and ends for whatever would wait for ever."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 600.0  # seconds, on a machine that others use too
#: Settings of Ray for such a machine.
UNHURRIED = {
    "GRPC_ENABLE_FORK_SUPPORT": "0",  # with it, some of the processes that Ray starts die at once
    "RAY_health_check_timeout_ms": "60000",  # before a node that is slow is said to be lost
    "RAY_gcs_server_port_wait_time_s": "120",
    "RAY_worker_niceness": "0",
    "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
}
_STARTS = 3  # Ray gives a node 30 s to start, which may not be enough


def new_token() -> dict[str, str]:
    """What lets processes with this environment join a cluster, and no others."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@dataclass(frozen=True)
class OwnCluster:
    """One node in processes of its own.

    address  for those inside
    client   for those outside
    """

    address: str
    client: str


@contextmanager
def own_cluster(*, store_bytes: int = 100_000_000, **settings: str) -> Iterator[OwnCluster]:
    """It is told who may join by this process's environment; settings of Ray by their variables."""
    others = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    told = ""
    for _ in range(_STARTS):
        made = OwnCluster(f"127.0.0.1:{free_port()}", f"ray://127.0.0.1:{free_port()}")
        with (
            tempfile.TemporaryDirectory(  # short, since sockets lie in it
                prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
            ) as folder,
            _head(made, Path(folder), store_bytes, {**others, **UNHURRIED, **settings}) as started,
        ):
            if started:
                yield made
                return
            told = (Path(folder) / "said").read_text()[-3000:]
    raise AssertionError(f"Ray did not start {_STARTS} times, at last: {told}")


@contextmanager
def _head(
    made: OwnCluster, folder: Path, store_bytes: int, env: Mapping[str, str]
) -> Iterator[bool]:
    """Whether it has started."""
    words = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *(f"--port={_port(made.address)}", f"--ray-client-server-port={_port(made.client)}"),
        *("--num-cpus=2", f"--object-store-memory={store_bytes}", f"--temp-dir={folder}"),
        *("--node-ip-address=127.0.0.1", "--include-dashboard=false", "--disable-usage-stats"),
    ]
    said = folder / "said"
    with said.open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env=env)
    try:
        with suppress(TimeoutError):
            wait_until(
                lambda: process.poll() is not None or _takes_clients(made, said),
                PATIENCE / _STARTS,
            )
        yield process.poll() is None and _takes_clients(made, said)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()  # those that it started end with it
            process.wait()


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _takes_clients(made: OwnCluster, said: Path) -> bool:
    """Ports are open long before a node can be joined."""
    if "Ray runtime started" not in said.read_text():
        return False
    with suppress(OSError), socket.create_connection(("127.0.0.1", _port(made.client)), 1):
        return True
    return False


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Look again and again; an error where it does not come true."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s in vain")
        time.sleep(0.1)


@contextmanager
def within(seconds: float = PATIENCE) -> Iterator[None]:
    """An error in the middle of whatever takes longer, so that what follows has its turn."""

    def ring(*_: object) -> None:
        raise TimeoutError(f"this was not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ended(
    words: list[str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command that has come to its end. What it said goes to files, which never wait."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(words, stdout=out, stderr=err, env=env)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            err.seek(0)
            raise AssertionError(f"{words} did not end; it said: {err.read()[-3000:]}") from None
        finally:
            process.kill()
            process.wait()
        out.seek(0), err.seek(0)
        return subprocess.CompletedProcess(words, process.returncode, out.read(), err.read())


def sfumato(*words: object) -> list[str]:
    return [sys.executable, "-c", "from sfumato.cli.app import main; main()", *map(str, words)]


def run(*words: object) -> None:
    """A command that must succeed; where it does not, what it said is shown."""
    done = ended(sfumato(*words))
    assert done.returncode == 0, done.stderr[-3000:]
