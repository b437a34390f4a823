"""For those who run the service: alive, ready, metrics, and what can be asked."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from sfumato.pages.render import render
from sfumato.service.access import TheService
from sfumato.service.answers import Health, Readiness, refusals
from sfumato.service.errors import busy
from sfumato.service.metrics import CONTENT_TYPE

router = APIRouter()


@router.get("/healthz", summary="Alive")
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", summary="Ready", responses=refusals(503))
async def readyz(service: TheService) -> Readiness:
    """The store can be read and requests are taken; a full disk only stops changes."""
    if service.draining.is_set():
        raise busy("this server is about to stop.", 2)
    if not service.queue.is_warm:
        raise busy("this server is just starting.", 1)
    service.store.ids()
    reason = service.store.why_not_writable(service.settings.min_free_bytes)
    return Readiness(status="ready", writable=reason is None, reason=reason)


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(service: TheService) -> Response:
    """Of all workers of this machine together."""
    return Response(service.metrics.text(), media_type=CONTENT_TYPE)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """The OpenAPI document as a page that loads nothing from elsewhere."""
    return HTMLResponse(render("service.html", document=request.app.openapi()))
