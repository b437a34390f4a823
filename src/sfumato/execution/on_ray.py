"""Work on a Ray cluster: tasks for maps, actors for what lives on. Ray is imported here alone.

Every node needs this version of sfumato and this version of Ray, which is checked when a cluster
is joined. Nothing is sent to anybody: usage reports of Ray are off, and so is its dashboard where
a cluster is started here.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

from sfumato import __version__
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.extras import need
from sfumato.execution.base import Actor, Execution, Shared, Value
from sfumato.execution.messages import Answer, MappedFile, Packed, answer, opened, use_one_core
from sfumato.execution.nodes import check_answers, sees, spelled, translated, versions
from sfumato.execution.pool import Pool

need("ray", "work on Ray", "ray")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # of a cluster started here: as our processes

import ray  # noqa: E402
from ray import exceptions as failures  # noqa: E402
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: E402

NAMESPACE = "sfumato"
_SECONDS_TO_START = 120.0  # of a worker on each node
_AHEAD = 2  # items that a worker has: while it does one the next is on its way
_answers = ThreadPoolExecutor(1, thread_name_prefix="sfumato-answers")
_cluster: Any = ray  # whose functions are not all typed
_QUIET: dict[str, Any] = {"namespace": NAMESPACE, "log_to_driver": False, "logging_level": "ERROR"}


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
            check_answers(on)
            ray.init(on, **_QUIET)
            return
        address = os.environ.get("RAY_ADDRESS", "auto")
        if address not in ("auto", "local"):
            check_answers(address)
        with nullcontext() if address != "auto" else suppress(ConnectionError):
            if address != "local":
                ray.init(address, **_QUIET)
                return
        ray.init("local", num_cpus=workers, include_dashboard=False, **_QUIET)
    except InvalidInput:
        raise
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
        self.workers = workers or int(_cluster.cluster_resources().get("CPU", 0))
        if not self.workers:
            raise InvalidInput("the Ray cluster has no processors to work on; add a node to it.")
        self._pool = Pool(self.workers, _start_worker, ahead=_AHEAD)
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
        return _future_of(self._handle.call.remote(method, Packed.of(args, named)))

    def is_ready(self) -> Future[Any]:
        """Done when it runs somewhere."""
        return _future_of(self._handle.ping.remote())

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
        self._handle = self._remote()

    def _remote(self) -> Any:
        make = ray.remote(_Holder).options(namespace=NAMESPACE, **self._options)
        return make.remote(Packed.of(*self._recipe))

    def stop(self) -> None:
        ray.kill(self._handle)


class _Holder:
    """What a Ray actor is: an object, and the way to call it."""

    def __init__(self, recipe: Packed) -> None:
        use_one_core()
        self._made = answer(_make, recipe)

    def call(self, method: str, given: Packed) -> Answer:
        if self._made.error is not None:
            return self._made
        return answer(_ask, self._made.result, method, given)

    def ping(self) -> Answer:
        return self._made


def _make(recipe: Packed) -> Any:
    kind, args = recipe.open()
    return kind(*args)


def _ask(made: Any, method: str, given: Packed) -> Any:
    args, named = given.open()
    return getattr(made, method)(*args, **named)


class _Worker(RayActor):
    """One of those that maps are spread over."""

    def call(self, method: str, *args: Any, **named: Any) -> Future[Any]:
        work, shared, item = args
        return _future_of(self._handle.run.remote(Packed.of(work, item), shared))

    def _remote(self) -> Any:
        return ray.remote(_Work).options(num_cpus=1, max_restarts=0).remote()


class _Work:
    """What a worker is: it runs functions, and holds the values shared with the present ones."""

    def __init__(self) -> None:
        use_one_core()
        self._values: dict[str, Any] = {}

    def ping(self) -> Answer:
        return Answer()

    def run(self, call: Packed, shared: list[Any]) -> Answer:
        return answer(self._run, call, shared)

    def _run(self, call: Packed, shared: list[Any]) -> Any:
        work, item = call.open()
        known = self._values
        self._values = {
            name: known[name] if name in known else opened(ray.get(ref))
            for name, ref in ((ref.hex(), ref) for ref in shared)
        }
        return work(*(self._values[ref.hex()] for ref in shared), item)


def _start_worker() -> tuple[Actor, Future[Any]]:
    made = _Worker(_Work, ())
    return made, made.is_ready()


def _future_of(ref: Any) -> Future[Any]:
    """What a call gives, with the errors of Ray as ours."""
    future: Future[Any] = Future()

    def hand_on(done: Future[Any]) -> None:
        try:
            future.set_result(done.result().value())
        except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
            future.set_exception(translated(error))

    # Ray calls back on a thread that its own calls wait for: what follows needs another.
    ref.future().add_done_callback(lambda done: _answers.submit(hand_on, done))
    return future
