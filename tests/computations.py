"""Work for the service's computing processes, each with a peculiarity.

A test puts one of these in the place of the real one; processes find them by name.
"""

from __future__ import annotations

import errno
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.privacy.plan import plan
from sfumato.service import plans
from sfumato.service.processes import Charge
from sfumato.service.work import check_upload, localize_release, plan_for_map


def gate(folder: str | Path) -> Path:
    """Slow work has begun when `begun` is in here, and goes on when `go` is."""
    path = Path(folder)
    while path.name not in ("store", "gate"):
        path = path.parent
    return path.parent


@contextmanager
def under_way(store: Path, ask: Callable[[], Any]) -> Iterator[list[Any]]:
    """Ask for slow work in a thread: in the block it has begun, afterwards it has been answered."""
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(ask()))
    asking.start()
    while not (gate(store) / "begun").exists():
        time.sleep(0.005)
    try:
        yield answers
    finally:
        (gate(store) / "go").touch()
        asking.join()


def _wait(given: dict[str, Any]) -> None:
    folder = gate(given["folder"])
    (folder / "begun").touch()
    while not (folder / "go").exists():
        time.sleep(0.005)


def slow_localize(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    _wait(given)
    return localize_release(given, body, charge)


def slow_check(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    _wait(given)
    return check_upload(given, body, charge)


def full_disk(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    (Path(given["folder"]) / "half").write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")


def quick_plan(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    """One number of keypoints is tried instead of four."""
    vars(plans)["plan"] = partial(plan, keep=100)
    return plan_for_map(given, body, charge)


def hopeless_plan(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    def hopeless(*_: Any, **__: Any) -> None:
        raise InvalidInput("no image of this map sees 20 points.")

    vars(plans)["plan"] = hopeless
    return plan_for_map(given, body, charge)


def echo(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    return {"given": given, "length": len(body), "pid": os.getpid(), "nice": os.nice(0)}


def bounds(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    """What the kernel allows this process."""
    kinds = {"core": resource.RLIMIT_CORE, "data": resource.RLIMIT_DATA, "cpu": resource.RLIMIT_CPU}
    allowed = {name: resource.getrlimit(kind) for name, kind in kinds.items()}
    return {**allowed, "used": time.process_time()}


def never(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    Path(given["begun"]).write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)


def spin(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    """Compiled code that never looks at anything, as far as Python is concerned."""
    while True:
        np.sort(np.random.default_rng(0).random(2_000_000))


def allocate(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    return float(np.ones(given["bytes"] // 8).sum())


def die(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    os._exit(3)


def fail(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    raise RuntimeError("secret coordinates 12.5 13.5")


def costly(given: dict[str, Any], body: bytes, charge: Charge) -> Any:
    charge(given["cost"])
    return "done"
