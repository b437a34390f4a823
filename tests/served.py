"""A small world and a service around it, in the test's own process."""

from __future__ import annotations

import asyncio
import io
import tarfile
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from sfumato.service.app import create_app
from sfumato.service.settings import Settings
from sfumato.service.state import Service, make_service
from synthetic import make_room, pose_at

ROOM = make_room(900)
QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5)


#: What a row says about a map.
MAP_INFO: dict[str, Any] = {
    "created": "2026-01-01T00:00:00Z",
    "extractor": "tiny",
    "num_images": 1,
    "num_points": 1,
    "num_observations": 1,
    "num_bytes": 1,
    "accepts": ["words"],
    "notice": "",
}


@dataclass(frozen=True)
class World:
    """A stored map with its dictionary, and releases to ask it with."""

    folder: Path
    words: Path
    release: bytes
    plain: bytes

    def tar(self) -> bytes:
        return tar_of(self.folder)


def tar_of(folder: Path) -> bytes:
    """The tar of a folder, as `tar -cf - -C folder .` makes it."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(folder, arcname=".")
    return stream.getvalue()


class Client:
    """Asks an application in an event loop of its own, from any thread."""

    def __init__(self, app: FastAPI) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._life = app.router.lifespan_context(app)
        self.run(self._life.__aenter__())
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://test", timeout=600)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(600)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        answer = self.run(self._http.request(method, path, **more))
        assert isinstance(answer, httpx.Response)
        return answer

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)

    def delete(self, path: str, **more: Any) -> httpx.Response:
        return self.request("DELETE", path, **more)

    def close(self) -> None:
        self.run(self._http.aclose())
        self.run(self._life.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@dataclass
class Served:
    """A service in this process, with keys of two tenants."""

    app: FastAPI
    service: Service
    client: Client
    owner: dict[str, str]
    query: dict[str, str]
    stranger: dict[str, str]
    owner_id: str
    world: World

    def upload(self, name: str = "room", **more: Any) -> Any:
        options: dict[str, Any] = {"headers": self.owner, "content": self.world.tar(), **more}
        return self.client.post("/v1/maps", params={"name": name}, **options)

    def map_id(self, name: str = "room", accept: str = "words") -> str:
        answer = self.client.post(
            "/v1/maps",
            params={"name": name, "accept": accept},
            headers=self.owner,
            content=self.world.tar(),
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def localize(self, map_id: str, body: bytes, **more: Any) -> Any:
        options: dict[str, Any] = {"headers": self.query, "content": body, **more}
        return self.client.post(f"/v1/maps/{map_id}/localize", **options)


def settings_for(world: World, store: Path, **changes: Any) -> Settings:
    plain = Settings(
        store=store,
        dictionaries=(str(world.words),),
        rate_per_minute=0.0,
        min_free_bytes=0,
        plan_images=0,
        plan_epsilons=(8.0,),
    )
    return replace(plain, **changes)


class Serve:
    """Makes services; `serve(rate_per_minute=6)` and the like."""

    def __init__(self, world: World, store: Path) -> None:
        self.world, self.store = world, store
        self._made: list[tuple[Client, Service]] = []

    def __call__(self, *, copies: Any = None, **changes: Any) -> Served:
        service = make_service(settings_for(self.world, self.store, **changes), copies=copies)
        app = create_app(service)
        client = Client(app)
        self._made.append((client, service))
        if service.store.read_only:
            return Served(app, service, client, {}, {}, {}, "", self.world)
        keys = service.store.keys
        owner, owner_text = keys.create("a", "owner")
        _, query_text = keys.create("a", "query")
        _, stranger_text = keys.create("b", "owner")
        return Served(
            app,
            service,
            client,
            bearer(owner_text),
            bearer(query_text),
            bearer(stranger_text),
            owner.id,
            self.world,
        )

    def close(self) -> None:
        for client, service in self._made:
            client.close()
            service.close()
        self._made.clear()


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refused(answer: Any, status: int, word: str) -> None:
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "detail"}
    assert word in answer.json()["detail"]


def nothing_is_left(served: Served) -> None:
    store = served.service.store
    assert store.ids() == set()
    assert files_of(store.maps) == []
    assert files_of(store.incoming) == []
