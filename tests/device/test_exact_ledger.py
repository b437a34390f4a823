"""What a session costs by exact composition, and a cap on it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.core.accounting import Composition, PrivateAnswer
from sfumato.core.errors import BudgetSpent, InvalidInput, LedgerError
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import Caps, Ledger

DATA = Path(__file__).parent / "data"


def words(epsilon: float = 6.0, units: int = 100, num_words: int = 4_096) -> PrivacyEvent:
    return PrivacyEvent("subset", epsilon, units, "one descriptor", ("positions",), num_words)


def test_a_session_of_several_kinds_is_composed_exactly(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    ledger.charge(words(), pictures=3)
    ledger.charge(words(8.0, 50, 16_384))
    ledger.charge(PrivacyEvent("plain", None, 10, "one descriptor", ("all",)))
    state = ledger.spent()
    wanted = {PrivateAnswer(6.0, 4_096): 300, PrivateAnswer(8.0, 16_384): 50}
    assert state.composition.answers == wanted
    assert state.composition.largest == state.epsilon == 2_200
    assert state.composition.epsilon() == Composition(wanted).epsilon() < 700


def test_other_sessions_do_not_count(tmp_path: Path) -> None:
    Ledger(tmp_path / "l", session="other").charge(words())
    assert Ledger(tmp_path / "l").spent().composition.num_answers == 0


def test_a_cap_on_the_exact_total_refuses_what_would_exceed_it(tmp_path: Path) -> None:
    once = words().composition
    assert once is not None
    ledger = Ledger(tmp_path / "l", caps=Caps(exact=1.5 * once.epsilon()))
    ledger.charge(words())
    with pytest.raises(BudgetSpent, match=r"E = .* at δ = 1e-06"):
        ledger.charge(words())
    assert ledger.spent().pictures == 1
    ledger.charge(words(1.0))


def test_a_cap_on_the_exact_total_may_be_lowered_and_not_raised(tmp_path: Path) -> None:
    Ledger(tmp_path / "l", caps=Caps(exact=500))
    assert Ledger(tmp_path / "l", caps=Caps(exact=300)).spent().caps == Caps(exact=300)
    with pytest.raises(LedgerError, match=r"is E = 300; .* not raised to 400"):
        Ledger(tmp_path / "l", caps=Caps(exact=400))


@pytest.mark.parametrize("name", ["ledger-1.db", "ledger-2.db"])  # made by the code of that format
def test_charges_of_an_older_ledger_count_as_the_worst_kind(tmp_path: Path, name: str) -> None:
    path = Path(shutil.copy(DATA / name, tmp_path / "ledger.db"))
    state = Ledger(path).spent()
    assert (state.pictures, state.epsilon) == (2, 1100)
    assert state.caps == Caps(session=5000, descriptor=10)
    assert Ledger(path, session="holiday").spent().unprotected == 1
    assert all(answer.num_values is None for answer in state.composition.answers)
    assert state.composition.num_answers == state.units == 140


def test_a_changed_kind_of_answer_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "l"
    Ledger(path).charge(words())
    database = sqlite3.connect(path)
    database.execute("UPDATE charges SET num_values = 1 << 20")
    database.commit()
    database.close()
    with pytest.raises(LedgerError, match="disagrees with itself"):
        Ledger(path)


def test_kinds_of_answers_that_were_exchanged_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = Ledger(path)
    ledger.charge(words(8.0, 1000, 2))
    ledger.charge(words(8.0, 10, 16_384))
    database = sqlite3.connect(path)
    database.execute("UPDATE charges SET num_values = 16386 - num_values")
    database.commit()
    database.close()
    with pytest.raises(LedgerError, match="disagrees with itself"):
        Ledger(path)


@pytest.mark.parametrize(
    ("epsilon", "num_values", "size"),
    [(80.0, None, 1), (8.0, 1, 1), (8.0, 0, 1), (8.0, -5, 1), (8.0, True, 1), (8.0, 4, 0),
     (8.0, 4, 4), (8.0, "16", 1)],
)  # fmt: skip
def test_an_event_either_is_refused_or_can_be_read_again(
    tmp_path: Path, epsilon: float, num_values: Any, size: int
) -> None:
    ledger = Ledger(tmp_path / "l")
    try:
        event = PrivacyEvent("own", epsilon, 10, "one descriptor", (), num_values, size)
    except InvalidInput:
        assert epsilon == 8
    else:
        ledger.charge(event)
        assert Ledger(tmp_path / "l").spent().composition.largest == 10 * epsilon


def test_numbers_of_numpy_are_counted_like_others(tmp_path: Path) -> None:
    """What is written must be what is read again, whatever kind of number it was."""
    one, ten, many = np.int64(1), np.int32(10), np.uint32(64)
    event: Any = PrivacyEvent("own", 8.0, ten, "one descriptor", (), many, one)  # type: ignore[arg-type]
    Ledger(tmp_path / "l").charge(event)
    assert Ledger(tmp_path / "l").spent().composition == Composition({PrivateAnswer(8.0, 64): 10})


def test_more_values_than_can_be_counted_are_refused() -> None:
    with pytest.raises(InvalidInput, match="num_values"):
        PrivateAnswer(1.0, 1 << 1024)


def test_damage_never_lowers_the_exact_total(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = Ledger(path)
    for _ in range(5):
        ledger.charge(words())
    total = ledger.spent().composition.epsilon()
    whole = path.read_bytes()
    written = [i for i, byte in enumerate(whole) if byte]
    dice = random.Random(2)
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[dice.choice(written)] ^= 1 << dice.randrange(8)
        for extra in tmp_path.glob("l-*"):
            extra.unlink()
        path.write_bytes(damaged)
        try:
            state = Ledger(path).spent()
        except LedgerError:
            continue
        assert state.composition.epsilon() >= total
