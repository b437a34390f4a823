"""A cluster that this process joins, from inside or as a client.

Every node needs this version of sfumato and this version of Ray, which is checked when a cluster
is joined.
"""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import ray
from ray import exceptions as failures
from ray._private import worker as ray_worker
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from sfumato import __version__
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.extras import need
from sfumato.execution.base import Actor, Execution, Shared, Value
from sfumato.execution.messages import MappedFile
from sfumato.execution.nodes import CLIENT, check_answers, sees, spelled, translated, versions
from sfumato.execution.on_ray.actors import NAMESPACE, RayActor, start_worker
from sfumato.execution.on_ray.greeting import check_token, found_here, greet
from sfumato.execution.pool import Pool

_SECONDS_TO_START = 300.0  # of a worker on each node, which may be busy
_CLIENT_TRIES = 3
_AHEAD = 2  # items that a worker has: while it does one the next is on its way
_cluster: Any = ray  # whose functions are not all typed
_QUIET: dict[str, Any] = {"namespace": NAMESPACE, "log_to_driver": False, "logging_level": "ERROR"}


def connect(on: str, workers: int | None = None) -> OnRay:
    """Join the cluster at `on`; "ray" is that of this machine, or one started for this."""
    joined = not ray.is_initialized()
    if joined:
        # What Ray notices it prints to the standard output, which belongs to results.
        ray_worker._worker_logs_enabled = False
        _join(on, workers)
    try:
        return OnRay(workers, joined=joined)
    except BaseException:
        if joined:
            ray.shutdown()
        raise


def _join(on: str, workers: int | None) -> None:
    address = on if on != "ray" else os.environ.get("RAY_ADDRESS") or "auto"
    try:
        if address.startswith(CLIENT):
            need("ray", "joining a cluster from outside", "grpc")
            address = check_answers(address)
            greet(address)
            _join_as_client(address)
        elif address == "local" or (address == "auto" and not _join_neighbour()):
            ray.init("local", num_cpus=workers, include_dashboard=False, **_QUIET)
        elif address != "auto":
            address = check_answers(address)
            greet(address)
            ray.init(address, **_QUIET)
    except InvalidInput:
        raise
    except failures.AuthenticationError as error:
        raise InvalidInput(
            f"RAY_AUTH_MODE=token needs the token of the cluster ({str(error).split('. ')[0]}); "
            "name the file that has it in RAY_AUTH_TOKEN_PATH."
        ) from error
    except (ConnectionError, RuntimeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = " ".join(dict.fromkeys([*lines[:1], *lines[-1:]])).rstrip(".")
        if "ersion" in reason:
            raise Mismatch(
                f"the cluster must run Ray {ray.__version__} on Python "
                f"{platform.python_version()} as this machine does ({reason}); install the same."
            ) from error
        raise InvalidInput(
            f"no Ray cluster can be joined at {address}: {reason}; look at `ray status` there, "
            "check host and port, or start one with `ray start --head`."
        ) from error


def _join_neighbour() -> bool:
    """Whether this machine belongs to a cluster, which then is joined."""
    address = found_here()
    if address is not None:
        check_token(address, ", or start one for this with RAY_ADDRESS=local")
    try:
        ray.init("auto", **_QUIET)
    except ConnectionError:
        return False
    return True


def _join_as_client(address: str) -> None:
    """A head that is busy may not start a client's process in the 30 s that Ray gives it."""
    for left in reversed(range(_CLIENT_TRIES)):
        try:
            with warnings.catch_warnings(action="ignore"):  # the error says it too
                ray.init(address, **_QUIET)
            return
        except ConnectionError as error:
            if not left or "Initialization failure" not in str(error):
                raise


class OnRay(Execution):
    """A cluster that this process has joined."""

    def __init__(self, workers: int | None = None, *, joined: bool = False) -> None:
        self._joined = joined
        self.workers = workers or int(_cluster.cluster_resources().get("CPU", 0))
        if not self.workers:
            raise InvalidInput("the Ray cluster has no processors to work on; add a node to it.")
        self._pool = Pool(self.workers, start_worker, ahead=_AHEAD)
        ours = versions()
        for theirs in self._on_every_node(versions):
            if theirs != ours:
                raise Mismatch(
                    f"every node of the cluster needs {spelled(ours, theirs)} as this machine "
                    f"has, one has {spelled(theirs, ours)}; install the same there."
                )

    def share(self, value: Value) -> Shared[Value]:
        try:
            return Shared(ray.put(MappedFile.of(value) or value))
        except Exception as error:
            raise translated(error) from error

    def start(
        self,
        kind: Callable[..., Any],
        *args: Any,
        name: str | None = None,
        restarts: int = 0,
        cpus: float = 1,
    ) -> Actor:
        return RayActor(kind, args, name=name, max_restarts=restarts, num_cpus=cpus)

    def find(self, name: str) -> Actor | None:
        return RayActor.named(name)

    def check_path(self, path: Any) -> None:
        where = Path(path).resolve()
        blind = self._on_every_node(sees, str(where)).count(False)
        if blind:
            raise InvalidInput(
                f"{blind} nodes of the cluster cannot see {where}; work on several machines needs "
                "a folder that all of them see under the same path: use shared storage."
            )

    def close(self) -> None:
        self._pool.close()
        if self._joined:
            ray.shutdown()

    @property
    def _under_way(self) -> int:
        return _AHEAD * self.workers

    def _submit(self, work: Callable[..., Any], shared: list[Any], item: Any) -> Future[Any]:
        return self._pool.submit(work, shared, item)

    def _look(self) -> None:
        self._pool.look()

    def _cancel(self, running: Iterable[Future[Any]]) -> None:
        self._pool.cancel(running, kill=False)  # what has begun is let end

    def _on_every_node(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The function's result on each node that can work."""
        task: Any = ray.remote(num_cpus=0, max_retries=1)(function)
        refs = []
        for node in _cluster.nodes():
            if node["Alive"] and node["Resources"].get("CPU"):
                there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
                refs.append(task.options(scheduling_strategy=there).remote(*args))
        try:
            found: list[Any] = ray.get(refs, timeout=_SECONDS_TO_START)
        except failures.GetTimeoutError:
            raise InvalidInput(
                f"the nodes of the Ray cluster did not answer within {_SECONDS_TO_START:g} s; "
                "look at `ray status`."
            ) from None
        except failures.RayTaskError as error:
            raise Mismatch(
                f"a node of the cluster cannot run sfumato {__version__} "
                f"({str(error.cause).splitlines()[0]}); install the same version on every node."
            ) from error
        return found
