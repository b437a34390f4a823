"""The account of what leaves this device: on, unless someone says no, and always shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.core.errors import InvalidInput
from sfumato.core.types import PrivacyEvent
from sfumato.device.ledger import LEDGER_VARIABLE, Caps, Ledger

LedgerOption = Annotated[
    Path | None,
    typer.Option(
        help=f"Charge this ledger first; by default your own, or the one {LEDGER_VARIABLE} names."
    ),
]
NoLedgerOption = Annotated[
    bool, typer.Option("--no-ledger", help="Count nothing: nobody will know what was sent.")
]
SessionOption = Annotated[str, typer.Option(help="The ledger's session to charge.")]
CapOption = Annotated[
    float | None, typer.Option(help="ε the session may ever spend; kept, and only ever lowered.")
]

NOT_COUNTED = "none (--no-ledger): what leaves now is not counted anywhere"


def check_account(ledger: Path | None, no_ledger: bool, cap: float | None) -> None:
    """Refuse options that contradict each other, and a cap that cannot be one."""
    if no_ledger and (ledger is not None or cap is not None):
        raise InvalidInput("--no-ledger counts nothing; leave out --ledger and --cap, or it.")
    Caps(session=cap)


def open_account(
    ledger: Path | None, no_ledger: bool, session: str, cap: float | None
) -> Ledger | None:
    """The ledger to charge; None only where that was asked for."""
    check_account(ledger, no_ledger, cap)
    if no_ledger:
        return None
    caps = None if cap is None else Caps(session=cap)
    if ledger is None:
        return Ledger.default(session=session, caps=caps)
    return Ledger(ledger, session=session, caps=caps)


def announcement(account: Ledger | None) -> str:
    """Where the charge goes, said before it is made."""
    where = NOT_COUNTED if account is None else f"{account.path}, session {account.session!r}"
    return f"ledger: {where}"


def ledger_facts(
    account: Ledger | None, event: PrivacyEvent, pictures: int = 1
) -> dict[str, Any] | None:
    """What was charged, and what the session has spent; None where nothing is counted."""
    if account is None:
        return None
    state = account.spent()
    return {
        "path": str(account.path),
        "session": state.session,
        "charged": (event.picture_epsilon or 0.0) * pictures if event.is_private else None,
        "pictures": state.pictures,
        "without_guarantee": state.unprotected,
        "epsilon_spent": state.epsilon,
        "epsilon_remaining": state.remaining,
    }


def ledger_text(
    facts: dict[str, Any] | None, event: PrivacyEvent, pictures: int = 1
) -> dict[str, str]:
    """The same in words."""
    if facts is None:
        return {"ledger": NOT_COUNTED}
    if facts["charged"] is None:
        charged = "a release without a guarantee, which no number can count"
    else:
        many = "" if pictures == 1 else f"{pictures:,} pictures × "
        charged = (
            f"ε = {facts['charged']:g}: {many}{event.num_units:,} × {event.epsilon:g} for "
            f"{event.unit}"
        )
    rest, bare = facts["epsilon_remaining"], facts["without_guarantee"]
    count = facts["pictures"] - bare
    if facts["charged"] is None:  # beside a release without a guarantee no ε is shown
        state = (
            f"session {facts['session']!r} holds {bare:,} of {facts['pictures']:,} pictures sent "
            "without a guarantee; no cap can count them"
        )
    else:
        state = (
            f"session {facts['session']!r} has spent ε = {facts['epsilon_spent']:.10g} on "
            f"{count:,} picture{'' if count == 1 else 's'}"
        )
        state += "" if rest is None else f"; {rest:.10g} left"
        state += f"; {bare:,} more were sent without a guarantee" if bare else ""
    return {"charged": charged, "ledger": f"{state}; {facts['path']}"}
