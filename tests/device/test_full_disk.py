"""A disk that is really full: nothing is lost, nothing is charged in vain, and it is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sfumato.device.ledger import Ledger
from sfumato.dictionary import Dictionary
from small_disk import on_small_disk
from support import photograph

CHARGE = """
from sfumato.core.errors import LedgerError
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Ledger

event = PrivacyEvent("subset" * 500, 1.0, 1, "one descriptor", ())
"""


def test_a_ledger_on_a_full_disk_refuses_and_forgets_no_charge(tmp_path: Path) -> None:
    script = """
ledger = Ledger(disk / "ledger")
ledger.charge(event)
fill(leave=64 * 1024)
counted, refused = 1, ""
while not refused:
    try:
        ledger.charge(event)
        counted += 1
    except LedgerError as error:
        refused = str(error)
assert counted > 1
assert "full" in refused or "I/O" in refused, refused
assert "nothing was released" in refused
(disk / "ballast").unlink()
assert Ledger(disk / "ledger").spent().pictures == counted
ledger.charge(event)
assert Ledger(disk / "ledger").spent().epsilon == counted + 1
print("done")
"""
    assert on_small_disk(tmp_path / "disk", CHARGE + script) == "done\n"


def test_many_pictures_are_charged_together_or_not_at_all(tmp_path: Path) -> None:
    script = """
ledger = Ledger(disk / "ledger")
ledger.charge(event)
fill(leave=128 * 1024)
try:
    ledger.charge(event, pictures=1000)
except LedgerError as error:
    assert "nothing was released" in str(error)
    (disk / "ballast").unlink()
    assert Ledger(disk / "ledger").spent().pictures == 1
    print("done")
"""
    assert on_small_disk(tmp_path / "disk", CHARGE + script) == "done\n"


def test_a_ledger_that_finds_no_room_is_not_left_half_made(tmp_path: Path) -> None:
    script = """
fill()
try:
    Ledger(disk / "ledger")
except LedgerError as error:
    assert "cannot be made" in str(error), error
    assert "has room" in str(error)
assert [file.name for file in disk.iterdir()] == ["ballast"]
(disk / "ballast").unlink()
Ledger(disk / "ledger").charge(event)
print("done")
"""
    assert on_small_disk(tmp_path / "disk", CHARGE + script) == "done\n"


def test_a_witness_on_a_full_disk_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "disk"))
    script = """
folder = Path(sys.argv[2])
Ledger(folder / "known").charge(event)
fill()
Ledger(folder / "known").charge(event)  # its count is written over the old one
try:
    Ledger(folder / "new")
except LedgerError as error:
    assert "XDG_STATE_HOME" in str(error)
    assert "Nothing was released" in str(error)
    print("done")
"""
    assert on_small_disk(tmp_path / "disk", CHARGE + script, tmp_path) == "done\n"


@pytest.fixture
def things(tmp_path: Path) -> Path:
    Image.fromarray(photograph()).save(tmp_path / "photo.png")
    values = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(values, extractor="sift").save(tmp_path / "words")
    np.save(tmp_path / "codes.npy", np.zeros((2000, 50), dtype=np.uint8))
    return tmp_path


PHOTO = "('protect', things / 'photo.png', '--epsilon', 10, '--dictionary', things / 'words')"
CODES = "('classify', 'protect', things / 'codes.npy', '--values', 2, '--epsilon', 1)"


@pytest.mark.parametrize("options", [PHOTO, CODES], ids=["photo", "codes"])
@pytest.mark.parametrize("leave", [0, 4096])
def test_a_release_that_finds_no_room_is_not_charged(
    things: Path, options: str, leave: int
) -> None:
    script = f"""
things = Path(sys.argv[2])
fill(leave={leave})
assert command(*{options}, "--ledger", things / "ledger", "-o", disk / "out.sfr") == 2
assert [file.name for file in disk.iterdir()] == ["ballast"]
"""
    on_small_disk(things / "disk", script, things)
    assert not (things / "ledger").exists() or Ledger(things / "ledger").spent().pictures == 0


def test_a_read_only_disk_is_told_before_anything_is_charged(things: Path) -> None:
    script = f"""
import subprocess
things = Path(sys.argv[2])
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
assert command(*{PHOTO}, "--ledger", things / "ledger", "-o", disk / "out.sfr") == 2
assert command(*{PHOTO}, "--ledger", disk / "ledger", "-o", things / "out.sfr") == 2
"""
    on_small_disk(things / "disk", script, things)
    assert not (things / "ledger").exists()
    assert not (things / "out.sfr").exists()
