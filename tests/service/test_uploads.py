"""Uploads go in whole or not at all."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import shutil
import struct
import tarfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

from computations import full_disk, slow_check, under_way
from served import Serve, Served, nothing_is_left, refused
from sfumato.service import map_routes


def test_an_upload_that_is_cut_leaves_nothing(served: Served) -> None:
    whole = served.world.tar()
    for cut in (0, 100, 512, len(whole) // 2, len(whole) - 20_000):
        refused(served.upload(content=whole[:cut]), 400, "tar")
        nothing_is_left(served)


def test_a_refused_upload_is_erased_outside_the_event_loop(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_loop: list[bool] = []
    erase = shutil.rmtree

    def watched(*given: Any, **more: Any) -> None:
        try:
            asyncio.get_running_loop()
            in_loop.append(True)
        except RuntimeError:
            in_loop.append(False)
        erase(*given, **more)

    monkeypatch.setattr(shutil, "rmtree", watched)
    refused(served.upload(content=served.world.tar()[:5000]), 400, "tar")
    assert in_loop == [False]


def test_a_client_that_hangs_up_leaves_nothing(served: Served) -> None:
    sent = [{"type": "http.request", "body": served.world.tar()[:5000], "more_body": True}]

    async def receive() -> dict[str, Any]:
        return sent.pop() if sent else {"type": "http.disconnect"}

    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    headers = [(b"authorization", served.owner["Authorization"].encode())]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/maps",
        "raw_path": b"/v1/maps",
        "query_string": b"name=room",
        "headers": [*headers, (b"transfer-encoding", b"chunked")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("test", 80),
        "client": ("test", 1),
        "root_path": "",
        "app": None,
    }
    served.client.run(served.app(scope, receive, send))
    assert said == []
    nothing_is_left(served)


def test_the_digest_of_a_body_is_checked(served: Served) -> None:
    body = served.world.tar()
    good = base64.b64encode(hashlib.sha256(body).digest()).decode()
    wrong = base64.b64encode(bytes(32)).decode()
    for text, word in ((f"sha-256=:{wrong}:", "Content-Digest"), ("md5=:aaaa:", "sha-256")):
        refused(served.upload(headers={**served.owner, "Content-Digest": text}), 400, word)
        nothing_is_left(served)
    fine = {**served.owner, "Content-Digest": f"sha-256=:{good}:"}
    assert served.upload(headers=fine).status_code == 201


def test_too_large_is_found_out_with_and_without_a_length(serve: Serve) -> None:
    served = serve(max_map_bytes=50_000)
    refused(served.upload(), 413, "50000 bytes")

    async def body() -> AsyncIterator[bytes]:
        for start in range(0, 100_000, 1000):
            yield served.world.tar()[start : start + 1000]

    refused(served.upload(content=body()), 413, "50000 bytes")
    nothing_is_left(served)


def test_a_full_disk_and_a_full_account_are_said(serve: Serve) -> None:
    served = serve(min_free_bytes=1 << 60)
    refused(served.upload(), 507, "no room")
    nothing_is_left(served)
    served = serve(max_maps=1)
    served.map_id()
    refused(served.upload("second"), 409, "1 maps")


def test_a_disk_that_fills_up_while_writing_leaves_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(map_routes, "check_upload", full_disk)
        refused(served.upload(), 507, "no room")
    nothing_is_left(served)
    assert served.upload().status_code == 201


def test_a_key_revoked_in_the_middle_of_an_upload_leaves_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(map_routes, "check_upload", slow_check)
    store = served.service.store
    with under_way(store.folder, served.upload) as answers:
        store.keys.revoke(served.owner_id)
    refused(answers[0], 401, "valid key")
    nothing_is_left(served)


def replaced(served: Served, name: str, content: bytes) -> Any:
    """Upload the map with another content of one of its files, and a manifest that fits it."""
    files = {path.name: path.read_bytes() for path in served.world.folder.iterdir()}
    files[name] = content
    if name != "manifest.json":
        manifest = json.loads(files["manifest.json"])
        manifest["files"][name] = hashlib.sha256(content).hexdigest()
        del manifest["checksum"]
        text = json.dumps(manifest, sort_keys=True)
        manifest["checksum"] = hashlib.sha256(text.encode()).hexdigest()
        files["manifest.json"] = json.dumps(manifest).encode()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for title, data in files.items():
            entry = tarfile.TarInfo(title)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return served.upload(content=stream.getvalue())


def test_a_large_manifest_is_refused_unread(served: Served) -> None:
    names = json.dumps({"image_names": ["x" * 20] * 1_000_000}).encode()
    refused(replaced(served, "manifest.json", names), 400, "larger than")
    refused(replaced(served, "manifest.json", b"[" * 900_000), 400, "manifest")
    nothing_is_left(served)


@pytest.mark.parametrize(
    "header",
    [
        "(" * 9_000 + ")" * 9_000,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 7, }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3, 3), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }" + " " * 40_000,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3)",
        "\x00\x01",
        "lambda: 1",
    ],
    ids=range(10),
)
def test_hostile_headers_of_arrays_are_refused(served: Served, header: str) -> None:
    text = header.encode("latin-1") + b"\n"
    content = b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text + bytes(72)
    refused(replaced(served, "points.npy", content), 400, "points.npy")
    nothing_is_left(served)
