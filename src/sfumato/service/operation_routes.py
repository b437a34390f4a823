"""For those who run the service: alive, ready, metrics, and what can be asked."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

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
    document: dict[str, Any] = request.app.openapi()
    rows = "".join(
        _row(method, path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    )
    about = escape(document["info"]["description"])
    return HTMLResponse(_PAGE.format(about=about, rows=rows))


def _row(method: str, path: str, operation: dict[str, Any]) -> str:
    answers = "<br>".join(
        f"<b>{escape(status)}</b> {escape(answer.get('description', ''))}"
        for status, answer in operation["responses"].items()
    )
    asked = ", ".join(
        f"{parameter['name']}{'' if parameter.get('required') else '?'}"
        for parameter in operation.get("parameters", [])
    )
    key = "key" if operation.get("security") else "no key"
    return (
        f"<tr><td><code>{method.upper()} {escape(path)}</code><br>{escape(asked)}<br><i>{key}</i>"
        f"</td><td>{escape(operation.get('description', ''))}</td><td>{answers}</td></tr>"
    )


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>sfumato service</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}}
td{{vertical-align:top;padding:.6rem .8rem;border-top:1px solid #ccc}}</style>
<h1>sfumato service</h1><p>{about}</p><p><a href="/openapi.json">openapi.json</a></p>
<table>{rows}</table></html>"""
