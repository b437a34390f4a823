"""The page at /app: its files and nothing else, and what the browser is told with each."""

from __future__ import annotations

import re

import pytest

from served import Served, refused
from sfumato.service.page_routes import FOLDER

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())


def directives(policy: str) -> dict[str, list[str]]:
    parts = [part.split() for part in policy.split(";")]
    return {words[0]: words[1:] for words in parts}


@pytest.mark.parametrize("name", FILES)
def test_every_file_comes_with_the_policy_and_as_it_is(served: Served, name: str) -> None:
    answer = served.client.get(f"/app/{name}")
    assert answer.status_code == 200
    assert answer.content == (FOLDER / name).read_bytes()
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    policy = directives(answer.headers["content-security-policy"])
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'", "'wasm-unsafe-eval'"]
    assert policy["connect-src"] == ["'self'"]
    for sources in policy.values():
        assert set(sources) <= {"'none'", "'self'", "'wasm-unsafe-eval'", "blob:"}
    (cache,) = answer.headers.get_list("cache-control")
    assert cache == (
        "public, max-age=31536000, immutable" if name.startswith("assets/") else "no-cache"
    )
    again = served.client.get(f"/app/{name}", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = served.client.get(f"/app/{name}", headers={"Accept-Encoding": "identity"})
    assert plain.content == answer.content
    assert "content-encoding" not in plain.headers


def test_the_address_without_a_slash_leads_to_the_page(served: Served) -> None:
    answer = served.client.get("/app")
    assert (answer.status_code, answer.headers["location"]) == (308, "app/")
    assert served.client.get("/app/").content == (FOLDER / "index.html").read_bytes()


def test_there_is_nothing_beside_the_files(served: Served) -> None:
    for name in ("x", "../page_routes.py", "%2e%2e/app.py", "assets/", "assets", "//", "a%00"):
        refused(served.client.get(f"/app/{name}"), 404, "nothing at this address")


def test_the_page_takes_no_body(served: Served) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/app", "/app/", "/app/index.html"):
            answer = served.client.request(method, path, content=b"\xff\xd8\xff")
            refused(answer, 405, "other methods")


def test_the_page_names_no_other_site() -> None:
    """Also for readers of the source: what is loaded is loaded from here."""
    for name in FILES:
        if name.endswith((".html", ".css", ".webmanifest")):
            text = (FOLDER / name).read_text(encoding="utf-8")
            addresses = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]+", text))
            assert addresses == set(), (name, addresses)


def test_the_page_has_all_that_it_asks_for() -> None:
    """What index.html and the service worker name is there, and nothing else is."""
    head = (FOLDER / "index.html").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:src|href)="\./([^"]+)"', head))
    assert len(named) > 4
    assert named <= set(FILES)
    worker = (FOLDER / "sw.js").read_text(encoding="utf-8")
    kept = set(re.findall(r'[`"\']\./([^`"\']*)[`"\']', worker)) - {""}
    assert kept == set(FILES) - {"index.html", "sw.js"}


def test_answers_about_maps_are_still_not_kept(served: Served) -> None:
    answer = served.client.get("/v1/maps", headers=served.query)
    assert answer.headers.get_list("cache-control") == ["no-store"]
