"""The endurance programs, a few rounds of each; by hand they run for minutes."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from pathlib import Path

import pytest

from endurance import drip, kills, mutations, overload, schema, tenants, terms
from endurance.lines import Reply
from endurance.rig import make_world
from sfumato.core.errors import MalformedRelease
from sfumato.core.wire import decode


def test_kills_lose_nothing_that_was_acknowledged(capsys: pytest.CaptureFixture[str]) -> None:
    assert kills.main(["--count", "4", "--seed", "1"]) == 0
    assert "4 kills" in capsys.readouterr().out


def test_losses_are_repaired_by_the_book(capsys: pytest.CaptureFixture[str]) -> None:
    assert kills.main(["--count", "4", "--span", "0.1", "--seed", "2", "--loss-every", "1"]) == 0
    shown = capsys.readouterr().out
    for loss in ("remove database", "truncate database", "lose log", "unmount maps"):
        assert f"1 × {loss}" in shown


def test_a_lost_map_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = Namespace(count=1, span=0.1, workers=1, seed=3, loss_every=5)
    trial = kills.Trial(tmp_path, options)
    trial._entries["phantom"] = kills.Entry("kept", "A" * 22)
    asyncio.run(trial.run())
    assert trial.findings.close() == 1
    assert "phantom was acknowledged and is lost" in capsys.readouterr().out


def test_sigterm_lets_every_answer_arrive(capsys: pytest.CaptureFixture[str]) -> None:
    assert terms.main(["--count", "1", "--clients", "16", "--grace", "120"]) == 0
    assert "answers logged" in capsys.readouterr().out


def test_a_lost_answer_is_noticed(tmp_path: Path) -> None:
    trial = terms.Trial(tmp_path, Namespace(seed=0))
    trial._compare({"logged"}, {"another"})
    assert trial.findings.close() == 1


def test_overload_is_answered_with_429_and_503() -> None:
    assert overload.main(["--seconds", "2", "--clients", "16"]) == 0


def test_slow_sockets_cause_no_error() -> None:
    assert drip.main(["--sockets", "20", "--requests", "5", "--settle", "1"]) == 0


def test_mutations_are_refused_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutations.main(["--count", "120", "--seed", "7"]) == 0
    assert "× 400" in capsys.readouterr().out


def test_mutations_get_past_the_checksum(tmp_path: Path) -> None:
    world = make_world(tmp_path, num_points=150)
    reasons = set()
    for number in range(300):
        try:
            decode(mutations.mutate(world, number)[1])
        except MalformedRelease as error:
            reasons.add(str(error).split(":")[0])
    assert "not a valid release" in reasons
    assert any("canonical" in reason for reason in reasons)


def test_foreign_maps_are_answered_like_missing_ones() -> None:
    assert tenants.main(["--count", "5"]) == 0


def test_a_difference_between_foreign_and_missing_is_noticed() -> None:
    one, other = (Reply(404, {"x-request-id": number}, b"{}") for number in "ab")
    assert tenants._told(one) == tenants._told(other)
    assert tenants._told(one) != tenants._told(Reply(404, {"retry-after": "1"}, b"{}"))


def test_the_served_document_is_true() -> None:
    assert schema.main(["--examples", "4"]) == 0
