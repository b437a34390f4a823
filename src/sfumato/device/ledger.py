"""What has been spent, on disk, charged before anything leaves.

One SQLite file in WAL mode. Every charge is one transaction that is synced to the disk before
`charge` returns, so a crash between charge and send may count a release that never left, and can
never forget one that did. Amounts are whole billionths of ε, rounded up: a sum of floats could
drift below the truth. A session's totals stand beside the charges they sum up, with a checksum;
a ledger that disagrees with itself is refused, an older one is noticed where `witness` can.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from sfumato.core.accounting import DELTA, Composition, PrivateAnswer
from sfumato.core.checks import check_count
from sfumato.core.errors import BudgetSpent, InvalidInput, LedgerError
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger_caps import BILLION, LARGEST, Caps, Spent, cost_of
from sfumato.device.ledger_file import RESTORE, LedgerFile, answer_mark, checksum, write_session
from sfumato.device.user_folders import data_folder

__all__ = ["LEDGER_VARIABLE", "Caps", "Ledger", "Spent", "default_ledger_path"]

#: Another default ledger than the one in the person's data folder.
LEDGER_VARIABLE = "SFUMATO_LEDGER"


def default_ledger_path() -> Path:
    """The ledger of this person: SFUMATO_LEDGER where it is set, else in their data folder."""
    chosen = os.environ.get(LEDGER_VARIABLE)
    return Path(chosen) if chosen else data_folder() / "ledger.db"


class Ledger:
    """The account of one session in a ledger file. Safe across threads and processes.

    Caps are written into the file when the session is first opened with them. Later openings
    may lower them; raising is refused, so that no other program can widen the budget unseen.

    timeout  seconds to wait for other programs that write to the same file; whoever waits is
             not served in turn, so among many busy writers a wait can be long
    caps_with_charge  write the caps with the first charge instead: who is refused leaves none

    >>> ledger = sf.Ledger("ledger.db", caps=sf.Caps(session=1000))
    >>> ledger.charge(sf.PrivacyEvent("subset", 8.0, 100, "one descriptor", ()))
    >>> ledger.spent().remaining
    200.0
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        session: str = "default",
        caps: Caps | None = None,
        timeout: float = 60.0,
        caps_with_charge: bool = False,
    ) -> None:
        if not isinstance(session, str) or not 0 < len(session) <= 200:
            raise InvalidInput("session must be a name of 1 to 200 characters.")
        self.path = Path(path)
        self.session = session
        self._later_caps = caps if caps_with_charge else None
        self._file = LedgerFile(self.path, timeout)
        with self._file.transaction() as database:
            self._check_all(database)
            row = self._session_row(database)
            stored = (None,) * 4 if row is None else row[:4]
            lowered = stored if caps is None else self._lowered(stored, caps)
            kept = stored if caps_with_charge else lowered
            if row is None or kept != stored:
                self._write_session(database, kept, (0,) * 5 if row is None else row[4:])

    @classmethod
    def default(cls, *, session: str = "default", **options: Any) -> Ledger:
        """The ledger of this person, made where it does not exist yet; options as above."""
        path = default_ledger_path()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(
                f"the folder {path.parent} of your ledger cannot be made ({error.strerror}); set "
                f"{LEDGER_VARIABLE} to another file. Nothing was released."
            ) from None
        return cls(path, session=session, **options)

    def charge(self, event: PrivacyEvent, *, pictures: int = 1) -> None:
        """Record what a release is about to cost, or refuse. On disk when this returns.

        pictures  so many releases of this cost at once: all are charged, or none
        """
        check_count("pictures", pictures, low=1, high=1 << 32)
        self._charge([(event, pictures)])

    def charge_all(self, events: Sequence[PrivacyEvent]) -> None:
        """Record what several releases are about to cost, in one transaction: all, or none."""
        counts = Counter(events)
        self._charge([(event, counts[event]) for event in dict.fromkeys(events)])

    def charge_picture(self, events: Sequence[PrivacyEvent]) -> None:
        """Record what several releases of one picture are about to cost: all, or none.

        Each may tell of the same descriptor, so caps per descriptor and per picture hold for
        their sums. The ledger's count of pictures grows by the number of releases.
        """
        with self._file.transaction() as database:
            row = self._session_row(database)
            private = [event for event in events if event.is_private]
            if row is not None and private:
                costs = [(cost_of(event), event.num_units) for event in private]
                together = sum(cost * units for cost, units in costs)
                sums = (sum(cost for cost, units in costs if units), together, together)
                caps: tuple[int | None, ...] = row[:4]
                if self._later_caps is not None:
                    caps = self._lowered(caps, self._later_caps)
                self._check_caps(caps, sums, row[6], 0, private[0])
            for event in events:
                self._charge_in(database, event, 1)

    def _charge(self, wanted: Sequence[tuple[PrivacyEvent, int]]) -> None:
        with self._file.transaction() as database:
            for event, pictures in wanted:
                self._charge_in(database, event, pictures)

    def _charge_in(self, database: sqlite3.Connection, event: PrivacyEvent, pictures: int) -> None:
        per_unit = cost_of(event)
        unprotected = 0 if event.is_private or not event.num_units else 1
        row = self._session_row(database)
        if row is None:
            raise LedgerError(
                f"the session {self.session!r} is gone from the ledger; open it again."
            )
        caps: tuple[int | None, ...] = row[:4]
        before, units, spent, bare, answers = row[4:]
        if self._later_caps is not None:
            caps = self._lowered(caps, self._later_caps)
        cost = per_unit * event.num_units
        self._check_caps(caps, (per_unit, cost, cost * pictures), spent, unprotected, event)
        if caps[3] is not None:
            self._check_exact(database, caps[3], event, pictures)
        values = (event.num_values, event.subset_size)
        about = (self.session, time.time(), event.mechanism)
        database.executemany(
            "INSERT INTO charges (session, time, mechanism, epsilon, units, unprotected, "
            "num_values, subset_size) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            repeat((*about, per_unit, event.num_units, unprotected, *values), pictures),
        )
        totals = (
            before + pictures,
            units + event.num_units * pictures,
            spent + cost * pictures,
            bare + unprotected * pictures,
            answers + answer_mark(per_unit, event.num_units, *values) * pictures,
        )
        self._write_session(database, caps, totals)

    def spent(self) -> Spent:
        """What this session has spent so far."""
        with self._file.transaction() as database:
            self._check_all(database)
            row = self._session_row(database)
            composition = self._composition(database)
        if row is None:
            raise LedgerError(f"the ledger has no session {self.session!r}.")
        caps = Caps(*(None if cap is None else cap / BILLION for cap in row[:4]))
        pictures, units, spent, bare, _ = row[4:]
        return Spent(self.session, pictures, units, spent / BILLION, bare, caps, composition)

    def _composition(self, database: sqlite3.Connection) -> Composition:
        """All answers of the session that have a guarantee."""
        rows = database.execute(
            "SELECT epsilon, num_values, subset_size, sum(units) FROM charges WHERE session = ? "
            "AND unprotected = 0 AND units > 0 GROUP BY epsilon, num_values, subset_size",
            (self.session,),
        )
        try:
            return Composition({PrivateAnswer(e / BILLION, k, size): n for e, k, size, n in rows})
        except InvalidInput as error:
            raise LedgerError(f"{self.path} is damaged: {error} {RESTORE}") from None

    def _check_exact(
        self, database: sqlite3.Connection, cap: int, event: PrivacyEvent, pictures: int
    ) -> None:
        answer = PrivateAnswer(event.epsilon or math.inf, event.num_values, event.subset_size)
        release = Composition({answer: event.num_units * pictures})
        total = (self._composition(database) + release).epsilon(DELTA)
        if total > cap / BILLION:
            raise BudgetSpent(
                f"the cap of session {self.session!r} is E = {cap / BILLION:g} at δ = {DELTA:g}, "
                f"this release would make it {total:.6g}; send less, use a smaller epsilon, or "
                "stop here. Nothing was released."
            )

    def _check_caps(
        self,
        caps: tuple[int | None, ...],
        costs: tuple[int, int, int],
        spent: int,
        unprotected: int,
        event: PrivacyEvent,
    ) -> None:
        if unprotected and any(cap is not None for cap in caps):
            raise BudgetSpent(
                f"the session {self.session!r} has a cap, and a {event.mechanism} release has no "
                "guarantee that could be counted against it; nothing was released."
            )
        per_unit, per_picture, together = costs
        wanted = (per_unit, per_picture, spent + together)
        names = ("descriptor", "picture", "session")
        for name, cap, want in zip(names, caps[:3], wanted, strict=True):
            if cap is not None and want > cap:
                already = ""
                if name == "session":
                    left = max(cap - spent, 0) / BILLION
                    already = f" after {spent / BILLION:g} already spent; {left:g} is left"
                what = "this release" if together == per_picture else "these releases"
                raise BudgetSpent(
                    f"the cap per {name} is ε = {cap / BILLION:g}, {what} would make it "
                    f"{want / BILLION:g}{already}; send less, use a smaller epsilon, or stop here. "
                    "Nothing was released."
                )
        if spent + together > LARGEST:
            raise BudgetSpent("the ledger cannot count any further; start a new session.")

    def _lowered(self, stored: tuple[int | None, ...], caps: Caps) -> tuple[int | None, ...]:
        merged: list[int | None] = []
        names = ("cap per descriptor", "cap per picture", "cap per session", "cap")
        for name, old, new in zip(names, stored, caps.in_billionths(), strict=True):
            if old is not None and new is not None and new > old:
                number = f"{'E' if name == 'cap' else 'ε'} = {old / BILLION:g}"
                raise LedgerError(
                    f"the {name} of session {self.session!r} is {number}; it can be lowered "
                    f"but not raised to {new / BILLION:g}; use a new session."
                )
            merged.append(old if new is None else new)
        return tuple(merged)

    def _session_row(self, database: sqlite3.Connection) -> tuple[int, ...] | None:
        row = database.execute(
            "SELECT cap_descriptor, cap_picture, cap_session, cap_exact, pictures, units, spent, "
            "unprotected, answers, checksum FROM sessions WHERE name = ?",
            (self.session,),
        ).fetchone()
        if row is None:
            return None
        if row[-1] != checksum(self.session, row[:-1]):
            raise LedgerError(f"{self.path} is damaged: a checksum does not match; {RESTORE}")
        return tuple(row[:-1])

    def _write_session(
        self, database: sqlite3.Connection, caps: tuple[int | None, ...], totals: tuple[int, ...]
    ) -> None:
        write_session(database, self.session, (*caps, *totals))

    def _check_all(self, database: sqlite3.Connection) -> None:
        """Compare every session's totals with the charges behind them."""
        problem = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        totals = {
            name: tuple(rest)
            for name, *rest in database.execute(
                "SELECT session, count(*), sum(units), sum(epsilon * units), sum(unprotected), "
                "sum(answer_mark(epsilon, units, num_values, subset_size)) "
                "FROM charges GROUP BY session"
            )
        }
        agree = problem == "ok"
        for name, *values, written in database.execute("SELECT * FROM sessions"):
            agree &= written == checksum(name, tuple(values))
            agree &= totals.pop(name, (0,) * 5) == tuple(values[4:])
        if not agree or totals:
            raise LedgerError(f"{self.path} is damaged: it disagrees with itself; {RESTORE}")
