"""Offline first: charged once, drawn once, kept until it is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

import sfumato as sf
from pretend_server import CAMERA, KEY, PHOTO, URL, WORDS, Pretend, make_client
from sfumato.client import Client
from sfumato.client.errors import Refused, Unreachable
from sfumato.core.errors import BudgetSpent, InvalidInput, MalformedRelease


@pytest.fixture
def naps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits are noted, not made."""
    noted: list[float] = []
    monkeypatch.setattr("sfumato.client.steps.time.sleep", noted.append)
    return noted


def test_an_outbox_keeps_a_release_from_its_charge_to_its_answer(
    tmp_path: Path, naps: list[float]
) -> None:
    ledger = sf.Ledger(tmp_path / "ledger")
    server = Pretend(*(httpx.ConnectError("down") for _ in range(4)))
    with make_client(server, ledger=ledger, outbox=tmp_path / "outbox") as client:
        with pytest.raises(Unreachable, match="is kept in") as told:
            client.localize(PHOTO, CAMERA)
        (waiting,) = (tmp_path / "outbox").iterdir()
        assert told.value.prepared is not None
        assert waiting.read_bytes() == told.value.prepared.data == server.asked[0]
        (outcome,) = client.flush()
        assert outcome.localization is not None
        assert outcome.localization.localized
        assert client.flush() == []
    assert len(set(server.asked)) == 1
    assert not list((tmp_path / "outbox").iterdir())
    assert ledger.spent().pictures == 1


def test_without_any_network_a_release_is_still_made(tmp_path: Path, naps: list[float]) -> None:
    def down(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no network")

    ledger = sf.Ledger(tmp_path / "ledger")
    settings: dict[str, Any] = {"epsilon": 8, "dictionary": WORDS, "max_keypoints": 50}
    settings |= {"ledger": ledger, "outbox": tmp_path / "outbox", "map": "gallery"}
    with Client(URL, KEY, transport=httpx.MockTransport(down), **settings) as offline:
        prepared = offline.prepare(PHOTO, CAMERA)
        assert prepared is not None
        with pytest.raises(Unreachable, match="is kept in"):
            offline.localize(PHOTO, CAMERA)
        (only, *rest) = offline.flush()
        assert isinstance(only.error, Unreachable)
        assert not rest
    server = Pretend()
    with Client(URL, KEY, transport=server.transport, **settings) as online:
        assert [one.error for one in online.flush()] == [None, None]
    assert server.asked[0] == prepared.data
    assert ledger.spent().pictures == 2


def test_one_refused_release_does_not_hold_up_the_others(tmp_path: Path) -> None:
    refusal = httpx.Response(409, json={"error": "mismatch", "detail": "other words."})
    server = Pretend(refusal)
    with make_client(server, outbox=tmp_path / "outbox") as client:
        for _ in range(2):
            client.prepare(PHOTO, CAMERA)
        (tmp_path / "outbox" / "0-damaged.sfr").write_bytes(b"SFUM")
        (tmp_path / "outbox" / ".tmp-left.sfr").write_bytes(b"half")
        damaged, refused, answered = client.flush()
    assert isinstance(damaged.error, MalformedRelease)
    assert isinstance(refused.error, Refused)
    assert answered.error is None
    assert damaged.path.exists()
    assert refused.path.exists()
    assert not answered.path.exists()
    wrong_key = httpx.Response(401, json={"error": "unauthorized", "detail": "no key."})
    with make_client(Pretend(wrong_key), outbox=tmp_path / "outbox") as client:
        client.prepare(PHOTO, CAMERA)
        assert len(client.flush()) == 2  # the damaged one, and the first that was refused


def test_an_outbox_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be made"):
        make_client(Pretend(), outbox=tmp_path / "file")
    with make_client(Pretend()) as client, pytest.raises(InvalidInput, match="no outbox"):
        client.flush()
    ledger = sf.Ledger(tmp_path / "ledger")
    (tmp_path / "out.sfr").write_bytes(b"")
    with make_client(Pretend(), ledger=ledger) as client:
        with pytest.raises(InvalidInput, match="exists already"):
            client.localize(PHOTO, CAMERA, save=tmp_path / "out.sfr")
        with pytest.raises(InvalidInput, match="does not exist"):
            client.prepare(PHOTO, CAMERA, save=tmp_path / "none" / "out.sfr")
        assert ledger.spent().pictures == 0
        client.localize(PHOTO, CAMERA, save=tmp_path / "new.sfr")
        assert client.send(tmp_path / "new.sfr").localized
    assert ledger.spent().pictures == 1


class Killed(BaseException):
    """What SIGKILL leaves behind: no handler runs."""


def test_a_crash_may_count_too_much_and_never_too_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*anything: object, **named: object) -> Any:
        raise Killed

    ledger = sf.Ledger(tmp_path / "ledger")
    server = Pretend(die)
    with make_client(server, ledger=ledger, outbox=tmp_path / "outbox") as client:
        with pytest.raises(Killed):  # while it is sent: it may have arrived
            client.localize(PHOTO, CAMERA)
        assert ledger.spent().pictures == 1
        assert [one.error for one in client.flush()] == [None]
        assert len(server.asked) == 2
        assert len(set(server.asked)) == 1
        with monkeypatch.context() as patch:
            patch.setattr("sfumato.client.outbox.Outbox.remove", die)
            with pytest.raises(Killed):  # after the answer came
                client.localize(PHOTO, CAMERA)
        assert [one.error for one in client.flush()] == [None]
        assert server.asked[2] == server.asked[3]
        with monkeypatch.context() as patch:
            patch.setattr("sfumato.core.storage.NewFile.finish", die)
            with pytest.raises(Killed):  # between charge and file
                client.localize(PHOTO, CAMERA)
        assert client.flush() == []
    assert len(server.asked) == 4
    assert ledger.spent().pictures == 3


def test_a_place_that_cannot_keep_a_release_costs_nothing(tmp_path: Path) -> None:
    ledger, server = sf.Ledger(tmp_path / "ledger"), Pretend()
    (tmp_path / "file").write_text("")
    (tmp_path / "outbox").mkdir()
    with make_client(server, ledger=ledger, outbox=tmp_path / "outbox") as client:
        for save in (tmp_path / "file" / "x", Path("/sys/x"), tmp_path / ("x" * 300)):
            with pytest.raises((InvalidInput, OSError)):
                client.localize(PHOTO, CAMERA, save=save)
        (tmp_path / "outbox").rmdir()
        (tmp_path / "outbox").symlink_to("/sys")
        with pytest.raises(InvalidInput, match=r"outbox .* cannot be used"):
            client.localize(PHOTO, CAMERA)
    assert ledger.spent().pictures == 0
    assert not server.asked


def test_nothing_half_written_stays_in_the_outbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = sf.Ledger(tmp_path / "ledger", caps=sf.Caps(session=1))
    with make_client(Pretend(), ledger=ledger, outbox=tmp_path / "outbox") as client:
        with pytest.raises(BudgetSpent):
            client.localize(PHOTO, CAMERA)
        assert not list((tmp_path / "outbox").iterdir())
