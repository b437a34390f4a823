"""What a picture costs through a client: told with each release, counted, and limited in E."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from pretend_server import CAMERA, PHOTO, POSE, WORDS, Pretend, make_client
from sfumato.core.errors import BudgetSpent, InvalidInput, NotPrivate


def drawn(epsilon: float) -> sf.Release:
    pipeline = sf.Pipeline(sf.SubsetMechanism(epsilon, 1, WORDS), max_keypoints=50)
    return sf.protect(PHOTO, pipeline, camera=CAMERA)


def test_a_client_says_what_a_picture_cost_and_the_ledger_counts_the_same(tmp_path: Path) -> None:
    server, ledger, told = Pretend(), sf.Ledger(tmp_path / "ledger"), []
    with make_client(server, ledger=ledger, outbox=tmp_path / "outbox") as client:
        client.localize(PHOTO, CAMERA, tell=lambda prepared: told.append(prepared.cost))
        client.prepare(PHOTO, CAMERA)
        (waited,) = client.flush()
    picture = sf.Composition({sf.PrivateAnswer(8.0, WORDS.num_words): 50})
    thing = sf.Composition({sf.PrivateAnswer(8.0, WORDS.num_words): 10})
    assert waited.cost is not None
    for cost in (told[0], waited.cost):
        assert cost["epsilon_per_picture"] == picture.largest == 400
        assert cost["exact_epsilon_per_picture"] == picture.epsilon(cost["delta"])
        assert cost["advantage_per_object"] == thing.advantage
        assert cost["not_protected"]
    assert ledger.spent().composition == picture + picture


def test_a_limit_on_the_exact_cost_of_a_picture_is_kept(tmp_path: Path) -> None:
    cost = sf.Composition({sf.PrivateAnswer(8.0, WORDS.num_words): 50}).epsilon()
    server, ledger = Pretend(), sf.Ledger(tmp_path / "ledger")
    limit = f"at most E = {cost - 1:g} per picture"
    with make_client(server, ledger=ledger, max_exact=cost - 1) as client:
        with pytest.raises(NotPrivate, match=limit):
            client.localize(PHOTO, CAMERA)
        with pytest.raises(NotPrivate, match=limit):
            client.send(drawn(8.0))  # elsewhere
    assert ledger.spent().pictures == 0
    assert not server.asked
    with make_client(server, ledger=ledger, max_exact=cost + 1) as client:
        assert client.localize(PHOTO, CAMERA).pose == POSE
    with pytest.raises(InvalidInput, match="max_exact must be above 0"):
        make_client(server, ledger=ledger, max_exact=0)
    with (
        make_client(server, ledger=None, max_exact=500) as client,
        pytest.raises(NotPrivate, match="no guarantee"),
    ):
        client.send(drawn(float("inf")))


def test_a_session_is_capped_by_its_exact_total(tmp_path: Path) -> None:
    cost = sf.Composition({sf.PrivateAnswer(8.0, WORDS.num_words): 50}).epsilon()
    server = Pretend()
    ledger = sf.Ledger(tmp_path / "ledger", caps=sf.Caps(exact=1.5 * cost))
    with make_client(server, ledger=ledger) as client:
        assert client.localize(PHOTO, CAMERA).pose == POSE
        with pytest.raises(BudgetSpent):
            client.localize(PHOTO, CAMERA)
    assert len(server.asked) == 1
