"""The guards of a ledger one by one: what is synced, and which way amounts are rounded."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BudgetSpent, InvalidInput, LedgerError
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Caps, Ledger


def event(epsilon: float = 1.0, units: int = 1) -> PrivacyEvent:
    return PrivacyEvent("subset", epsilon, units, "one descriptor", ())


def test_a_charge_is_on_the_disk_when_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[int] = []

    class Watched(sqlite3.Connection):
        def close(self) -> None:
            levels.append(super().execute("PRAGMA synchronous").fetchone()[0])
            super().close()

    honest = sqlite3.connect

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return honest(*args, factory=Watched, **options)

    monkeypatch.setattr(sqlite3, "connect", connect)
    ledger = Ledger(tmp_path / "l")
    levels.clear()
    ledger.charge(event())
    assert levels
    assert min(levels) >= 2  # FULL: every commit waits for the disk


def test_costs_round_up_and_caps_round_down(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(session=3.9e-9))  # 3 billionths
    ledger.charge(event(1.1e-9))  # 2 billionths
    with pytest.raises(BudgetSpent):
        ledger.charge(event(1.1e-9))
    assert ledger.spent().epsilon == 2e-9
    ledger.charge(event(1e-9))
    with pytest.raises(BudgetSpent):
        ledger.charge(event(1e-12))


@pytest.mark.parametrize("name", ["descriptor", "picture", "session"])
def test_every_cap_can_be_reached_and_not_passed(tmp_path: Path, name: str) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(**{name: 6.0}))
    epsilon, units = (6.0, 3) if name == "descriptor" else (2.0, 3)
    ledger.charge(event(epsilon, units))
    too_much = {"descriptor": (6.000000001, 1), "picture": (2.000000001, 3), "session": (1e-9, 1)}
    with pytest.raises(BudgetSpent, match=f"per {name}"):
        ledger.charge(event(*too_much[name]))
    assert ledger.spent().pictures == 1


@pytest.mark.parametrize("pictures", [0, -1, True, 1.0, (1 << 32) + 1])
def test_no_number_of_pictures_gives_budget_back(tmp_path: Path, pictures: Any) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(session=10))
    ledger.charge(event(4.0))
    with pytest.raises(InvalidInput, match="pictures must be"):
        ledger.charge(event(4.0), pictures=pictures)
    assert (ledger.spent().pictures, ledger.spent().epsilon) == (1, 4.0)


def test_a_ledger_that_can_count_no_further_refuses(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    largest = (1 << 63) - 1  # billionths
    ledger.charge(event(64.0, 144_115_188))  # 2^63 − 4,854,775,808 billionths or so
    left = largest - 64 * 144_115_188 * 10**9
    ledger.charge(event(1e-9, left))
    with pytest.raises(BudgetSpent, match="cannot count any further"):
        ledger.charge(event(1e-9))
    assert ledger.spent().pictures == 2


def test_a_session_that_is_gone_is_not_begun_again_by_a_charge(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", session="one", caps=Caps(session=10))
    with closing(sqlite3.connect(tmp_path / "l")) as database:
        database.execute("DELETE FROM sessions")
        database.commit()
    with pytest.raises(LedgerError, match="'one' is gone"):
        ledger.charge(event())
    with pytest.raises(LedgerError, match="no session 'one'"):
        ledger.spent()


def test_sessions_have_names_of_1_to_200_characters(tmp_path: Path) -> None:
    Ledger(tmp_path / "l", session="x" * 200)
    Ledger(tmp_path / "l", session="x")
    for name in ("", "x" * 201, None):
        with pytest.raises(InvalidInput, match="session"):
            Ledger(tmp_path / "l", session=name)  # type: ignore[arg-type]


def test_an_equal_cap_is_no_raise_and_each_cap_is_compared_with_its_own(tmp_path: Path) -> None:
    Ledger(tmp_path / "l", caps=Caps(descriptor=1, picture=20, session=300))
    again = Ledger(tmp_path / "l", caps=Caps(descriptor=1, picture=20, session=300))
    assert again.spent().caps == Caps(descriptor=1, picture=20, session=300)
    for raised in (Caps(descriptor=2), Caps(picture=21), Caps(session=301)):
        with pytest.raises(LedgerError, match="not raised"):
            Ledger(tmp_path / "l", caps=raised)


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE sessions SET spent = 0 WHERE name = 'default'",
        "UPDATE sessions SET cap_session = NULL WHERE name = 'default'",
        "DELETE FROM charges",
        "UPDATE charges SET epsilon = 1",
        "UPDATE ledger SET count = 1",
        "UPDATE ledger SET identity = 'another'",
        "INSERT INTO ledger SELECT * FROM ledger",
        "DELETE FROM ledger",
        "DELETE FROM sessions WHERE name = 'default'",
        "INSERT INTO charges SELECT 9, 'default', time, mechanism, 1, 1, 0, NULL, 1 FROM charges",
    ],
)
def test_a_total_that_was_edited_is_noticed(tmp_path: Path, edit: str) -> None:
    Ledger(tmp_path / "l", caps=Caps(session=10)).charge(event(4.0))
    for session in ("aaa", "zzz"):
        Ledger(tmp_path / "l", session=session)
    with closing(sqlite3.connect(tmp_path / "l")) as database:
        database.execute(edit)
        database.commit()
    for session in ("default", "aaa", "zzz"):  # whoever opens it, for whatever session
        with pytest.raises(LedgerError, match="damaged"):
            Ledger(tmp_path / "l", session=session)
