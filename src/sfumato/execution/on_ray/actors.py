"""Actors of a cluster: those that maps are spread over, and those that live on."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import ray
from ray import exceptions as failures

from sfumato.core.errors import InvalidInput, WorkerLost
from sfumato.execution.base import Actor
from sfumato.execution.messages import Answer, Packed, answer, opened, use_one_core
from sfumato.execution.nodes import translated

NAMESPACE = "sfumato"
_SECONDS_TO_END = 60.0  # of an actor
_LOOK_AGAIN = 0.02
_answers = ThreadPoolExecutor(1, thread_name_prefix="sfumato-answers")


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
        """Ray ends it in its own time: wait until it has, so that no later call is answered."""
        ray.kill(self._handle)
        end = time.monotonic() + _SECONDS_TO_END
        # One that was lost and is being made anew refuses a single call, a dead one every call.
        while not (self._refuses() and self._refuses()):
            if time.monotonic() > end:
                raise WorkerLost(
                    f"the cluster has not ended an actor within {_SECONDS_TO_END:g} s; look at "
                    "`ray status`."
                )
            time.sleep(_LOOK_AGAIN)

    def _refuses(self) -> bool:
        """Whether a call comes back because there is nobody to answer it."""
        try:
            ray.get(self._handle.ping.remote(), timeout=1.0)
        except failures.ActorDiedError:
            return True
        except failures.RayError:
            return False  # it is busy, or not to be reached at the moment
        return False


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

    def stop(self) -> None:
        """Nobody calls it any more: it may end when it will."""
        ray.kill(self._handle)

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


def start_worker() -> tuple[Actor, Future[Any]]:
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
