"""`sf.Client` and `sf.AsyncClient`: ask a server where a picture was taken, without showing it."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from sfumato.client.answers import Advice, MapInfo
from sfumato.client.deadline import make_transport
from sfumato.client.device import Image, Prepared
from sfumato.client.questions import Outcome
from sfumato.client.settings import ClientSettings, PathLike
from sfumato.client.steps import run, run_async
from sfumato.core.releases import Release
from sfumato.core.types import Camera, Localization

__all__ = ["AsyncClient", "Client", "Outcome", "Prepared"]


class Client(ClientSettings):
    """Asks a server, with blocking calls; may be shared among threads.

    >>> client = sf.Client(
    ...     "https://maps.example", "my-api-key", epsilon=8, dictionary="bsds-16k", ledger=None
    ... )
    >>> client.localize("photo.jpg", camera, map="gallery")  # doctest: +SKIP
    """

    def _open(self, verify: ssl.SSLContext, transport: Any) -> None:
        chosen = transport or make_transport(verify)
        self._http = httpx.Client(transport=chosen, trust_env=False, follow_redirects=False)

    def localize(
        self,
        image: Image,
        camera: Camera,
        *,
        map: str | None = None,
        save: PathLike | None = None,
        tell: Callable[[Prepared], None] | None = None,
    ) -> Localization:
        """Where was this picture taken? It is protected here; only words of it are sent.

        save  a file that keeps the release, instead of the outbox; it stays after the answer
        tell  called with what is about to leave
        """
        path = None if save is None else Path(save)
        return run(self._questions.localize(image, camera, map, path, tell), self._http)

    def prepare(
        self, image: Image, camera: Camera, *, save: PathLike | None = None
    ) -> Prepared | None:
        """Charge and draw a release without sending it; None where a picture has no keypoints."""
        path = None if save is None else Path(save)
        return run(self._questions.prepare(image, camera, path), self._http)

    def send(
        self, release: Prepared | Release | PathLike, *, map: str | None = None
    ) -> Localization:
        """Send a release that exists, as it is: nothing is drawn and nothing is charged."""
        return run(self._questions.send(release, map), self._http)

    def flush(self, *, map: str | None = None) -> list[Outcome]:
        """Send what waits in the outbox; what cannot be sent stays there."""
        return run(self._questions.flush(map), self._http)

    def maps(self) -> tuple[MapInfo, ...]:
        """The maps this key may ask."""
        return run(self._questions.maps(), self._http)

    def plan(self, *, map: str | None = None, epsilon: float | None = None) -> Advice:
        """What the server recommends for a map; nothing of it is taken."""
        return run(self._questions.plan(map, epsilon), self._http)

    def follow_plan(
        self, *, map: str | None = None, say: Callable[[str], None] | None = None
    ) -> Advice:
        """Take the server's recommendation within this client's limits, and say what changed."""
        return run(self._questions.follow_plan(map, say), self._http)

    def push_map(self, folder: PathLike, *, name: str, accept: tuple[str, ...] = ()) -> MapInfo:
        """Upload a map of your own; it is never your users' pictures."""
        return run(self._questions.push(Path(folder), name, accept), self._http)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    async def localize(
        self,
        image: Image,
        camera: Camera,
        *,
        map: str | None = None,
        save: PathLike | None = None,
        tell: Callable[[Prepared], None] | None = None,
    ) -> Localization:
        path = None if save is None else Path(save)
        flow = self._questions.localize(image, camera, map, path, tell)
        return await run_async(flow, self._http)

    async def prepare(
        self, image: Image, camera: Camera, *, save: PathLike | None = None
    ) -> Prepared | None:
        path = None if save is None else Path(save)
        return await run_async(self._questions.prepare(image, camera, path), self._http)

    async def send(
        self, release: Prepared | Release | PathLike, *, map: str | None = None
    ) -> Localization:
        return await run_async(self._questions.send(release, map), self._http)

    async def flush(self, *, map: str | None = None) -> list[Outcome]:
        return await run_async(self._questions.flush(map), self._http)

    async def maps(self) -> tuple[MapInfo, ...]:
        return await run_async(self._questions.maps(), self._http)

    async def plan(self, *, map: str | None = None, epsilon: float | None = None) -> Advice:
        return await run_async(self._questions.plan(map, epsilon), self._http)

    async def follow_plan(
        self, *, map: str | None = None, say: Callable[[str], None] | None = None
    ) -> Advice:
        return await run_async(self._questions.follow_plan(map, say), self._http)

    async def push_map(
        self, folder: PathLike, *, name: str, accept: tuple[str, ...] = ()
    ) -> MapInfo:
        return await run_async(self._questions.push(Path(folder), name, accept), self._http)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
