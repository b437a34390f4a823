"""The client: what leaves, what it costs, and whom it believes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import sfumato as sf
from pretend_server import (
    CAMERA,
    KEY,
    MAP_ID,
    PHOTO,
    POSE,
    URL,
    WORDS,
    Pretend,
    answer,
    make_client,
    map_info,
    sift_words,
    unread,
)
from sfumato.client import AsyncClient, Client
from sfumato.client.errors import Refused, Unreachable
from sfumato.core.errors import BudgetSpent, InvalidInput, Mismatch, NotPrivate
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import Release, WordRelease
from sfumato.device.mechanisms import Plain
from support import one_of_each_release


def fresh(epsilon: float = 8.0, **settings: Any) -> WordRelease:
    pipeline = sf.Pipeline(
        sf.SubsetMechanism(epsilon, 2, settings.pop("dictionary", WORDS)), max_keypoints=50
    )
    release = sf.protect(PHOTO, pipeline, camera=CAMERA, **settings)
    assert isinstance(release, WordRelease)
    return release


def test_a_picture_is_localized_and_only_words_of_it_leave(tmp_path: Path) -> None:
    server, ledger = Pretend(), sf.Ledger(tmp_path / "ledger")
    with make_client(server, ledger=ledger) as client:
        found = client.localize(PHOTO, CAMERA)
    assert found.pose == POSE
    assert found.num_inliers == 30
    assert [path for _, path, _ in server.requests] == ["/v1/maps", f"/v1/maps/{MAP_ID}/localize"]
    sent = Release.from_bytes(server.asked[0])
    assert isinstance(sent, WordRelease)
    assert (sent.epsilon, sent.subset_size, len(sent)) == (8.0, 1, 50)
    assert sent.dictionary == WORDS.fingerprint
    assert not sent.reproducible
    assert ledger.spent().epsilon == 400
    assert server.headers[-1]["accept-encoding"] == "identity"


def test_the_async_client_asks_the_same(tmp_path: Path) -> None:
    server, ledger = Pretend(), sf.Ledger(tmp_path / "ledger")

    async def ask() -> sf.Localization:
        transport = httpx.MockTransport(server.later)
        async with AsyncClient(
            URL, KEY, epsilon=8, dictionary=WORDS, max_keypoints=50, transport=transport,
            ledger=ledger, outbox=tmp_path / "outbox",
        ) as client:  # fmt: skip
            assert [one.name for one in await client.maps()] == ["gallery"]
            await client.prepare(PHOTO, CAMERA)
            assert [one.error for one in await client.flush(map="gallery")] == [None]
            return await client.localize(PHOTO, CAMERA, map=MAP_ID)

    assert asyncio.run(ask()).pose == POSE
    assert ledger.spent().epsilon == 800
    assert not list((tmp_path / "outbox").iterdir())


def test_the_ledger_refuses_before_anything_leaves(tmp_path: Path) -> None:
    server = Pretend()
    ledger = sf.Ledger(tmp_path / "ledger", caps=sf.Caps(session=100))
    with make_client(server, ledger=ledger) as client, pytest.raises(BudgetSpent):
        client.localize(PHOTO, CAMERA)
    assert not server.asked


@pytest.mark.parametrize(
    ("info", "sentence"),
    [
        ({"extractor": "akaze"}, "extracts 'sift'"),
        ({"dictionary": sift_words(2048, seed=9)}, "the map can be asked with"),
        ({"dictionaries": []}, "with none"),
        ({"accepts": ["plain"]}, "this client makes words"),
    ],
)
def test_a_map_of_other_words_costs_nothing(
    tmp_path: Path, info: dict[str, Any], sentence: str
) -> None:
    server, ledger = Pretend(**info), sf.Ledger(tmp_path / "ledger")
    with make_client(server, ledger=ledger) as client, pytest.raises(Mismatch, match=sentence):
        client.localize(PHOTO, CAMERA)
    assert ledger.spent().pictures == 0
    assert not server.asked


def test_what_would_be_refused_is_refused_before_it_is_charged(tmp_path: Path) -> None:
    server, ledger = Pretend(), sf.Ledger(tmp_path / "ledger")
    other = sf.Camera("SIMPLE_PINHOLE", 640, 480, (500.0, 320.0, 240.0))
    with make_client(server, ledger=ledger) as client:
        with pytest.raises(InvalidInput, match="scale the intrinsics"):
            client.localize(PHOTO, other)
        blank = client.localize(np.zeros((512, 512, 3), dtype=np.uint8), CAMERA)
    assert blank.pose is None
    assert "no keypoints" in str(blank.reason)
    assert ledger.spent().pictures == 0
    assert not server.asked


def test_a_seeded_release_does_not_leave() -> None:
    server = Pretend()
    with make_client(server) as client, pytest.raises(NotPrivate, match="known seed"):
        client.send(fresh(rng=SeededRandom(1)))
    assert not server.requests


def test_limits_hold_for_every_release() -> None:
    server = Pretend()
    with make_client(server, min_words=2048) as client:
        with pytest.raises(NotPrivate, match="at most ε = 8 per descriptor"):
            client.send(fresh(9.0))
        with pytest.raises(Mismatch, match="pinned"):
            client.send(fresh(dictionary=sift_words(2048, seed=3)))
        with pytest.raises(NotPrivate, match=r"at least 2,048 words, this one has 1,000"):
            client.send(fresh(dictionary=sift_words(1000)))
        for kind in ("plain", "subspaces"):
            with pytest.raises(NotPrivate, match="no guarantee"):
                client.send(one_of_each_release()[kind])
        with pytest.raises(InvalidInput, match="codes cannot be localized"):
            client.send(one_of_each_release()["codes"])
        with pytest.raises(InvalidInput, match="intrinsics"):
            client.send(sf.protect(PHOTO, sf.Pipeline(sf.SubsetMechanism(8, 2, WORDS))))
    assert not server.requests
    with pytest.raises(NotPrivate):
        make_client(server, max_epsilon=5.0)
    with pytest.raises(NotPrivate, match="at least 4,096"):
        make_client(server, min_words=4096)


def test_a_client_without_limits_sends_what_its_owner_made() -> None:
    server = Pretend(accepts=["words", "plain"])
    pipeline = sf.Pipeline(Plain(), max_keypoints=40)
    with Client(URL, KEY, pipeline=pipeline, ledger=None, transport=server.transport) as client:
        assert client.localize(PHOTO, CAMERA, map="gallery").localized
    with Client(URL, KEY, transport=server.transport) as client:
        assert client.send(fresh(), map="gallery").localized
        with pytest.raises(InvalidInput, match="draws none"):
            client.localize(PHOTO, CAMERA, map="gallery")
        with pytest.raises(InvalidInput, match="which map"):
            client.send(fresh())


def test_words_must_be_known() -> None:
    with pytest.raises(InvalidInput, match="not taken unseen"):
        Client(URL, KEY, epsilon=8)
    with pytest.raises(InvalidInput, match="cache="):
        Client(URL, KEY, epsilon=8, dictionary="ab" * 32)
    with pytest.raises(InvalidInput, match="not both"):
        Client(URL, KEY, epsilon=8, pipeline=sf.Pipeline(Plain()))
    with pytest.raises(InvalidInput, match="belong to epsilon"):
        Client(URL, KEY, subset_size=2)
    with pytest.raises(InvalidInput, match="subset_size"):
        Client(URL, KEY, epsilon=8, subset_size=2048, dictionary=WORDS)


@pytest.mark.parametrize(
    "url",
    [
        "http://maps.example",
        "http://10.0.0.7:8000",
        "http://127.0.0.1.example.org",
        "ftp://maps.example",
        "maps.example",
        "https://",
        "https://user:secret@maps.example",
        "https://maps.example/?key=1",
        "https://maps.example:port",
    ],
)
def test_addresses_that_are_not_safe_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as told:
        Client(url, KEY)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["http://localhost:1", "http://127.0.0.1", "http://[::1]:80"])
def test_this_machine_may_be_asked_without_tls(url: str) -> None:
    Client(url, KEY).close()
    Client("http://maps.example", KEY, allow_http=True).close()


def test_a_base_path_is_kept_and_a_key_is_never_shown() -> None:
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return unread(httpx.Response(200, json={"maps": []}))

    with Client(f"{URL}/sfumato", KEY, transport=httpx.MockTransport(handler)) as client:
        assert client.maps() == ()
        assert KEY not in repr(client) + repr(vars(client)) + repr(client._questions)
    assert seen == [f"{URL}/sfumato/v1/maps"]
    for key in ("", "a b", "sfk_abcdefgh\n", "short", "schlüssel1234"):
        with pytest.raises(InvalidInput, match="API key") as told:
            Client(URL, key)
        assert not key.strip() or key.strip() not in str(told.value)


def test_map_names_are_looked_up_once_and_again_when_the_map_is_gone() -> None:
    gone = httpx.Response(404, json={"error": "no-such-map", "detail": "there is no map."})
    server = Pretend(lambda request: httpx.Response(200, json=answer()), gone)
    with make_client(server) as client:
        client.localize(PHOTO, CAMERA)
        with pytest.raises(Refused, match="there is no map"):
            client.localize(PHOTO, CAMERA)
        client.localize(PHOTO, CAMERA)
    assert [path for _, path, _ in server.requests].count("/v1/maps") == 2
    assert map_info()["name"] == "gallery"


def test_an_unreachable_server_leaves_the_release_in_the_error(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger")
    server = Pretend(httpx.ConnectError("refused"))
    with make_client(server, tries=1, ledger=ledger) as client:
        with pytest.raises(Unreachable) as told:
            client.localize(PHOTO, CAMERA)
        prepared = told.value.prepared
        assert prepared is not None
        assert client.send(prepared).localized
    assert server.asked == [prepared.data, prepared.data]
    assert ledger.spent().pictures == 1


def test_a_client_that_draws_must_be_told_where_that_is_counted(tmp_path: Path) -> None:
    for drawing in ({"epsilon": 8, "dictionary": WORDS}, {"pipeline": sf.Pipeline(Plain())}):
        settings: dict[str, Any] = drawing
        with pytest.raises(InvalidInput, match=r"ledger=sf.Ledger.default\(\).*ledger=None"):
            Client(URL, KEY, **settings)
        Client(URL, KEY, ledger=None, **settings).close()
    Client(URL, KEY).close()  # draws nothing, has nothing to count
    server = Pretend()
    with make_client(server, ledger=sf.Ledger.default()) as client:
        client.localize(PHOTO, CAMERA)
    assert sf.Ledger.default().spent().epsilon == 400


def test_gravity_leaves_only_where_it_is_given_and_can_be_used(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "ledger")
    tilted = sf.Gravity((0, 9.7, 1.4), error_deg=2)
    server = Pretend(up=[0, 0, 1])
    with make_client(server, ledger=ledger) as client:
        client.localize(PHOTO, CAMERA)
        assert "sfumato-gravity" not in server.headers[-1]
        client.localize(PHOTO, CAMERA, gravity=tilted)
    assert server.headers[-1]["sfumato-gravity"] == "0,0.99,0.143,2"
    spent = ledger.spent().epsilon
    older = Pretend()  # it would not even say that it ignores what it does not know
    with make_client(older, ledger=ledger) as client:
        with pytest.raises(Mismatch, match="ask without gravity"):
            client.localize(PHOTO, CAMERA, gravity=tilted)
        with pytest.raises(Mismatch, match="ask without gravity"):
            client.send(fresh(), gravity=tilted)
    assert older.asked == []
    assert ledger.spent().epsilon == spent
