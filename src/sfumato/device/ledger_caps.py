"""Limits of a session, and what it has spent: the two things a ledger tells of itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.core.accounting import Composition
from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput
from sfumato.core.odds import as_written
from sfumato.core.types import PrivacyEvent

BILLION = 1_000_000_000
LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Caps:
    """Limits on ε per descriptor, per picture and per session; None means no limit.

    exact  a limit on what the session costs by exact composition: E at δ = 10⁻⁶

    >>> sf.Caps(descriptor=8, session=10_000).session
    10000
    """

    descriptor: float | None = None
    picture: float | None = None
    session: float | None = None
    exact: float | None = None

    def __post_init__(self) -> None:
        for name in ("descriptor", "picture", "session", "exact"):
            value = getattr(self, name)
            if (
                value is not None
                and not 0 < as_number(f"the {name} cap", value) < LARGEST // BILLION
            ):
                raise InvalidInput(
                    f"the {name} cap must be above 0 and below {LARGEST // BILLION:,}, got "
                    f"{value!r}; leave it out for no limit."
                )

    def in_billionths(self) -> tuple[int | None, ...]:
        """Rounded down: a cap is never exceeded by rounding."""
        return tuple(
            None if cap is None else math.floor(as_written(cap) * BILLION)
            for cap in (self.descriptor, self.picture, self.session, self.exact)
        )


@dataclass(frozen=True)
class Spent:
    """The state of one session."""

    session: str
    pictures: int
    units: int
    epsilon: float
    unprotected: int  # releases without any guarantee; no ε can count them
    caps: Caps
    composition: Composition  # of all answers but those without a guarantee

    @property
    def remaining(self) -> float | None:
        return None if self.caps.session is None else max(self.caps.session - self.epsilon, 0.0)


def cost_of(event: PrivacyEvent) -> int:
    """Billionths of ε for one unit, rounded up; 0 where there is no guarantee to count."""
    if not event.is_private or event.epsilon is None:
        return 0
    return math.ceil(as_written(event.epsilon) * BILLION)
