"""Which web sites may let a browser ask: those on the list, compared as a whole."""

from __future__ import annotations

import pytest

from served import Serve
from sfumato.core.errors import InvalidInput
from sfumato.service.settings import Settings, from_environment

SITE = "https://app.example"
ASKS_FIRST = {"Access-Control-Request-Method": "POST", "Origin": SITE}


def test_no_site_is_named_unless_the_operator_does(serve: Serve) -> None:
    served = serve()
    for method in ("GET", "OPTIONS"):
        answer = served.client.request(method, "/v1/maps", headers={**served.query, **ASKS_FIRST})
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_site_on_the_list_asks_first_and_then_with_a_key(serve: Serve) -> None:
    served = serve(allow_origins=(SITE,))
    first = served.client.request("OPTIONS", "/v1/maps/x/localize", headers=ASKS_FIRST)
    assert first.status_code == 204
    assert first.headers["access-control-allow-origin"] == SITE
    assert first.headers["access-control-allow-methods"] == "GET, POST"
    assert "authorization" in first.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in first.headers
    second = served.client.get("/v1/maps", headers={**served.query, "Origin": SITE})
    assert second.status_code == 200
    assert second.headers["access-control-allow-origin"] == SITE
    assert "Origin" in second.headers["vary"]
    refused = served.client.get("/v1/maps", headers={"Origin": SITE})
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == SITE  # so that the page can say why


@pytest.mark.parametrize(
    "other",
    [
        "https://app.example.evil.example",
        "https://evil.example",
        "http://app.example",
        "https://app.example:8443",
        "https://APP.example",
        "null",
        "",
        "*",
    ],
)
def test_a_site_that_is_only_similar_is_not_named(serve: Serve, other: str) -> None:
    served = serve(allow_origins=(SITE,))
    first = served.client.request("OPTIONS", "/v1/maps", headers={**ASKS_FIRST, "Origin": other})
    assert first.status_code == 405
    second = served.client.get("/v1/maps", headers={**served.query, "Origin": other})
    for answer in (first, second):
        assert "access-control-allow-origin" not in answer.headers
        assert "Origin" in answer.headers["vary"]


def test_only_questions_are_for_other_sites(serve: Serve) -> None:
    served = serve(allow_origins=(SITE,))
    for path in ("/metrics", "/docs", "/app/"):
        answer = served.client.get(path, headers={"Origin": SITE})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("origin", ["*", "https://*.example", "https://*"])
def test_every_site_at_once_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput, match="requests carry a key"):
        Settings(allow_origins=(origin,))


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "app.example",
        "https://",
        "https://app.example/",
        "https://app.example/page",
        "https://App.example",
        "https://app.example:443",
        "https://user@app.example",
        "http://app.example",
        "http://localhost:80",
        "https://app.example\n",
        "https://app.example:0",
    ],
)
def test_an_origin_that_no_browser_writes_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput, match=r"https://app\.example"):
        Settings(allow_origins=(origin,))


def test_origins_come_from_the_environment_and_reach_a_worker() -> None:
    given = from_environment({"SFUMATO_ALLOW_ORIGINS": f"{SITE}, http://localhost:5173"})
    settings = Settings().updated(given, source="the environment")
    assert settings.allow_origins == (SITE, "http://localhost:5173")
    assert Settings.from_json(settings.to_json()) == settings
    none = Settings().updated({"allow_origins": ""}, source="the environment")
    assert none.allow_origins == ()
