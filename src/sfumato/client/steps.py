"""What a client does, step by step, without knowing how: sans-io, with two thin drivers.

A flow is a generator. It yields what it wants done (send this request, wait, do this work on
the device) and is sent back what came of it. The drivers below do the steps, one with
blocking calls and one with async ones; nothing else is written twice.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

import anyio
import anyio.to_thread
import httpx

from sfumato.client.deadline import time_limit
from sfumato.client.errors import BadAnswer
from sfumato.core.errors import SfumatoError

T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    """An answer that was read whole, within its limit."""

    status: int
    headers: httpx.Headers
    body: bytes


@dataclass(frozen=True)
class Send:
    """Send a request; the answer is a Reply, or the error is thrown into the flow.

    max_bytes  a longer answer is not read to its end
    deadline   on the monotonic clock
    sink       where the body of a 200 goes instead of into memory
    """

    request: httpx.Request
    max_bytes: int
    deadline: float
    sink: BinaryIO | None = None

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()


@dataclass(frozen=True)
class Wait:
    """Do nothing for this many seconds."""

    seconds: float


@dataclass(frozen=True)
class Work:
    """Call something that blocks: a picture is read, a file is written."""

    call: Callable[[], Any]


Step = Send | Wait | Work
Flow = Generator[Step, Any, T]


def work(call: Callable[[], T]) -> Flow[T]:
    """Have `call` done on the device and return what it returned."""
    done: T = yield Work(call)
    return done


def run(flow: Flow[T], http: httpx.Client) -> T:
    """Do the steps of a flow, one after the other."""
    try:
        step = next(flow)
        while True:
            try:
                done = _do(step, http)
            except (httpx.HTTPError, SfumatoError) as problem:
                step = flow.throw(problem)
            else:
                step = flow.send(done)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        flow.close()


async def run_async(flow: Flow[T], http: httpx.AsyncClient) -> T:
    """The same steps without blocking; work on the device goes to a thread."""
    try:
        step = next(flow)
        while True:
            try:
                done = await _do_async(step, http)
            except (httpx.HTTPError, SfumatoError) as problem:
                step = flow.throw(problem)
            else:
                step = flow.send(done)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    finally:
        flow.close()


def _do(step: Step, http: httpx.Client) -> Any:
    if isinstance(step, Send):
        return _exchange(step, http)
    if isinstance(step, Wait):
        return time.sleep(step.seconds)
    return step.call()


async def _do_async(step: Step, http: httpx.AsyncClient) -> Any:
    if isinstance(step, Send):
        return await _exchange_async(step, http)
    if isinstance(step, Wait):
        return await anyio.sleep(step.seconds)
    return await anyio.to_thread.run_sync(step.call)


def _exchange(step: Send, http: httpx.Client) -> Reply:
    with time_limit(step.deadline):
        response = http.send(step.request, stream=True)
        try:
            reader = _Reader(step, response)
            chunks: Iterator[bytes] = response.iter_raw()
            for chunk in chunks:
                reader.take(chunk)
            return reader.reply()
        finally:
            response.close()


async def _exchange_async(step: Send, http: httpx.AsyncClient) -> Reply:
    try:
        with anyio.fail_after(max(step.seconds_left, 0)):
            response = await http.send(step.request, stream=True)
            try:
                reader = _Reader(step, response)
                chunks: AsyncIterator[bytes] = response.aiter_raw()
                async for chunk in chunks:
                    reader.take(chunk)
                return reader.reply()
            finally:
                await response.aclose()
    except TimeoutError:
        raise httpx.ReadTimeout("the deadline passed", request=step.request) from None


class _Reader:
    """Collects the body of one answer and gives up when it is too long or too late."""

    def __init__(self, step: Send, response: httpx.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise BadAnswer(
                "the server compressed its answer though it was asked not to; it was not unpacked."
            )
        self._step, self._response = step, response
        self._parts: list[bytes] = []
        self._length = 0
        self._sink = step.sink if response.status_code == 200 else None
        if self._sink is not None:
            self._sink.seek(0)
            self._sink.truncate()

    def take(self, chunk: bytes) -> None:
        self._length += len(chunk)
        if self._length > self._step.max_bytes:
            raise BadAnswer(
                f"the server's answer is longer than {self._step.max_bytes:,} bytes, the most "
                "that is read here; it was left unread."
            )
        if self._step.seconds_left <= 0:
            raise httpx.ReadTimeout("the deadline passed", request=self._step.request)
        if self._sink is None:
            self._parts.append(chunk)
        else:
            self._sink.write(chunk)

    def reply(self) -> Reply:
        return Reply(self._response.status_code, self._response.headers, b"".join(self._parts))
