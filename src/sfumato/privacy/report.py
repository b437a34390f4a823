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
    """ε claimed, ε measured, and a verdict: consistent, not refuted, broken, or no epsilon.

    epsilon_claimed   None where the mechanism claims none; no_epsilon then says why
    epsilon_measured  the interval that holds ε; None where there is nothing to measure
    one_pair          only inputs 0 and 1 were compared, by the outputs they gave: another pair may
                      be told apart more easily. "not refuted" where this pair stays below the claim
    """

    mechanism: str
    unit: str
    not_protected: tuple[str, ...]
    epsilon_claimed: float | None
    epsilon_measured: tuple[float, float] | None
    draws_per_input: int
    checks: tuple[Check, ...] = ()
    no_epsilon: str = ""
    one_pair: bool = False

    @property
    def verdict(self) -> str:
        if self.epsilon_claimed is None:
            return "no epsilon"
        if not all(check.passed for check in self.checks):
            return "broken"
        return "not refuted" if self._pair_says() else "consistent"

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        if self.epsilon_claimed is None or self.epsilon_measured is None:
            return f"{self.mechanism}: no ε: {self.no_epsilon}"
        text = (
            f"{self.mechanism}: ε = {self.epsilon_claimed:g} claimed for {self.unit}, "
            f"{bounds_text(*self.epsilon_measured)} measured"
        )
        return text if self.verdict == "consistent" else f"{text}; {self.verdict}: {self._why()}"

    def _why(self) -> str:
        failed = ", ".join(check.name for check in self.checks if not check.passed)
        if failed:
            return f"failed in {failed}"
        return f"{self._pair_says()}; the audit is only as good as this pair"

    def _pair_says(self) -> str:
        """Why inputs 0 and 1 say little about the claim; empty where they reach it."""
        if not self.one_pair or self.epsilon_claimed is None or self.epsilon_measured is None:
            return ""
        low, high = self.epsilon_measured
        if low <= 0:
            return f"inputs 0 and 1 look alike here ({_at_most(high)})"
        if high < self.epsilon_claimed:
            return f"inputs 0 and 1 differ by less than is claimed ({_at_most(high)})"
        return ""

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
        verdict = "; consistent" if self.verdict == "consistent" else ""
        return f"AuditReport({self.headline}{verdict})"


def _at_most(high: float) -> str:
    return f"measured {bounds_text(-math.inf, high)}"


def bounds_text(low: float, high: float) -> str:
    """An interval of ε in words; a bound that the draws do not give is not shown as infinite."""
    if math.isfinite(low) and math.isfinite(high):
        return f"{low:.4g} to {high:.4g}"
    if math.isfinite(low):
        return f"at least {low:.4g}"
    return f"at most {high:.4g}" if math.isfinite(high) else "nothing that these draws could show"
