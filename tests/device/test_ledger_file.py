"""The ledger's file: its formats, and what is on the disk when a charge returns."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BudgetSpent, LedgerError
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Caps, Ledger, default_ledger_path

FORMAT_1 = Path(__file__).parent / "data" / "ledger-1.db"  # made by the code of that format


def event(epsilon: float | None = 10.0, units: int = 100) -> PrivacyEvent:
    return PrivacyEvent("subset", epsilon, units, "one descriptor", ("positions",))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(FORMAT_1, tmp_path / "ledger.db"))


def version(path: Path) -> int:
    database = sqlite3.connect(path)
    try:
        return int(database.execute("PRAGMA user_version").fetchone()[0])
    finally:
        database.close()


def test_a_ledger_of_format_1_goes_on_with_all_it_counted(old: Path) -> None:
    assert version(old) == 1
    ledger = Ledger(old)
    state = ledger.spent()
    assert (state.pictures, state.units, state.epsilon) == (2, 140, 1100)
    assert state.caps == Caps(session=5000, descriptor=10)
    assert Ledger(old, session="holiday").spent().unprotected == 1
    assert version(old) == 3
    ledger.charge(event())
    assert Ledger(old).spent().epsilon == 2100
    with pytest.raises(BudgetSpent):
        ledger.charge(event(11.0, 1))


def test_a_refused_first_charge_after_the_change_of_format_harms_nothing(old: Path) -> None:
    with pytest.raises(LedgerError, match="not raised"):
        Ledger(old, caps=Caps(session=6000))
    assert Ledger(old).spent().epsilon == 1100


def test_a_newer_format_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path)
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 4")
    database.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"format 4, this version of sfumato knows .* up to 3"):
        Ledger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_another_program_s_database_is_refused_and_not_touched(tmp_path: Path, number: int) -> None:
    path = tmp_path / "other.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE books (title TEXT)")
    database.execute(f"PRAGMA user_version = {number}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="nothing was released"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_charge_is_synced_to_the_disk_before_it_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[tuple[int, str]] = []

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            if statement == "COMMIT":
                synchronous = super().execute("PRAGMA synchronous").fetchone()[0]
                commits.append((synchronous, super().execute("PRAGMA journal_mode").fetchone()[0]))
            return super().execute(statement, *values)

    ledger = Ledger(tmp_path / "l")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **b: connect(*a, factory=Watched, **b))
    ledger.charge(event())
    full = 2  # with WAL: the log is synced in every commit
    assert commits == [(full, "wal")]


def test_a_new_ledger_is_in_its_folder_after_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    make_link = os.link

    def link(*names: Any) -> None:
        done.append("link")
        make_link(*names)

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setattr(
        "sfumato.device.ledger_file.sync_directory", lambda path: done.append(str(path))
    )
    Ledger(tmp_path / "l")
    assert done == ["link", str(tmp_path)]


def test_making_a_ledger_leaves_nothing_else_behind(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    Ledger(folder / "l").charge(event())
    assert {path.name for path in folder.iterdir()} <= {"l", "l-wal", "l-shm"}
    with pytest.raises(LedgerError, match="cannot be made"):
        Ledger(tmp_path / "none" / "l")
    assert not (tmp_path / "none").exists()


def test_many_pictures_are_charged_as_each_alone_would_be(tmp_path: Path) -> None:
    together, alone = Ledger(tmp_path / "a"), Ledger(tmp_path / "b")
    together.charge(event(0.1, 3), pictures=5)
    for _ in range(5):
        alone.charge(event(0.1, 3))
    assert together.spent() == alone.spent()
    capped = Ledger(tmp_path / "c", caps=Caps(session=1.4))
    with pytest.raises(BudgetSpent, match=r"these releases would make it 1.5 .* 1.4 is left"):
        capped.charge(event(0.1, 3), pictures=5)
    assert capped.spent().pictures == 0


def test_the_default_ledger_is_in_the_persons_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    Ledger.default(session="one", caps=Caps(session=5)).charge(event(1.0, 1))
    path = tmp_path / "data" / "sfumato" / "ledger.db"
    assert path.parent.stat().st_mode & 0o077 == 0
    assert Ledger(path, session="one").spent().remaining == 4
    monkeypatch.setenv("SFUMATO_LEDGER", str(tmp_path / "mine.db"))
    assert default_ledger_path() == tmp_path / "mine.db"


def test_a_relative_or_missing_xdg_folder_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "here"):
        monkeypatch.setenv("XDG_DATA_HOME", value)
        assert default_ledger_path().is_relative_to(tmp_path)
        assert default_ledger_path().name == "ledger.db"


def test_a_default_ledger_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(LedgerError, match=r"SFUMATO_LEDGER.*Nothing was released"):
        Ledger.default()
