"""The ledger never shows less than was sent."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.errors import BudgetSpent, InvalidInput, LedgerError
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Caps, Ledger


def event(epsilon: float | None = 10.0, units: int = 100) -> PrivacyEvent:
    return PrivacyEvent("subset", epsilon, units, "one descriptor", ("positions",))


def test_charges_add_up_per_descriptor_picture_and_session(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(descriptor=10, picture=2000, session=2500))
    ledger.charge(event())
    ledger.charge(event(5.0, 200))
    state = ledger.spent()
    assert (state.pictures, state.units, state.epsilon) == (2, 300, 2000)
    assert state.remaining == 500
    assert Ledger(tmp_path / "l", session="other").spent().epsilon == 0


@pytest.mark.parametrize(
    ("cost", "cap"),
    [
        (event(10.1, 1), "per descriptor is ε = 10"),
        (event(10, 201), "per picture is ε = 2000, this release would make it 2010"),
        (event(10, 160), "per session is ε = 2500, this release would make it 2600 after 1000"),
    ],
)
def test_a_spent_budget_refuses_and_records_nothing(
    tmp_path: Path, cost: PrivacyEvent, cap: str
) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(descriptor=10, picture=2000, session=2500))
    ledger.charge(event())
    with pytest.raises(BudgetSpent, match=cap):
        ledger.charge(cost)
    assert ledger.spent().pictures == 1


def test_several_pictures_are_charged_all_or_none(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(session=2500))
    costs = [event(), event(5.0, 200), event()]
    with pytest.raises(BudgetSpent, match="after 2000 already spent"):
        ledger.charge_all(costs)
    assert ledger.spent().pictures == 0
    ledger.charge_all(costs[:2])
    state = ledger.spent()
    assert (state.pictures, state.units, state.epsilon) == (2, 300, 2000)
    with pytest.raises(BudgetSpent, match="no guarantee"):
        ledger.charge_all([event(1.0, 1), event(None)])
    assert ledger.spent().pictures == 2
    ledger.charge_all([])
    assert ledger.spent().pictures == 2


def test_the_cap_can_be_spent_to_the_last_bit_and_not_beyond(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", caps=Caps(session=0.3))
    for _ in range(3):
        ledger.charge(event(0.1, 1))
    with pytest.raises(BudgetSpent):
        ledger.charge(event(1e-9, 1))


def test_amounts_are_rounded_up(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    for _ in range(10):
        ledger.charge(event(0.1, 1))
    assert ledger.spent().epsilon == 1.0
    ledger.charge(event(1e-300, 1))
    assert ledger.spent().epsilon > 1.0


def test_releases_without_guarantee_are_counted_apart_and_refused_under_a_cap(
    tmp_path: Path,
) -> None:
    free = Ledger(tmp_path / "l")
    free.charge(event(math.inf))
    free.charge(event(None))
    state = free.spent()
    assert (state.unprotected, state.epsilon) == (2, 0)
    capped = Ledger(tmp_path / "l", session="capped", caps=Caps(picture=1e6))
    for cost in (event(math.inf), event(None)):
        with pytest.raises(BudgetSpent, match="no guarantee"):
            capped.charge(cost)
    capped.charge(event(10.0, 0))  # an empty picture costs nothing


def test_caps_can_be_lowered_but_not_raised(tmp_path: Path) -> None:
    Ledger(tmp_path / "l", caps=Caps(session=100))
    assert Ledger(tmp_path / "l").spent().caps == Caps(session=100)
    Ledger(tmp_path / "l", caps=Caps(session=50, picture=20))
    with pytest.raises(LedgerError, match="can be lowered but not raised"):
        Ledger(tmp_path / "l", caps=Caps(session=51))
    assert Ledger(tmp_path / "l").spent().caps == Caps(session=50, picture=20)


@pytest.mark.parametrize("cap", [0, -1, math.nan, math.inf, "1", True])
def test_caps_must_be_positive_numbers(cap: object) -> None:
    with pytest.raises(InvalidInput, match="cap must be"):
        Caps(session=cap)  # type: ignore[arg-type]


def test_threads_lose_no_charge(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")

    def charge() -> None:
        for _ in range(10):
            ledger.charge(event(1.0, 1))

    threads = [threading.Thread(target=charge) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent().epsilon == 80


def charge_ten(path: Path) -> None:
    ledger = Ledger(path)
    for _ in range(10):
        ledger.charge(event(1.0, 1))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_lose_no_charge_even_when_they_make_the_file_together(
    tmp_path: Path, method: str
) -> None:
    context: Any = multiprocessing.get_context(method)
    workers = [context.Process(target=charge_ten, args=(tmp_path / "l",)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert Ledger(tmp_path / "l").spent().epsilon == 40
    assert not list(tmp_path.glob(".tmp-*"))


SENDER = """
import os, sys
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Ledger
ledger = Ledger(sys.argv[1], timeout=600)
cost = PrivacyEvent("subset", 1.0, 1, "one descriptor", ())
sent = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(1, b"ready")
while True:
    ledger.charge(cost)
    os.write(sent, b"x")   # the release leaves the device
"""


def test_two_hundred_kills_between_charge_and_send_never_undercount(tmp_path: Path) -> None:
    ledger, sent = tmp_path / "ledger", tmp_path / "sent"
    dice = random.Random(0)
    kills = 0
    while kills < 200:
        # Several senders at once: a kill may also fall on one that waits for the lock.
        senders = [
            subprocess.Popen(
                [sys.executable, "-c", SENDER, ledger, sent],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(8)
        ]
        for sender in senders:
            assert sender.stdout is not None
            assert sender.stdout.read(5) == b"ready", sender.stderr and sender.stderr.read()
        for sender in senders:
            time.sleep(dice.random() * 0.03)
            os.kill(sender.pid, signal.SIGKILL)
            sender.wait()
            for stream in (sender.stdout, sender.stderr):
                assert stream is not None
                stream.close()
            kills += 1
            # Read what left first: other senders are still at work.
            left = sent.stat().st_size
            assert Ledger(ledger, timeout=600).spent().epsilon >= left
    assert Ledger(ledger).spent().epsilon <= sent.stat().st_size + kills
    assert sent.stat().st_size > 200


def test_a_locked_ledger_releases_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l", timeout=0.05)
    other = sqlite3.connect(tmp_path / "l", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match=r"locked.*nothing was released"):
        ledger.charge(event())
    other.execute("ROLLBACK")
    other.close()
    ledger.charge(event())


def charge_as_nobody(path: Path) -> None:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    try:
        Ledger(path).charge(event())
    except LedgerError as error:
        os._exit(7 if "nothing was released" in str(error) else 1)
    os._exit(0)


def test_a_read_only_ledger_releases_nothing(tmp_path: Path) -> None:
    path = tmp_path / "l"
    Ledger(path)
    path.chmod(0o444)
    if os.getuid() != 0:
        with pytest.raises(LedgerError, match="nothing was released"):
            Ledger(path)
        return
    for folder in [tmp_path, *tmp_path.parents]:  # root may write anything: become nobody
        if folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o005)
    worker = multiprocessing.get_context("fork").Process(target=charge_as_nobody, args=(path,))
    worker.start()
    worker.join()
    assert worker.exitcode == 7


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_what_is_no_ledger_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "l").write_bytes(content)
    with pytest.raises(LedgerError, match=r"(?i)nothing was released"):
        Ledger(tmp_path / "l")
    assert (tmp_path / "l").read_bytes() == content


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="folder that exists"):
        Ledger(tmp_path / "nowhere" / "l")


def test_damage_never_lowers_what_was_spent(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = Ledger(path, caps=Caps(session=1e6))
    for _ in range(30):
        ledger.charge(event(10.0, 100))
    whole = path.read_bytes()
    dice = random.Random(1)
    refused = 0
    for trial in range(400):
        damaged = bytearray(whole)
        if trial % 10 == 0:
            del damaged[dice.randrange(len(damaged)) :]
        else:
            # Flip where something is written: most of a young database is empty pages.
            places = [i for i, byte in enumerate(whole) if byte]
            damaged[dice.choice(places)] ^= 1 << dice.randrange(8)
        for extra in tmp_path.glob("l-*"):
            extra.unlink()
        path.write_bytes(damaged)
        try:
            state = Ledger(path).spent()
        except LedgerError:
            refused += 1
        else:
            assert state.epsilon >= 30_000
            assert state.caps.session is not None
            assert state.caps.session <= 1e6
    assert refused > 200
