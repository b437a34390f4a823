"""The account of what leaves this device: on, unless someone says no, and always shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sfumato.cli.options import option
from sfumato.cli.selection import suppression_text
from sfumato.core.accounting import DELTA
from sfumato.core.types import PrivacyEvent
from sfumato.device.explain import explanation_text, objects_text, short
from sfumato.device.ledger import LEDGER_VARIABLE, Caps, Ledger, default_ledger_path

LedgerOption = Annotated[
    Path | None,
    option("The ledger's file.", shown=f"your own, or {LEDGER_VARIABLE}"),
]
_IMPORTANT = ("leaves the device", "guarantee", "whole picture", "not protected")
_OBJECT = ("one object", "what is compared")
NOT_COUNTED = "none (--no-ledger): what leaves now is not counted anywhere"


@dataclass(frozen=True, kw_only=True)
class Account:
    """The options of every command that charges a ledger."""

    rules: ClassVar = {"--ledger --session --cap --cap-exact": "not --no-ledger"}

    ledger: LedgerOption = None
    no_ledger: Annotated[bool, option("Count nothing: nobody will know what was sent.")] = False
    session: Annotated[str, option("The ledger's session to charge.", metavar="NAME")] = "default"
    cap: Annotated[
        float | None,
        option(
            "ε the session may ever spend; kept from the first charge on, and only ever lowered.",
            shown="no limit",
        ),
    ] = None

    cap_exact: Annotated[
        float | None,
        option("E at δ = 1e-6 that the session may ever reach.", metavar="E", shown="no limit"),
    ] = None

    def check(self) -> None:
        """Refuse a cap that cannot be one, before any work is done."""
        self._caps()

    def _caps(self) -> Caps:
        return Caps(session=self.cap, exact=self.cap_exact)

    def open(self) -> Ledger | None:
        """The ledger to charge; None only where that was asked for.

        A cap is written with the first charge: a command that is refused leaves none behind.
        """
        if self.no_ledger:
            return None
        caps = None if self._caps() == Caps() else self._caps()
        if self.ledger is None:
            return Ledger.default(session=self.session, caps=caps, caps_with_charge=True)
        return Ledger(self.ledger, session=self.session, caps=caps, caps_with_charge=True)


def ledger_path(ledger: Path | None) -> Path:
    """The ledger that is meant."""
    return default_ledger_path() if ledger is None else ledger


def release_text(
    facts: dict[str, Any],
    hidden: dict[str, Any] | None = None,
    *,
    full: bool = False,
    with_object: bool = False,
) -> dict[str, str]:
    """What leaves with a release, in words: the most important ones and what was asked, or all."""
    text = explanation_text(facts)
    asked = {*_IMPORTANT, *objects_text(facts), *(_OBJECT if with_object else ())}
    shown = {name: value for name, value in text.items() if full or name in asked}
    return shown if hidden is None else shown | {"hidden": suppression_text(hidden)}


def announcement(account: Ledger | None) -> str:
    """Where the charge goes, said before it is made."""
    where = NOT_COUNTED if account is None else f"{account.path}, session {account.session!r}"
    return f"ledger: {where}"


def ledger_facts(
    account: Ledger | None,
    event: PrivacyEvent,
    pictures: int = 1,
    more: Sequence[PrivacyEvent] = (),
) -> dict[str, Any] | None:
    """What was charged, and what the session has spent; None where nothing is counted.

    more  further releases of the same picture, charged with it
    """
    if account is None:
        return None
    state = account.spent()
    beside = sum(one.picture_epsilon or 0.0 for one in more)
    return {
        "path": str(account.path),
        "session": state.session,
        "charged": (event.picture_epsilon or 0.0) * pictures + beside if event.is_private else None,
        "pictures": state.pictures,
        "without_guarantee": state.unprotected,
        "epsilon_spent": state.epsilon,
        "epsilon_remaining": state.remaining,
        "exact_epsilon_spent": state.composition.epsilon(DELTA),
        "cap_exact": state.caps.exact,
        "delta": DELTA,
    }


def ledger_text(
    facts: dict[str, Any] | None,
    event: PrivacyEvent,
    pictures: int = 1,
    more: Sequence[PrivacyEvent] = (),
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
        ) + "".join(f" + {one.epsilon:g} for {one.unit}" for one in more)
    return {
        "charged": charged,
        "ledger": f"session {facts['session']!r} {spent_text(facts)}; {facts['path']}",
    }


def spent_text(facts: dict[str, Any]) -> str:
    """What a session has spent, as one sentence behind its name."""
    rest, bare = facts["epsilon_remaining"], facts["without_guarantee"]
    if (bare == facts["pictures"] and bare) or facts.get("charged", 0) is None:
        # beside a release without a guarantee no ε is shown
        return (
            f"holds {bare:,} of {facts['pictures']:,} pictures sent without a guarantee; no cap "
            "can count them"
        )
    count = facts["pictures"] - bare
    text = (
        f"has spent ε = {facts['epsilon_spent']:.10g} on {count:,} "
        f"picture{'' if count == 1 else 's'}"
    )
    text += "" if rest is None else f"; {rest:.10g} left"
    if "exact_epsilon_spent" in facts:
        text += f"; exactly, E = {short(facts['exact_epsilon_spent'])} at δ = {facts['delta']:g}"
        if facts["cap_exact"] is not None:
            text += f" of {short(facts['cap_exact'])}"
    return text + (f"; {bare:,} more without a guarantee" if bare else "")
