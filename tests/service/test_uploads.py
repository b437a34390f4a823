"""Uploads go in whole or not at all."""

from __future__ import annotations

import base64
import hashlib
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
