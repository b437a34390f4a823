"""A map on its way to a server and back: whole, checked, and nothing else of this machine."""

from __future__ import annotations

import base64
import errno
import hashlib
import io
import shutil
import tarfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from pretend_server import KEY, MAP_ID, URL, Pretend, map_info, unread
from sfumato.client import AsyncClient, Client
from sfumato.client.archives import TarStream
from sfumato.client.errors import BadAnswer, Refused, Unreachable
from sfumato.core.errors import CannotWrite, InvalidInput
from sfumato.server.mapping import Map
from synthetic import MAPPING_POSES, make_map, make_room


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("push") / "map"
    make_map(make_room(300), MAPPING_POSES[:3]).save(path)
    (path / "words-index").mkdir()
    (path / "words-index" / "x.npy").write_bytes(b"made by the server")
    (path / "notes.txt").write_text("not of the map")
    return path


class Uploads:
    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.got: list[tuple[httpx.Request, bytes]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.got.append((request, request.read()))
        what = self.answers.pop(0) if self.answers else httpx.Response(201, json=map_info())
        if isinstance(what, Exception):
            raise what
        return unread(what)

    async def later(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self(request)

    def client(self, **settings: Any) -> Client:
        return Client(URL, KEY, transport=httpx.MockTransport(self), **settings)


def test_a_map_arrives_whole_and_says_nothing_else(folder: Path, tmp_path: Path) -> None:
    server = Uploads()
    with server.client() as client:
        made = client.push_map(folder, name="town", accept=("words", "plain"))
    assert made.name == "gallery"
    ((request, body),) = server.got
    assert dict(request.url.params) == {"name": "town", "accept": "words,plain"}
    assert int(request.headers["content-length"]) == len(body)
    assert "transfer-encoding" not in request.headers
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    assert request.headers["content-digest"] == f"sha-256=:{digest}:"
    with tarfile.open(fileobj=io.BytesIO(body), mode="r:") as tar:
        for member in tar:
            assert (member.uid, member.gid, member.uname, member.mtime) == (0, 0, "", 0)
        names = set(tar.getnames())
        tar.extractall(tmp_path / "back", filter="data")
    assert "notes.txt" not in names
    assert not any("index" in name for name in names)
    assert repr(Map.load(tmp_path / "back")) == repr(Map.load(folder))


def test_the_async_client_sends_the_same(folder: Path) -> None:
    import asyncio

    server = Uploads()

    async def push() -> None:
        transport = httpx.MockTransport(server.later)
        async with AsyncClient(URL, KEY, transport=transport) as client:
            await client.push_map(folder, name="town")

    asyncio.run(push())
    assert server.got[0][1] == b"".join(TarStream.of_map(folder))


def test_an_upload_is_sent_again_only_where_it_was_surely_not_taken(folder: Path) -> None:
    busy = httpx.Response(503, headers={"retry-after": "0"}, content=b"")
    server = Uploads(httpx.ConnectError("down"), busy)
    with server.client() as client:
        client.push_map(folder, name="town")
    assert len({body for _, body in server.got}) == 1
    assert len(server.got) == 3
    lost = Uploads(httpx.ReadError("cut"))
    with lost.client() as client, pytest.raises(Unreachable, match="look before asking again"):
        client.push_map(folder, name="town")
    assert len(lost.got) == 1
    taken = Uploads(httpx.Response(409, json={"error": "taken", "detail": "name taken."}))
    with taken.client() as client, pytest.raises(Refused, match="name taken"):
        client.push_map(folder, name="town")


def test_a_map_that_changes_while_it_is_sent_is_not_sent(folder: Path, tmp_path: Path) -> None:
    stream = TarStream(tmp_path, (("points.npy", 100),))
    (tmp_path / "points.npy").write_bytes(bytes(99))
    with pytest.raises(InvalidInput, match="became shorter"):
        list(stream)
    with pytest.raises(InvalidInput, match="not a stored map"), Uploads().client() as client:
        client.push_map(tmp_path, name="town")


def offering(content: bytes, status: int = 200) -> Client:
    """A client of a server that answers with these bytes for a map."""
    server = Pretend()
    server.extra[f"/v1/maps/{MAP_ID}/archive"] = lambda request: httpx.Response(
        status, content=content
    )
    return Client(URL, KEY, transport=server.transport, tries=1)


def test_a_map_of_ones_own_comes_back(folder: Path, tmp_path: Path) -> None:
    with offering(b"".join(TarStream.of_map(folder))) as client:
        told = client.fetch_map(tmp_path / "back", map="gallery")
        assert told.id == MAP_ID
        with pytest.raises(InvalidInput, match="exists already"):
            client.fetch_map(tmp_path / "back", map="gallery")
        with pytest.raises(BadAnswer, match="longer than 100 bytes"):
            client.fetch_map(tmp_path / "more", map="gallery", max_bytes=100)
    assert repr(Map.load(tmp_path / "back")) == repr(Map.load(folder))
    assert [path.name for path in tmp_path.iterdir()] == ["back"]


def _with(folder: Path, name: str, content: bytes) -> bytes:
    """The tar of the map with one file more, or another one of that name behind it."""
    whole = b"".join(TarStream.of_map(folder))[:-1024]
    info = tarfile.TarInfo(name)
    info.size = len(content)
    return whole + info.tobuf() + content + bytes(-len(content) % 512) + bytes(1024)


def test_what_the_manifest_does_not_name_is_not_kept(folder: Path, tmp_path: Path) -> None:
    for name in ("more.npy", "notes.txt", "../outside.npy", "/outside.npy"):
        with offering(_with(folder, name, b"x")) as client:
            client.fetch_map(tmp_path / "back", map="gallery")
        names = {path.name for path in (tmp_path / "back").iterdir()}
        assert names == {name for name, _ in TarStream.of_map(folder).files}
        assert [path.name for path in tmp_path.iterdir()] == ["back"]
        shutil.rmtree(tmp_path / "back")


def test_an_archive_that_is_no_whole_map_is_not_kept(folder: Path, tmp_path: Path) -> None:
    whole = b"".join(TarStream.of_map(folder))
    cases = [b"", b"no tar" * 200, whole[: len(whole) // 2], _with(folder, "points.npy", b"x")]
    for content in cases:
        with offering(content) as client, pytest.raises(BadAnswer, match=r"whole|no plain file"):
            client.fetch_map(tmp_path / "back", map="gallery")
    with offering(b"{}", 403) as client, pytest.raises(Refused):
        client.fetch_map(tmp_path / "back", map="gallery")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_here_is_not_blamed_on_the_server(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    content = b"".join(TarStream.of_map(folder))
    monkeypatch.setattr(shutil, "copyfileobj", full)
    with (
        offering(content) as client,
        pytest.raises(CannotWrite, match="no room for the server's map"),
    ):
        client.fetch_map(tmp_path / "back", map=MAP_ID)
    assert not list(tmp_path.iterdir())
