"""`sfumato ledger show`: what has been spent, and what is not counted by any ε."""

from __future__ import annotations

from typing import Annotated, Any

from sfumato.cli.accounting import LedgerOption, ledger_path, spent_text
from sfumato.cli.command import applies
from sfumato.cli.options import option
from sfumato.cli.output import JsonFlag, emit
from sfumato.core.accounting import DELTA
from sfumato.core.errors import InvalidInput
from sfumato.core.types import NOT_PROTECTED
from sfumato.device.ledger import Ledger, Spent
from sfumato.device.ledger_file import charges_of, session_names


@applies({"--history": "--json"})
def show(
    ledger: LedgerOption = None,
    session: Annotated[
        str | None, option("Only this session.", metavar="NAME", shown="all sessions")
    ] = None,
    history: Annotated[
        bool, option("Also every charge: when, by which mechanism, of how many descriptors.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """ε adds up over the descriptors of a picture and over the pictures of a session. Sessions
    that show the same things add up too: whoever received both can put them together.

    Example: sfumato ledger show --session default
    """
    path = ledger_path(ledger)
    if not path.exists():
        raise InvalidInput(f"there is no ledger {path}: nothing was charged yet.")
    names = [name for name in session_names(path) if session in (None, name)]
    if session is not None and not names:
        raise InvalidInput(f"the ledger {path} has no session {session!r}.")
    facts = [_facts(Ledger(path, session=name).spent()) for name in names]
    if history:
        for row in facts:
            row["charges"] = charges_of(path, row["session"])
    exposed = ["whatever was sent with --no-ledger"]
    if any(row["without_guarantee"] for row in facts):
        exposed.insert(0, "all that was sent without a guarantee")
    told: dict[str, Any] = {
        "path": str(path),
        "unit": "ε of a session: the sum over all descriptors or codes that were sent in it",
        "sessions": facts,
        "not_protected": [*NOT_PROTECTED, *exposed],
    }
    shown = {f"session {row['session']!r}": _sentence(row) for row in facts}
    shown["unit"] = told["unit"]
    shown["not protected"] = ", ".join(told["not_protected"])
    emit(as_json, told, f"ledger {path}", shown)


def _facts(state: Spent) -> dict[str, Any]:
    return {
        "session": state.session,
        "pictures": state.pictures,
        "units": state.units,
        "epsilon_spent": state.epsilon,
        "epsilon_remaining": state.remaining,
        "exact_epsilon_spent": state.composition.epsilon(DELTA),
        "delta": DELTA,
        "cap": state.caps.session,
        "cap_exact": state.caps.exact,
        "without_guarantee": state.unprotected,
    }


def _sentence(row: dict[str, Any]) -> str:
    if not row["pictures"]:
        return "nothing was sent"
    return spent_text(row)
