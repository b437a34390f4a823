"""A server that lives in the test: it answers like the real one, or as badly as it is told to."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np

from sfumato.client import Client
from sfumato.core.types import Camera, Pose
from sfumato.dictionary import Dictionary
from support import photograph

KEY = "sfk_0123abcd_" + "s" * 43
URL = "https://maps.example"
MAP_ID = "m" * 22
PHOTO = photograph()
CAMERA = Camera("SIMPLE_PINHOLE", 512, 512, (500.0, 256.0, 256.0))
POSE = Pose(np.eye(3), np.array([1.0, 2.0, 3.0]))


def sift_words(num_words: int = 2048, seed: int = 0) -> Dictionary:
    words = np.random.default_rng(seed).integers(0, 256, (num_words, 128), dtype=np.uint8)
    return Dictionary.from_words(words, extractor="sift")


WORDS = sift_words()

Handler = Callable[[httpx.Request], httpx.Response]


def map_info(dictionary: Dictionary = WORDS, **other: Any) -> dict[str, Any]:
    info = {
        "id": MAP_ID,
        "name": "gallery",
        "created": "2026-01-01T00:00:00Z",
        "extractor": "sift",
        "num_images": 3,
        "num_points": 100,
        "num_observations": 200,
        "num_bytes": 1000,
        "accepts": ["words"],
        "dictionaries": [
            {
                "fingerprint": dictionary.fingerprint,
                "num_words": dictionary.num_words,
                "name": None,
            }
        ],
        "notice": "positions are not protected",
    }
    return info | other


def answer(**other: Any) -> dict[str, Any]:
    """A pose, as a server gives it."""
    good = {
        "localized": True,
        "cam_from_world": {
            "rotation": POSE.rotation.tolist(),
            "translation": POSE.translation.tolist(),
        },
        "center": POSE.center.tolist(),
        "num_inliers": 30,
        "num_matches": 60,
        "log10_chance": -20.5,
        "reason": None,
    }
    return good | other


def unread(response: httpx.Response) -> httpx.Response:
    """The same answer as it comes from a network: its body not read yet."""
    return httpx.Response(response.status_code, headers=response.headers, stream=response.stream)


class Pretend:
    """Keeps what came; `instead` of the usual answers to a question it gives its own, in turn."""

    def __init__(self, *instead: Handler | httpx.Response | Exception, **info: Any) -> None:
        self.requests: list[tuple[str, str, bytes]] = []
        self.headers: list[httpx.Headers] = []
        self.instead = list(instead)
        self.info = map_info(**info)
        self.extra: dict[str, Handler] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        return unread(self._answer(request))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == f"Bearer {KEY}"
        self.requests.append((request.method, request.url.path, request.read()))
        self.headers.append(request.headers)
        path = request.url.path
        if path == "/v1/maps" and request.method == "GET":
            return httpx.Response(200, json={"maps": [self.info]})
        if path == f"/v1/maps/{MAP_ID}" and request.method == "DELETE":
            return httpx.Response(204)
        if path == f"/v1/maps/{MAP_ID}":
            return httpx.Response(200, json=self.info)
        if self.instead:
            what = self.instead.pop(0)
            if isinstance(what, Exception):
                raise what
            return what if isinstance(what, httpx.Response) else what(request)
        if path == f"/v1/maps/{MAP_ID}/localize":
            return httpx.Response(200, json=answer())
        if path in self.extra:
            return self.extra[path](request)
        return httpx.Response(404, json={"error": "no-such-thing", "detail": "not here."})

    async def later(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self(request)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)

    @property
    def asked(self) -> list[bytes]:
        """The bodies of all releases that came."""
        return [body for _, path, body in self.requests if path.endswith("/localize")]


def tar_of(folder: Path, **more: bytes) -> bytes:
    """A folder as the server sends it."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.add(folder, arcname=".", recursive=True)
        for name, data in more.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return archive.getvalue()


def make_client(server: Pretend, **settings: Any) -> Client:
    """A client of this server; 50 keypoints at ε = 8 unless told otherwise."""
    given: dict[str, Any] = {
        "epsilon": 8.0,
        "dictionary": WORDS,
        "max_keypoints": 50,
        "map": "gallery",
        "ledger": None,
    }
    return Client(URL, KEY, transport=server.transport, **(given | settings))


@contextmanager
def on_a_socket(pretend: Pretend) -> Iterator[str]:
    """The pretended server behind a real socket of this machine; its address."""

    class Bridge(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer_it(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            request = httpx.Request(
                self.command, f"http://test{self.path}", headers=dict(self.headers), content=body
            )
            response = pretend(request)
            data = b"".join(response.stream)  # type: ignore[arg-type]
            self.send_response(response.status_code)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = answer_it  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Bridge) as http:
        thread = Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join(60)
