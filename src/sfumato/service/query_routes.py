"""What devices ask: where am I, with which settings, in which words."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from sfumato.core.gravity import GRAVITY_HEADER
from sfumato.service.access import AnyKey, TheService, any_key
from sfumato.service.answers import Answer, PlanAnswer, PointsAnswer, refusals
from sfumato.service.bodies import received_release, unless_hung_up
from sfumato.service.errors import ServiceError, busy
from sfumato.service.plans import rounded, stored_plan
from sfumato.service.work import localize_release, points_of_map

router = APIRouter()
_RELEASE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "Exactly one release in sfumato's wire format; never a picture.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/v1/maps/{id}/localize",
    summary="Localize a release",
    openapi_extra=_RELEASE,
    responses=refusals(400, 401, 403, 404, 408, 409, 413, 429, 503),
)
async def localize(
    id: str,
    request: Request,
    service: TheService,
    key: AnyKey,
    gravity: Annotated[
        str | None,
        Header(
            alias=GRAVITY_HEADER,
            description="x,y,z,error: which way is down in the camera, and its standard deviation "
            "in degrees (0.1 to 20). Only for maps that know which way is up. Not protected: it "
            "tells how the camera was tilted.",
        ),
    ] = None,
) -> Answer:
    """The pose a release was taken from, or the reason why none is given."""
    stored = service.store.find(key.tenant, id)
    settings = service.settings
    given = {
        "settings": settings.to_json(),
        "folder": str(service.store.folder_of(stored.id)),
        "accepts": stored.info["accepts"],
        "extractor": stored.info["extractor"],
        "gravity": gravity,
    }

    def charge(cost: int) -> None:
        request.state.cost = cost
        service.rates.charge(key.id, cost // settings.candidates_per_request)

    async with received_release(request, settings, service.buffers) as body:
        service.metrics.waiting.inc()
        try:
            found = await unless_hung_up(
                request,
                service.queue.run(
                    key.tenant,
                    localize_release,
                    given,
                    body,
                    seconds=settings.deadline_seconds,
                    charge=charge,
                ),
            )
        except ServiceError as error:
            if error.code == "map-damaged":  # unless it was deleted since it was looked up
                service.store.find(key.tenant, id)
            raise
        finally:
            service.metrics.waiting.dec()
    answer = Answer(**found["answer"])
    service.metrics.localized.labels(found["kind"], str(answer.localized).lower()).inc()
    return answer


@router.get(
    "/v1/maps/{id}/plan",
    summary="Recommended settings",
    responses=refusals(400, 401, 404, 409, 429, 503),
)
async def plan(
    id: str,
    service: TheService,
    key: AnyKey,
    epsilon: Annotated[
        float | None, Query(ge=1, le=16, description="ε per descriptor; rounded down to 0.5.")
    ] = None,
) -> PlanAnswer:
    """Settings that work on this map: a recommendation, which a client may refuse."""
    stored = service.store.find(key.tenant, id)
    step = rounded(epsilon)
    made = stored_plan(service.store.folder_of(stored.id), step)
    if made is None and (service.store.read_only or not service.settings.plan_images):
        made = {"failed": "this server makes none, and none was made before."}
    if made is None:
        service.start_plan(key.tenant, stored.id, step)
        raise busy("the plan is being made; ask again.", 10)
    if "failed" in made:
        raise ServiceError(409, "no-plan", f"there is no plan for this map: {made['failed']}")
    return PlanAnswer(**made)


@router.get(
    "/v1/maps/{id}/points",
    summary="Points to draw",
    responses=refusals(401, 404, 429, 503),
)
async def points(id: str, service: TheService, key: AnyKey) -> PointsAnswer:
    """Some positions of a map, to show a pose among them; no colour, no descriptor, no image."""
    stored = service.store.find(key.tenant, id)
    settings = service.settings
    given = {"folder": str(service.store.folder_of(stored.id)), "count": settings.shown_points}
    found = await service.queue.run(
        key.tenant, points_of_map, given, seconds=settings.deadline_seconds
    )
    return PointsAnswer(**found)


@router.get(
    "/v1/dictionaries/{fingerprint}",
    summary="Public words",
    dependencies=[Depends(any_key)],
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "An uncompressed tar of the dictionary's folder.",
            "content": {"application/x-tar": {"schema": {"type": "string", "format": "binary"}}},
            "headers": {
                "ETag": {"description": "the fingerprint", "schema": {"type": "string"}},
            },
        },
        304: {"description": "The client has it already."},
        **refusals(400, 401, 404, 429, 503),
    },
)
async def dictionary(
    fingerprint: Annotated[str, Path(pattern="^[0-9a-f]{64}$")],
    request: Request,
    service: TheService,
) -> Response:
    """The words that devices replace descriptors by; the same for everybody."""
    served = service.dictionaries.find(fingerprint)
    tag = f'"{served.dictionary.fingerprint}"'
    asked = [name.strip() for name in request.headers.get("if-none-match", "").split(",")]
    if tag in asked or "*" in asked:
        return Response(status_code=304, headers={"ETag": tag})
    tar = served.tar()
    headers = {"ETag": tag, "Content-Length": str(tar.length)}
    return StreamingResponse(tar, media_type="application/x-tar", headers=headers)
