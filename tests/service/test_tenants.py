"""Who may see and change what."""

from __future__ import annotations

from typing import Any

import pytest

from served import Served, bearer, nothing_is_left, refused


def test_names_and_kinds_are_checked(served: Served) -> None:
    for name in ("", "../x", "a/b", "x" * 65, "é", " a", "a\n"):
        refused(served.upload(name), 400, "name")
    nameless = served.client.post("/v1/maps", headers=served.owner, content=b"")
    refused(nameless, 400, "name")
    for accept in ("", "codes", "words,", "words;plain"):
        answer = served.client.post(
            "/v1/maps", params={"name": "x", "accept": accept}, headers=served.owner, content=b""
        )
        refused(answer, 400, "accept")
    nothing_is_left(served)


def test_a_query_key_changes_and_fetches_nothing(served: Served) -> None:
    room = served.map_id()
    refused(served.upload("other", headers=served.query), 403, "owner")
    refused(served.client.delete(f"/v1/maps/{room}", headers=served.query), 403, "owner")
    refused(served.client.get(f"/v1/maps/{room}/archive", headers=served.query), 403, "owner")


def test_only_valid_keys_get_in(served: Served) -> None:
    room = served.map_id()
    good = served.owner["Authorization"].removeprefix("Bearer ")
    bad = ["", "x", good[:-1], good + "A", good.replace("sfk_", "sfk_0", 1), "sfk_" + "0" * 16]
    bad.append(f"sfk_{'0' * 16}_{good[-43:]}")
    for text in bad:
        refused(served.client.get("/v1/maps", headers=bearer(text)), 401, "valid key")
    refused(served.client.get("/v1/maps"), 401, "valid key")
    served.service.store.keys.revoke(served.owner_id)
    refused(served.client.get(f"/v1/maps/{room}", headers=served.owner), 401, "valid key")


ROUTES = [
    ("GET", "/v1/maps/{}"),
    ("DELETE", "/v1/maps/{}"),
    ("POST", "/v1/maps/{}/localize"),
    ("GET", "/v1/maps/{}/plan"),
    ("GET", "/v1/maps/{}/points"),
    ("GET", "/v1/maps/{}/archive"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_foreign_map_is_like_a_missing_one(served: Served, method: str, path: str) -> None:
    room = served.map_id()
    ask: dict[str, Any] = {"headers": served.stranger}
    if method == "POST":
        ask["content"] = served.world.release
    foreign = served.client.request(method, path.format(room), **ask)
    missing = served.client.request(method, path.format("A" * 22), **ask)
    assert foreign.status_code == missing.status_code == 404
    assert foreign.content == missing.content
    assert dict(foreign.headers, **{"x-request-id": ""}) == dict(
        missing.headers, **{"x-request-id": ""}
    )
    # 200 is the stranger's own empty list, where the client itself folds the path to /v1/maps.
    for trick in ("..", "../maps", "%2e%2e%2f", "%00", "a" * 3000, f"../{room}", f"./{room}/../x"):
        odd = served.client.request(method, path.format(trick), **ask)
        assert odd.status_code in (200, 404, 405), (trick, odd.status_code)
        assert room not in odd.text
    assert served.client.get("/v1/maps", headers=served.stranger).json() == {"maps": []}
    assert served.service.store.ids() == {room}
