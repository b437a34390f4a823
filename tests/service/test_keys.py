"""Keys through the front door: every route, every way in which a key can be wrong."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import sfumato
from served import Serve, Served, bearer, nothing_is_left, refused
from sfumato.core.errors import InvalidInput
from sfumato.service import keys as keys_module
from sfumato.service.database import Database
from sfumato.service.keys import Key, Keys, parse_expiry, still_valid

PAST, FUTURE = "2000-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


def routes(served: Served) -> list[tuple[str, str]]:
    """Method and path template of all that the served document says needs a key."""
    document = served.client.get("/openapi.json").json()
    return [
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if operation.get("security")
    ]


def split(text: str) -> tuple[str, str]:
    """Id and secret; a secret may have underscores of its own."""
    return text[4:20], text[21:]


def wrong_id(text: str, other: str, store: Keys) -> str:
    return f"sfk_{'0' * 16}_{split(text)[1]}"


def wrong_secret(text: str, other: str, store: Keys) -> str:
    changed = "A" if text[21] != "A" else "B"
    return f"{text[:21]}{changed}{text[22:]}"


def wrong_end(text: str, other: str, store: Keys) -> str:
    # The last of 43 characters carries four bits: change one that counts.
    return text[:-2] + ("A" if text[-2] != "A" else "B") + text[-1]


def truncated(text: str, other: str, store: Keys) -> str:
    return text[:-1]


def secret_of_another_tenant(text: str, other: str, store: Keys) -> str:
    return f"sfk_{split(text)[0]}_{split(other)[1]}"


def expired(text: str, other: str, store: Keys) -> str:
    return store.create("a", "owner", expires=PAST)[1]


def revoked(text: str, other: str, store: Keys) -> str:
    key, made = store.create("a", "owner")
    store.revoke(key.id)
    return made


def empty(text: str, other: str, store: Keys) -> str:
    return ""


@pytest.mark.parametrize(
    "spoil",
    [
        wrong_id,
        wrong_secret,
        wrong_end,
        truncated,
        secret_of_another_tenant,
        expired,
        revoked,
        empty,
    ],
)
def test_no_route_takes_a_wrong_key(served: Served, spoil: Callable[[str, str, Keys], str]) -> None:
    room = served.map_id()
    good, other = (
        headers["Authorization"].removeprefix("Bearer ")
        for headers in (served.owner, served.stranger)
    )
    bad = spoil(good, other, served.service.store.keys)
    words = served.service.dictionaries.of_extractor("tiny")[0].fingerprint
    found = routes(served)
    assert len(found) >= 7
    for method, template in found:
        path = template.replace("{id}", room).replace("{fingerprint}", words)
        ask: dict[str, Any] = {"params": {"name": "x"}} if template == "/v1/maps" else {}
        if method == "POST":
            ask["content"] = served.world.release
        answer = served.client.request(method, path, headers=bearer(bad), **ask)
        refused(answer, 401, "valid key")
        right = served.client.request("GET", "/v1/maps", headers=bearer(good))
        assert [entry["id"] for entry in right.json()["maps"]] == [room]


def test_a_key_is_good_until_it_expires(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    _, text = served.service.store.keys.create("a", "owner", expires="2030-01-01T00:00:00Z")
    for moment, status in (
        ("2029-12-31T23:59:59Z", 200),
        ("2030-01-01T00:00:00Z", 401),
        ("2030-06-01T00:00:00Z", 401),
    ):
        monkeypatch.setattr(keys_module, "now", lambda moment=moment: moment)
        answer = served.client.get("/v1/maps", headers=bearer(text))
        assert answer.status_code == status
    assert "expired on 2030-01-01T00:00:00Z; ask the operator" in answer.json()["detail"]


def test_a_key_that_expires_during_an_upload_leaves_nothing(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, text = served.service.store.keys.create("a", "owner", expires="2030-01-01T00:00:00Z")
    commit = served.service.store.commit

    def late(*arguments: Any) -> None:
        monkeypatch.setattr(keys_module, "now", lambda: "2030-01-01T00:00:00Z")
        commit(*arguments)

    monkeypatch.setattr(keys_module, "now", lambda: "2029-12-31T23:59:59Z")
    monkeypatch.setattr(served.service.store, "commit", late)
    refused(served.upload(headers=bearer(text)), 401, "valid key")
    nothing_is_left(served)
    with served.service.store.database.write() as database:
        assert not still_valid(database, key)
        assert still_valid(database, Key(key.id, "a", "owner", "")) is False


def test_expiries_are_spans_or_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_expiry("2999-01-31") == "2999-01-31T00:00:00Z"
    assert parse_expiry("2999-01-31T12:00:00+02:00") == "2999-01-31T10:00:00Z"
    assert keys_module.now() < parse_expiry("90m") < parse_expiry("12h") < parse_expiry("30d")
    for text in ("", "30", "d", "-1d", "0d", "30 days", "2000-01-01", "2030-13-01", "99999999d"):
        with pytest.raises(InvalidInput, match="--expires must be"):
            parse_expiry(text)


def test_a_key_file_is_for_its_owner_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, file = tmp_path / "store", tmp_path / "owner.key"
    words = ("keys", "create", "--store", store, "--tenant", "a", "-o", file)
    assert sfumato(*words, "--expires", "30d") == 0
    shown = capsys.readouterr()
    text = file.read_text().strip()
    assert text not in shown.out + shown.err
    assert "expires" in shown.out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = Keys(Database(store)).find(text)
    assert found is not None
    assert found.expires is not None
    assert sfumato("keys", "list", "--store", store, "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)["keys"]
    assert entry["expires"] == found.expires
    # A file that is there is never overwritten, and no key is made for it.
    assert sfumato(*words) == 2
    assert "exists already" in capsys.readouterr().err
    assert file.read_text().strip() == text
    assert len(Keys(Database(store)).all()) == 1


def test_a_key_that_cannot_be_made_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("keys", "create", "--store", tmp_path / "store", "-o", tmp_path / "x.key")
    assert sfumato(*words, "--tenant", "../x") == 2
    assert sfumato(*words, "--tenant", "a", "--expires", "soon") == 2
    assert not (tmp_path / "x.key").exists()
    nowhere = ("-o", tmp_path / "none" / "x.key")
    assert sfumato(*words[:4], *nowhere, "--tenant", "a") == 2
    assert "cannot be written" in capsys.readouterr().err
    assert not Keys(Database(tmp_path / "store")).all()


def test_an_expired_key_is_listed_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = Keys(Database(tmp_path))
    keys.create("a", "query", expires=PAST)
    keys.create("a", "query", expires=FUTURE)
    assert sfumato("keys", "list", "--store", tmp_path) == 0
    assert capsys.readouterr().out.count("(expired)") == 1


def test_expiry_reaches_readers(serve: Serve) -> None:
    writer = serve()
    keys = writer.service.store.keys
    good = keys.create("a", "query", expires=FUTURE)[1]
    bad = keys.create("a", "query", expires=PAST)[1]
    writer.service.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    reader = serve(read_only=True)
    assert reader.client.get("/v1/maps", headers=bearer(good)).status_code == 200
    assert reader.client.get("/v1/maps", headers=bearer(bad)).status_code == 401
