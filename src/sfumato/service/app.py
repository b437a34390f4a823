"""The service as an ASGI application. No route takes an image."""

from __future__ import annotations

import signal
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from sfumato.core.errors import SfumatoError
from sfumato.service import map_routes, operation_routes, page_routes, query_routes
from sfumato.service.auditing import Audit
from sfumato.service.errors import ServiceError, from_sfumato, from_storage
from sfumato.service.logs import log
from sfumato.service.metrics import forget_dead_workers
from sfumato.service.origins import Origins
from sfumato.service.request_guard import RequestGuard
from sfumato.service.state import Service

_ABOUT = """A device sends a protected release, never a picture, and learns where it is.

Descriptors are protected by the device's own ε, per descriptor; a picture of N keypoints spends
N·ε. Positions, their number, the picture's size, the camera and the pose are not protected.
"""


def create_app(service: Service) -> FastAPI:
    """The application around one worker's service."""
    app = FastAPI(
        title="sfumato",
        version="1",
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.service = service
    app.include_router(map_routes.router, tags=["maps"])
    app.include_router(query_routes.router, tags=["queries"])
    app.include_router(operation_routes.router, tags=["operation"])
    app.include_router(page_routes.router)
    app.add_middleware(RequestGuard, metrics=service.metrics)
    app.add_middleware(
        Audit,
        store=service.store.folder,
        read_only=service.store.read_only,
        max_bytes=service.settings.audit_bytes,
    )
    app.add_middleware(Origins, allowed=service.settings.allow_origins)
    app.add_exception_handler(ServiceError, _refuse)
    app.add_exception_handler(SfumatoError, _refuse)
    app.add_exception_handler(sqlite3.Error, _refuse)
    app.add_exception_handler(OSError, _refuse)
    app.add_exception_handler(RequestValidationError, _refuse)
    app.add_exception_handler(HTTPException, _refuse)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    forget_dead_workers()
    _notice_the_end(service)
    log("started", workers=service.settings.workers)
    yield
    await service.stop_plans()
    service.close()
    log("stopped")


def _notice_the_end(service: Service) -> None:
    """Refuse what arrives after SIGTERM; uvicorn's own handler then lets the rest finish."""
    if threading.current_thread() is not threading.main_thread():
        return
    inner = signal.getsignal(signal.SIGTERM)

    def stop(number: int, frame: Any) -> None:
        service.draining.set()
        if callable(inner):
            inner(number, frame)

    signal.signal(signal.SIGTERM, stop)


async def _refuse(request: Request, error: Exception) -> JSONResponse:
    """Every error as one short code and one sentence."""
    if isinstance(error, ServiceError):
        refusal = error
    elif isinstance(error, SfumatoError):
        refusal = from_sfumato(error)
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        place = " ".join(str(part) for part in first["loc"] if part != "body")
        refusal = ServiceError(400, "invalid", f"{place or 'the request'}: {first['msg']}.")
    elif isinstance(error, HTTPException):
        refusal = ServiceError(error.status_code, *_SENTENCES.get(error.status_code, _OTHER))
        refusal.headers.update(error.headers or {})
        if error.status_code == 405:
            refusal.headers["Allow"] = _allowed(request)
    else:
        assert isinstance(error, OSError | sqlite3.Error)
        refusal = from_storage(error)
    return JSONResponse(
        {"error": refusal.code, "detail": refusal.detail},
        status_code=refusal.status,
        headers=refusal.headers,
    )


def _allowed(request: Request) -> str:
    """All methods of an address; the framework knows only those of the first route that fits."""
    found: set[str] = set()
    for template, operations in request.app.openapi()["paths"].items():
        if compile_path(template)[0].match(request.url.path):
            found |= {method.upper() for method in operations}
    return ", ".join(sorted(found or {"GET"}))


_SENTENCES = {
    404: ("not-found", "there is nothing at this address; /docs lists what there is."),
    405: ("method-not-allowed", "this address takes other methods; see the Allow header."),
}
_OTHER = ("refused", "the request cannot be answered.")


def _document(app: FastAPI) -> dict[str, Any]:
    """OpenAPI, with our own errors instead of the framework's."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        app.openapi_schema = document
    return app.openapi_schema
