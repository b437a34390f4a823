"""Machines of a cluster: whether one answers, what is installed there, and what it sees."""

from __future__ import annotations

import platform
import socket
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from sfumato import __version__
from sfumato.core.errors import InvalidInput, WorkerLost

CLIENT = "ray://"  # begins the address of a cluster for those outside of it
SECONDS_TO_ANSWER = 10.0
_CLIENT_PORT, _PORT = 10001, 6379  # Ray's own, where an address names none


def check_answers(address: str) -> str:
    """Refuse an address where nobody listens, at once instead of after many tries.

    Returns the address with its port.
    """
    parts = urlsplit(address if "//" in address else f"//{address}")
    try:
        if parts.hostname is None:
            raise ValueError("it names no host")
        port = parts.port or (_CLIENT_PORT if parts.scheme else _PORT)
        with socket.create_connection((parts.hostname, port), SECONDS_TO_ANSWER):
            host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
            return f"{CLIENT if parts.scheme else ''}{host}:{port}"
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"no Ray cluster answers at {address} within {SECONDS_TO_ANSWER:g} s ({error}); start "
            "one with `ray start --head`, or check host and port."
        ) from None


def versions() -> dict[str, str]:
    """What must be the same on every machine for the same result to the last bit."""
    return {
        "sfumato": __version__,
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "opencv-contrib-python-headless", "ray")},
    }


def spelled(found: dict[str, str], other: dict[str, str]) -> str:
    """Of the versions found, those that the other has not."""
    return ", ".join(f"{name} {one}" for name, one in found.items() if other.get(name) != one)


def sees(path: str) -> bool:
    """Whether a path is there, on this machine."""
    return Path(path).exists()


def translated(error: BaseException) -> BaseException:
    """An error of Ray as one of ours, known by the names of its classes; any other as it is."""
    both = (error, getattr(error, "cause", None))  # a client gets what went wrong inside another
    names = {kind.__name__ for one in both for kind in type(one).__mro__}
    if names & {"ObjectStoreFullError", "OutOfDiskError"}:
        return InvalidInput(
            "what is shared or comes back is larger than the object store of a node; start the "
            "cluster with more --object-store-memory, or work in smaller parts."
        )
    if "OutOfMemoryError" in names:
        return WorkerLost("a worker was ended because its node ran out of memory; use fewer.")
    if "RayTaskError" in names:
        return RuntimeError(str(error))
    if "RayError" in names:
        return WorkerLost(f"a worker of the cluster was lost ({type(error).__name__}).")
    return error
