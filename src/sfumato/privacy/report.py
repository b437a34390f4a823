"""What the audit answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Check:
    """One procedure's answer."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True, repr=False)
class AuditReport:
    """ε claimed, ε measured, and a verdict: consistent, broken, or no epsilon.

    epsilon_claimed   None where the mechanism claims none; no_epsilon then says why
    epsilon_measured  the interval that holds ε; None where there is nothing to measure
    """

    mechanism: str
    unit: str
    not_protected: tuple[str, ...]
    epsilon_claimed: float | None
    epsilon_measured: tuple[float, float] | None
    draws_per_input: int
    checks: tuple[Check, ...] = ()
    no_epsilon: str = ""

    @property
    def verdict(self) -> str:
        if self.epsilon_claimed is None:
            return "no epsilon"
        return "consistent" if all(check.passed for check in self.checks) else "broken"

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        if self.epsilon_claimed is None or self.epsilon_measured is None:
            return f"{self.mechanism}: no ε: {self.no_epsilon}"
        return (
            f"{self.mechanism}: ε = {self.epsilon_claimed:g} claimed for {self.unit}, "
            f"{bounds_text(*self.epsilon_measured)} measured"
        )

    def facts(self) -> dict[str, Any]:
        """The report for machines; what has no value is None, never infinite."""
        measured = self.epsilon_measured
        return {
            "mechanism": self.mechanism,
            "unit": self.unit,
            "not_protected": list(self.not_protected),
            "epsilon_claimed": self.epsilon_claimed,
            "epsilon_measured": measured
            and [bound if math.isfinite(bound) else None for bound in measured],
            "no_epsilon": self.no_epsilon or None,
            "draws_per_input": self.draws_per_input,
            "checks": {
                check.name: {"passed": check.passed, "detail": check.detail}
                for check in self.checks
            },
            "verdict": self.verdict,
        }

    def __repr__(self) -> str:
        verdict = "" if self.epsilon_claimed is None else f"; {self.verdict}"
        return f"AuditReport({self.headline}{verdict})"


def bounds_text(low: float, high: float) -> str:
    """An interval of ε in words; a bound that the draws do not give is not shown as infinite."""
    if math.isfinite(low) and math.isfinite(high):
        return f"{low:.4g} to {high:.4g}"
    if math.isfinite(low):
        return f"at least {low:.4g}"
    return f"at most {high:.4g}" if math.isfinite(high) else "nothing that these draws could show"
