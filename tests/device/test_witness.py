"""A ledger that was deleted or restored from an older copy is noticed where it can be."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path

import pytest

from sfumato.core.errors import LedgerError
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Caps, Ledger
from sfumato.device.witness import watched

EVENT = PrivacyEvent("subset", 1.0, 10, "one descriptor", ())


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "sfumato" / "ledgers"


@pytest.fixture
def path(tmp_path: Path, state: Path) -> Path:
    path = tmp_path / "ledger"
    Ledger(path).charge(EVENT)
    return path


def way_on(message: str) -> Path:
    """The file that the sentence says to remove."""
    found = re.search(r"remove (\S+?)\. ", message)
    assert found is not None, message
    return Path(found.group(1))


def test_an_older_copy_is_refused_until_someone_takes_it_as_it_is(
    tmp_path: Path, path: Path
) -> None:
    shutil.copy(path, tmp_path / "copy")
    ledger = Ledger(path)
    ledger.charge(EVENT)
    shutil.copy(tmp_path / "copy", path)
    for use in (lambda: Ledger(path), ledger.spent, lambda: ledger.charge(EVENT)):
        with pytest.raises(LedgerError, match="restored from an older copy") as told:
            use()
    way_on(str(told.value)).unlink()
    Ledger(path).charge(EVENT)
    assert ledger.spent().pictures == 2


def test_an_older_copy_at_another_place_is_refused_too(tmp_path: Path, path: Path) -> None:
    shutil.copy(path, tmp_path / "copy")
    Ledger(path).charge(EVENT)
    with pytest.raises(LedgerError, match="restored from an older copy"):
        Ledger(tmp_path / "copy")
    assert Ledger(path).spent().pictures == 2


def test_a_lowered_cap_is_not_undone_by_an_older_copy(tmp_path: Path, path: Path) -> None:
    Ledger(path, caps=Caps(session=100))
    shutil.copy(path, tmp_path / "copy")
    Ledger(path, caps=Caps(session=10))
    shutil.copy(tmp_path / "copy", path)
    with pytest.raises(LedgerError, match="restored from an older copy"):
        Ledger(path)


def test_a_deleted_ledger_is_not_begun_again_at_zero_unseen(path: Path) -> None:
    path.unlink()
    with pytest.raises(LedgerError, match=r"is gone; it had counted 2 changes") as told:
        Ledger(path)
    assert not path.exists()
    way_on(str(told.value)).unlink()
    assert Ledger(path).spent().pictures == 0


def test_another_ledger_in_its_place_is_refused(tmp_path: Path, path: Path) -> None:
    Ledger(tmp_path / "other").charge(EVENT)
    (tmp_path / "other").replace(path)
    with pytest.raises(LedgerError, match="not the ledger that was there"):
        Ledger(path)


def test_a_ledger_may_be_moved_and_used_on(tmp_path: Path, path: Path) -> None:
    path.rename(tmp_path / "moved")
    Ledger(tmp_path / "moved").charge(EVENT)
    Ledger(path).charge(EVENT)  # a new one; nobody waits for a ledger here any more
    assert Ledger(tmp_path / "moved").spent().pictures == 2


def test_a_witness_that_knows_less_is_no_reason_to_refuse(path: Path, state: Path) -> None:
    (file,) = state.iterdir()
    early = file.read_bytes()
    Ledger(path).charge(EVENT)
    file.write_bytes(early)  # as after a kill between the ledger's commit and the witness
    Ledger(path).charge(EVENT)
    assert int(file.read_bytes()[:20]) == 4


def test_a_witness_that_was_removed_is_made_again(tmp_path: Path, path: Path, state: Path) -> None:
    shutil.rmtree(state)
    shutil.copy(path, tmp_path / "copy")
    Ledger(path).charge(EVENT)
    shutil.copy(tmp_path / "copy", path)
    with pytest.raises(LedgerError, match="restored"):
        Ledger(path)


@pytest.mark.parametrize("content", [b"", b"12", b"x" * 40, b"\xff" * 20])
def test_a_damaged_witness_is_told(path: Path, state: Path, content: bytes) -> None:
    (file,) = state.iterdir()
    file.write_bytes(content)
    with pytest.raises(LedgerError, match=r"is damaged.*Nothing was released"):
        Ledger(path)


def test_a_state_folder_that_cannot_be_used_is_told_before_a_charge(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    for ledger in (path, tmp_path / "new"):
        with pytest.raises(LedgerError, match=r"set XDG_STATE_HOME.*Nothing was released"):
            Ledger(ledger)
    assert not (tmp_path / "new").exists()
    monkeypatch.undo()


def test_a_witness_that_cannot_be_written_is_told_before_a_charge(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    ledger = Ledger(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        with pytest.raises(LedgerError, match=r"Read-only file system.*Nothing was released"):
            ledger.charge(EVENT)
    assert ledger.spent().pictures == 1


def test_what_is_remembered_is_for_the_person_alone(path: Path, state: Path) -> None:
    assert state.stat().st_mode & 0o077 == 0  # it says where ledgers are
    (file,) = state.iterdir()
    number, name = file.read_bytes().split(b"\n", 1)
    assert (number, name) == (b"%020d" % 2, b"%s\n" % str(path.resolve()).encode())


def test_a_witness_never_forgets_what_another_program_wrote(path: Path, state: Path) -> None:
    (file,) = state.iterdir()
    with watched(path, file.name, 2) as watch:
        further = b"%020d" % 9 + file.read_bytes()[20:]
        file.write_bytes(further)
        watch.remember(3)
        assert file.read_bytes() == further
        watch.remember(10)
    assert int(file.read_bytes()[:20]) == 10


def test_both_files_restored_together_are_not_noticed(
    tmp_path: Path, path: Path, state: Path
) -> None:
    """What docs/client.md says cannot be noticed."""
    shutil.copy(path, tmp_path / "copy")
    shutil.copytree(state, tmp_path / "copies")
    Ledger(path).charge(EVENT)
    shutil.copy(tmp_path / "copy", path)
    shutil.copytree(tmp_path / "copies", state, dirs_exist_ok=True)
    assert Ledger(path).spent().pictures == 1
