"""The page at /app: a device in the browser. Its files lie in `page/`, built from web/app.

They are read once and served from memory, so that no address becomes a path. The page may talk
to this service and to nobody else; the browser is told so with every file.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

router = APIRouter()
FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}
#: 'wasm-unsafe-eval' lets the browser compile WebAssembly; no text ever becomes a script.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "connect-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True)
class _File:
    """A file of the page as it is answered."""

    body: bytes
    packed: bytes
    media_type: str
    tag: str
    cache: str


@cache
def _files() -> dict[str, _File]:
    return {
        path.relative_to(FOLDER).as_posix(): _read(path)
        for path in sorted(FOLDER.rglob("*"))
        if path.suffix in _TYPES
    }


def _read(path: Path) -> _File:
    body = path.read_bytes()
    # A file in assets/ has its hash in its name; the others are asked for again every time.
    forever = path.parent.name == "assets"
    return _File(
        body,
        gzip.compress(body, mtime=0),
        _TYPES[path.suffix],
        f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        "public, max-age=31536000, immutable" if forever else "no-cache",
    )


@router.get("/app", include_in_schema=False)
async def without_slash() -> Response:
    """Relative, so that it holds behind a proxy that serves under another path."""
    return RedirectResponse("app/", status_code=308)


@router.get("/app/{name:path}", include_in_schema=False)
async def page(name: str, request: Request) -> Response:
    """A file of the page, for everybody: it holds no secret."""
    file = _files().get(name or "index.html")
    if file is None:
        raise HTTPException(404)
    headers = {**_HEADERS, "ETag": file.tag, "Cache-Control": file.cache}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    body = file.body
    if "gzip" in request.headers.get("accept-encoding", "") and len(file.packed) < len(body):
        body, headers["Content-Encoding"] = file.packed, "gzip"
    return Response(body, media_type=file.media_type, headers=headers)
