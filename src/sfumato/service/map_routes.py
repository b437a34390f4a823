"""Maps: put them in, list them, fetch them, take them out."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import contextmanager_in_threadpool
from fastapi.responses import StreamingResponse

from sfumato.core.archive import PlainTar
from sfumato.core.errors import SfumatoError
from sfumato.service.access import AnyKey, OwnerKey, TheService
from sfumato.service.answers import MapInfo, MapList, refusals
from sfumato.service.bodies import Digest, announced_length, pieces
from sfumato.service.checking import parse_accept
from sfumato.service.errors import map_damaged, read_only
from sfumato.service.keys import now
from sfumato.service.state import Service
from sfumato.service.storage import StoredMap, new_id
from sfumato.service.upload import TarReader
from sfumato.service.work import check_upload

router = APIRouter()
_BATCH = 1 << 20
_ROOM_EVERY = 64 << 20
_BUILD_SECONDS = 7200.0
_TAR: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "An uncompressed tar of the folder of a map.",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("application/x-tar", "application/octet-stream")
        },
    }
}
Name = Annotated[
    str,
    Query(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$",
        description="1 to 64 letters, digits, spaces or . _ -",
    ),
]
Accept = Annotated[
    str,
    Query(
        pattern=r"^(words|plain|subspaces)(,(words|plain|subspaces)){0,2}$",
        description="Kinds of release that may be sent to this map.",
    ),
]


@router.post(
    "/v1/maps",
    status_code=201,
    summary="Upload a map",
    openapi_extra=_TAR,
    responses=refusals(400, 401, 403, 408, 409, 413, 429, 503, 507),
)
async def upload(
    request: Request, service: TheService, key: OwnerKey, name: Name, accept: Accept = "words"
) -> MapInfo:
    """Take a map in. It is checked as a whole before anybody can see it."""
    settings, store = service.settings, service.store
    if store.read_only:
        raise read_only()
    accepts = parse_accept(accept)
    digest = Digest(request)
    store.check_name_is_free(key.tenant, name, settings.max_maps)
    length = announced_length(request, settings.max_map_bytes, "a map")
    store.check_room(length or 0, settings.min_free_bytes)
    service.begin_upload(key.tenant)
    try:
        # Erasing what was refused takes seconds for a large map: not in the event loop.
        async with contextmanager_in_threadpool(store.draft()) as draft:
            await _unpack(request, service, draft, digest)
            given = {
                "folder": str(draft),
                "settings": settings.to_json(),
                "accepts": accepts,
                "created": now(),
            }
            info = await service.builder.run(
                key.tenant, check_upload, given, seconds=_BUILD_SECONDS
            )
            stored = StoredMap(key.tenant, new_id(), name, info)
            await asyncio.to_thread(store.commit, draft, key, stored.id, name, info)
    finally:
        service.end_upload(key.tenant)
    service.start_plan(key.tenant, stored.id, None)
    return info_of(stored, service)


async def _unpack(request: Request, service: Service, draft: Path, digest: Digest) -> None:
    settings = service.settings
    reader = TarReader(draft)
    batch, since = bytearray(), 0
    try:
        body = pieces(request.receive, settings.max_map_bytes, settings, what="a map")
        async for piece in body:
            digest.update(piece)
            batch += piece
            if len(batch) >= _BATCH:
                await asyncio.to_thread(reader.feed, bytes(batch))
                since += len(batch)
                batch.clear()
            if since >= _ROOM_EVERY:
                service.store.check_room(0, settings.min_free_bytes)
                since = 0
        await asyncio.to_thread(reader.feed, bytes(batch))
        digest.check()
        reader.finish()
    finally:
        reader.close()


@router.get("/v1/maps", summary="List maps", responses=refusals(401, 429, 503))
async def list_maps(service: TheService, key: AnyKey) -> MapList:
    """All maps of the key's tenant."""
    return MapList(maps=[info_of(row, service) for row in service.store.of_tenant(key.tenant)])


@router.get("/v1/maps/{id}", summary="One map", responses=refusals(401, 404, 429, 503))
async def show_map(id: str, service: TheService, key: AnyKey) -> MapInfo:
    """One map; another tenant's is answered like one that does not exist."""
    return info_of(service.store.find(key.tenant, id), service)


@router.get(
    "/v1/maps/{id}/archive",
    summary="Fetch a map",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "An uncompressed tar of the map's folder, as it can be uploaded again.",
            "content": {"application/x-tar": {"schema": {"type": "string", "format": "binary"}}},
        },
        **refusals(401, 403, 404, 429, 503),
    },
)
async def fetch_map(id: str, service: TheService, key: OwnerKey) -> StreamingResponse:
    """The whole map, for its owner: it shows what the map-maker's pictures show."""
    stored = service.store.find(key.tenant, id)
    folder = service.store.folder_of(stored.id)
    try:
        tar = await asyncio.to_thread(PlainTar.of_map, folder)
    except SfumatoError:
        service.store.find(key.tenant, id)  # unless it was deleted since it was looked up
        raise map_damaged() from None
    headers = {"Content-Length": str(tar.length)}
    return StreamingResponse(tar, media_type="application/x-tar", headers=headers)


@router.delete(
    "/v1/maps/{id}",
    status_code=204,
    summary="Erase a map",
    responses=refusals(401, 403, 404, 429, 503, 507),
)
async def delete_map(id: str, service: TheService, key: OwnerKey) -> Response:
    """Erase a map, its files included, before the answer."""
    await asyncio.to_thread(service.store.remove, key.tenant, id)
    return Response(status_code=204)


def info_of(stored: StoredMap, service: Service) -> MapInfo:
    return MapInfo(
        id=stored.id,
        name=stored.name,
        dictionaries=service.dictionaries.infos(stored.info["extractor"]),  # type: ignore[arg-type]
        **stored.info,
    )
