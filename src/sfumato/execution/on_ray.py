"""Work on a Ray cluster: tasks for maps, actors for what lives on. Ray is imported here alone.

Every node needs this version of sfumato and this version of Ray, which is checked when a cluster
is joined. Nothing is sent to anybody: usage reports of Ray are off, and so is its dashboard where
a cluster is started here.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.core.errors import InvalidInput, Mismatch, WorkerLost
from sfumato.core.extras import need
from sfumato.execution.base import Actor, Execution, Shared, Value
from sfumato.execution.messages import Answer, MappedFile, answer, one_core, opened
from sfumato.execution.nodes import check_answers, sees, spelled, versions

need("ray", "work on Ray", "ray")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray  # noqa: E402
from ray import exceptions as failures  # noqa: E402
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: E402

NAMESPACE = "sfumato"
_SECONDS_TO_START = 120.0  # of a worker on each node
_QUIET: dict[str, Any] = {
    "namespace": NAMESPACE,
    "log_to_driver": False,
    "logging_level": "ERROR",
}


def connect(on: str, workers: int | None = None) -> OnRay:
    """Join the cluster at `on`; "ray" is that of this machine, or one started for this."""
    joined = not ray.is_initialized()
    if joined:
        _join(on, workers)
    try:
        return OnRay(workers, joined=joined)
    except BaseException:
        if joined:
            ray.shutdown()
        raise


def _join(on: str, workers: int | None) -> None:
    try:
        if on != "ray":
            need("ray", f"--on {on}", "grpc")
            check_answers(on)
            ray.init(on, **_QUIET)
            return
        if "RAY_ADDRESS" in os.environ:
            check_answers(os.environ["RAY_ADDRESS"])
        with suppress(ConnectionError):
            ray.init("auto", **_QUIET)
            return
        if "RAY_ADDRESS" in os.environ:
            raise ConnectionError("RAY_ADDRESS names none")
        ray.init("local", num_cpus=workers, include_dashboard=False, **_QUIET)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        if "ersion" in str(error):
            raise Mismatch(
                f"the cluster must run Ray {ray.__version__} on Python "
                f"{platform.python_version()} as this machine does ({reason}); install the same."
            ) from error
        raise InvalidInput(f"no Ray cluster can be joined at {on}: {reason}") from error


class OnRay(Execution):
    """A cluster that this process has joined."""

    def __init__(self, workers: int | None = None, *, joined: bool = False) -> None:
        self._joined = joined
        self.workers = workers or int(ray.cluster_resources().get("CPU", 0))
        if not self.workers:
            raise InvalidInput("the Ray cluster has no processors to work on; add a node to it.")
        self._task: Any = ray.remote(num_cpus=1, max_retries=0)(_run)
        self._refs: dict[Future[Any], Any] = {}
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
            raise _translated(error) from error

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
        if self._joined:
            ray.shutdown()

    def _submit(self, work: Callable[..., Any], shared: list[Any], item: Any) -> Future[Any]:
        try:
            ref = self._task.remote(work, shared, item)
        except Exception as error:
            raise _translated(error) from error
        future = _future_of(ref)
        self._refs[future] = ref
        future.add_done_callback(lambda done: self._refs.pop(done, None))
        return future

    def _cancel(self, running: Iterable[Future[Any]]) -> None:
        for future in running:
            ref = self._refs.pop(future, None)
            if ref is not None:
                ray.cancel(ref)

    def _on_every_node(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The function's result on each node that can work."""
        task: Any = ray.remote(num_cpus=0, max_retries=1)(function)
        refs = []
        for node in ray.nodes():
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


class RayActor:
    """An actor somewhere in the cluster. It may be sent to other actors."""

    def __init__(self, kind: Callable[..., Any] | None, args: tuple[Any, ...], **options: Any):
        self._recipe, self._options = (kind, args), options
        self._handle: Any = None
        if kind is not None:
            self.restart()

    @classmethod
    def named(cls, name: str) -> RayActor | None:
        """The actor that this or another process started under this name."""
        found = cls(None, ())
        try:
            found._handle = ray.get_actor(name, namespace=NAMESPACE)
        except ValueError:
            return None
        return found

    def call(self, method: str, *args: Any, **named: Any) -> Future[Any]:
        return _future_of(self._handle.call.remote(method, args, named))

    def is_alive(self) -> bool:
        asked = self._handle.ping.remote()
        if not ray.wait([asked], timeout=1.0)[0]:
            return True  # it is busy with calls that came before
        try:
            ray.get(asked)
        except failures.RayError:
            return False
        return True

    def restart(self) -> None:
        if self._recipe[0] is None:
            raise InvalidInput("an actor is restarted by whoever started it.")
        if self._handle is not None:
            self.stop()
        make = ray.remote(_Holder).options(namespace=NAMESPACE, **self._options)
        self._handle = make.remote(*self._recipe)

    def stop(self) -> None:
        ray.kill(self._handle)


class _Holder:
    """What a Ray actor is: an object, and the way to call it."""

    def __init__(self, kind: Callable[..., Any], args: tuple[Any, ...]) -> None:
        with one_core():
            self._made = answer(kind, *args)

    def call(self, method: str, args: tuple[Any, ...], named: dict[str, Any]) -> Answer:
        if self._made.error is not None:
            return self._made
        with one_core():
            return answer(getattr(self._made.result, method), *args, **named)

    def ping(self) -> None:
        """Answer."""


_values: dict[str, Any] = {}  # what the present work shares, in a worker


def _run(work: Callable[..., Any], shared: list[Any], item: Any) -> Answer:
    """One item, in a worker of the cluster."""
    names = [ref.hex() for ref in shared]
    for name in set(_values) - set(names):
        del _values[name]
    for name, ref in zip(names, shared, strict=True):
        if name not in _values:
            held = answer(lambda ref=ref: opened(ray.get(ref)))
            if held.error is not None:
                return held
            _values[name] = held.result
    with one_core():
        return answer(work, *(_values[name] for name in names), item)


def _future_of(ref: Any) -> Future[Any]:
    """What a call gives, with the errors of Ray as ours."""
    future: Future[Any] = Future()

    def hand_on(done: Future[Any]) -> None:
        try:
            future.set_result(done.result().value())
        except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
            future.set_exception(_translated(error))

    ref.future().add_done_callback(hand_on)
    return future


def _translated(error: BaseException) -> BaseException:
    if isinstance(error, failures.ObjectStoreFullError | failures.OutOfDiskError):
        return InvalidInput(
            "what is shared or comes back is larger than the object store of a node; start the "
            "cluster with more --object-store-memory, or work in smaller parts."
        )
    if isinstance(error, failures.OutOfMemoryError):
        return WorkerLost("a worker was ended because its node ran out of memory; use fewer.")
    if isinstance(error, failures.RayTaskError):
        return RuntimeError(str(error))
    if isinstance(error, failures.RayError):
        return WorkerLost(f"a worker of the cluster was lost ({type(error).__name__}).")
    return error
