"""`sf.Client` and `sf.AsyncClient`: ask a server where a picture was taken, without showing it.

Each question is written once, as a flow in `questions.py`; here both clients get it as a method.
"""

from __future__ import annotations

import functools
import inspect
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from sfumato.client.deadline import DeadlineTransport
from sfumato.client.device import Prepared
from sfumato.client.questions import Outcome, Questions
from sfumato.client.settings import ClientSettings
from sfumato.client.steps import Flow, run, run_async

__all__ = ["AsyncClient", "Client", "Outcome", "Prepared"]

P = ParamSpec("P")
T = TypeVar("T")
Question = Callable[Concatenate[Questions, P], Flow[T]]


def _blocking(question: Question[P, T]) -> Callable[Concatenate[Client, P], T]:
    @_described(question)
    def ask(self: Client, /, *args: P.args, **options: P.kwargs) -> T:
        return run(question(self._questions, *args, **options), self._http)

    return ask


def _awaited(
    question: Question[P, T],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    @_described(question)
    async def ask(self: AsyncClient, /, *args: P.args, **options: P.kwargs) -> T:
        return await run_async(question(self._questions, *args, **options), self._http)

    return ask


def _described(question: Any) -> Callable[[T], T]:
    """Name, docstring and parameters of the question, and what its flow returns in the end."""

    def describe(method: Any) -> Any:
        functools.update_wrapper(method, question)
        signature = inspect.signature(question)
        answer = str(signature.return_annotation).removeprefix("Flow[").removesuffix("]")
        method.__signature__ = signature.replace(return_annotation=answer)
        return method

    return describe


class Client(ClientSettings):
    """Asks a server, with blocking calls; may be shared among threads.

    >>> client = sf.Client(
    ...     "https://maps.example", "my-api-key", epsilon=8, dictionary="bsds-16k", ledger=None
    ... )
    >>> client.localize("photo.jpg", camera, map="gallery")  # doctest: +SKIP
    """

    def _open(self, verify: ssl.SSLContext, transport: Any) -> None:
        chosen = transport or DeadlineTransport(verify)
        self._http = httpx.Client(transport=chosen, trust_env=False, follow_redirects=False)

    localize = _blocking(Questions.localize)
    prepare = _blocking(Questions.prepare)
    send = _blocking(Questions.send)
    flush = _blocking(Questions.flush)
    maps = _blocking(Questions.maps)
    find_map = _blocking(Questions.find_map)
    map_points = _blocking(Questions.map_points)
    fetch_map = _blocking(Questions.fetch_map)
    delete_map = _blocking(Questions.delete_map)
    plan = _blocking(Questions.plan)
    follow_plan = _blocking(Questions.follow_plan)
    push_map = _blocking(Questions.push_map)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(ClientSettings):
    """The same questions without blocking; pictures are worked on in a thread.

    >>> client = sf.AsyncClient(
    ...     "https://maps.example", "my-api-key", epsilon=8, dictionary="bsds-16k", ledger=None
    ... )
    >>> await client.localize("photo.jpg", camera, map="gallery")  # doctest: +SKIP
    """

    def _open(self, verify: ssl.SSLContext, transport: Any) -> None:
        chosen = transport or httpx.AsyncHTTPTransport(verify=verify, trust_env=False)
        self._http = httpx.AsyncClient(transport=chosen, trust_env=False, follow_redirects=False)

    localize = _awaited(Questions.localize)
    prepare = _awaited(Questions.prepare)
    send = _awaited(Questions.send)
    flush = _awaited(Questions.flush)
    maps = _awaited(Questions.maps)
    find_map = _awaited(Questions.find_map)
    map_points = _awaited(Questions.map_points)
    fetch_map = _awaited(Questions.fetch_map)
    delete_map = _awaited(Questions.delete_map)
    plan = _awaited(Questions.plan)
    follow_plan = _awaited(Questions.follow_plan)
    push_map = _awaited(Questions.push_map)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()
