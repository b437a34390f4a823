"""The studio on this machine: a small server that only reads, with a strict policy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.studio.files import read_file

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}
_ANY = "application/octet-stream"
#: 'wasm-unsafe-eval' lets the browser compile WebAssembly; no text ever becomes a script.
_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
    "connect-src {connect}; style-src 'self'; img-src 'self' blob: data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
#: Asked for again each time; but a file in assets/ has a hash in its name, and an icon is an icon.
_CACHE = {"/assets/": "max-age=31536000, immutable", "/icon.svg": "max-age=3600"}
_SAYS_SELF = "connect-src 'self'"
_SAYS_NO_SERVER = '<meta name="sfumato-server" content="">'


class Studio:
    """What the studio answers; `server` is the one address that Place may ask beside its own."""

    def __init__(self, server: str | None = None) -> None:
        self._server = None if server is None else _checked(server)
        connect = "'self'" if self._server is None else f"'self' {self._server}"
        self.policy = _POLICY.format(connect=connect)

    def answer(self, address: str) -> tuple[bytes, str] | None:
        """Content and type of a file, or None."""
        name = unquote(urlsplit(address).path).removeprefix("/") or "index.html"
        content = read_file(name)
        if content is None:
            return None
        if name == "index.html" and self._server is not None:
            content = self._naming_the_server(content)
        return content, _TYPES.get(f".{name.rpartition('.')[2]}", _ANY)

    def _naming_the_server(self, page: bytes) -> bytes:
        text = page.decode("utf-8")
        text = text.replace(_SAYS_SELF, f"{_SAYS_SELF} {self._server}", 1)
        return text.replace(
            _SAYS_NO_SERVER, _SAYS_NO_SERVER.replace('""', f'"{self._server}"'), 1
        ).encode("utf-8")


def serve_studio(
    studio: Studio, *, host: str, port: int, ready: Callable[[str, int], None]
) -> None:
    """Answer until somebody stops it; `ready` is told the address."""
    check_count("port", port, low=0, high=65535)
    try:
        server = ThreadingHTTPServer((host, port), _handler(studio))
    except OSError as error:
        raise InvalidInput(
            f"port {port} of {host} cannot be used ({error.strerror or error}); choose another one "
            "with --port, 0 takes any that is free."
        ) from None
    server.daemon_threads = True
    with server:
        ready(host, int(server.server_address[1]))
        server.serve_forever(poll_interval=0.2)


def _handler(studio: Studio) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "sfumato", ""
        timeout = 30

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, *, body: bool) -> None:
            found = studio.answer(self.path)
            status = HTTPStatus.OK if found else HTTPStatus.NOT_FOUND
            content, kind = found or (b"there is no such file in the studio.\n", "text/plain")
            tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            if found and tag in self.headers.get("If-None-Match", ""):
                status, content = HTTPStatus.NOT_MODIFIED, b""
            self.send_response(status)
            self.send_header("Content-Security-Policy", studio.policy)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            kept = (value for start, value in _CACHE.items() if self.path.startswith(start))
            self.send_header("Cache-Control", next(kept, "no-cache") if found else "no-store")
            if status != HTTPStatus.NOT_MODIFIED:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", tag)
            self.end_headers()
            if body and content:
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: which photograph was looked at is nobody's business."""

    return Handler


def _checked(server: str) -> str:
    """An origin, https://host or http://host:port; anything else could change the policy."""
    parts = urlsplit(server)
    origin = f"{parts.scheme}://{parts.netloc}"
    plain = server.rstrip("/") == origin and not set(parts.netloc) & set("\"'<>;, \\@*")
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise InvalidInput(
            f"server must be an address like https://host or http://host:port, got {server!r}."
        )
    return origin
