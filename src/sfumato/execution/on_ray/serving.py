"""Objects that are served: several copies of each, replaced where they are lost, more under load.

They are deployments of Ray Serve, called from Python and not by HTTP: who is let in and how much
may be asked is decided by whoever calls them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sfumato.core.errors import WorkerLost
from sfumato.core.extras import need
from sfumato.execution.messages import Answer, answer
from sfumato.execution.nodes import translated

need("ray", "serving on Ray", "starlette", "fastapi", "aiohttp", "watchfiles", "opencensus")

from ray import serve  # noqa: E402

_HEALTH_SECONDS = 1.0  # between two looks at a copy
_NOTICED_SECONDS = 10.0  # a copy that says nothing for so long is replaced
_UPSCALE_SECONDS = 10.0  # of more load than the copies should have
_AGAIN_SECONDS = 0.05


@dataclass(frozen=True)
class Group:
    """Copies of `kind(*args)` that answer under one name.

    copies, most   so many at least and at most; between them by how much is asked
    parallel       calls that one copy works on at once, each in a thread
    cpus           that the cluster keeps for each copy
    """

    name: str
    kind: Callable[..., Any]
    args: tuple[Any, ...] = ()
    copies: int = 1
    most: int = 1
    parallel: int = 4
    cpus: float = 1.0


def deploy(groups: Iterable[Group]) -> None:
    """Start all groups and wait until they answer; groups of the same name are replaced."""
    serve.start(proxy_location="Disabled")
    targets = []
    for group in groups:
        scale: dict[str, Any] = {"num_replicas": group.copies}
        if group.most > group.copies:
            scale = {
                "num_replicas": "auto",
                "autoscaling_config": {
                    "min_replicas": group.copies,
                    "max_replicas": group.most,
                    "target_ongoing_requests": max(1, group.parallel / 2),
                    "upscale_delay_s": _UPSCALE_SECONDS,
                },
            }
        deployment = serve.deployment(
            _Copy,
            name=group.name,
            max_ongoing_requests=group.parallel,
            health_check_period_s=_HEALTH_SECONDS,
            health_check_timeout_s=_NOTICED_SECONDS,
            graceful_shutdown_timeout_s=5.0,
            ray_actor_options={"num_cpus": group.cpus},
            **scale,
        )
        bound = deployment.bind(group.kind, group.args)
        targets.append(serve.RunTarget(bound, name=group.name, route_prefix=None))
    serve.run_many(targets)


def withdraw(groups: Iterable[Group]) -> None:
    """End all groups; nobody waits until they have."""
    for group in groups:
        serve.delete(group.name, _blocking=False)


class Copies:
    """The copies that answer under a name, from anywhere in the cluster."""

    def __init__(self, name: str) -> None:
        self._handle = serve.get_app_handle(name)

    def call(self, method: str, *args: Any) -> Call:
        return Call(lambda: self._handle.call.remote(method, args))


class Call:
    """A call under way. It is made again where the copy that worked on it was lost."""

    def __init__(self, start: Callable[[], Any]) -> None:
        self._start = start
        self._response = start()

    def result(self, seconds: float) -> Any:
        """What it gave; WorkerLost where no copy has answered after this time."""
        end = time.monotonic() + seconds
        while True:
            try:
                made: Answer = self._response.result(timeout_s=max(end - time.monotonic(), 0.001))
                return made.value()
            except TimeoutError:
                self.cancel()
                raise WorkerLost(f"no copy has answered within {seconds:g} s.") from None
            except Exception as error:
                if not isinstance(translated(error), WorkerLost):
                    raise
                if time.monotonic() + _AGAIN_SECONDS > end:
                    raise WorkerLost("the copy that worked on this was lost.") from None
            time.sleep(_AGAIN_SECONDS)
            self._response = self._start()

    def wait(self, seconds: float) -> bool:
        """Whether it is done after so many seconds; a loss is told by `result`."""
        try:
            self._response.result(timeout_s=seconds)
        except TimeoutError:
            return False
        except Exception:  # noqa: BLE001 - raised again by `result`
            return True
        return True

    def cancel(self) -> None:
        self._response.cancel()


class _Copy:
    """What Ray Serve holds: an object, and the way to call it."""

    def __init__(self, kind: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._made = kind(*args)

    async def call(self, method: str, args: tuple[Any, ...]) -> Answer:
        return await asyncio.to_thread(answer, getattr(self._made, method), *args)

    def check_health(self) -> None:
        self._made.check_health()
