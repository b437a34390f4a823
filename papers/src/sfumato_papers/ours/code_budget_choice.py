"""What the code-budget experiment keeps, and how it chooses from that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.table import grouped

HELD_OUT, TEST = "held out", "test"
_SHORTLIST = 3  # rows of an E that are judged again
AGAIN = (1, 2)  # seeds of the draws that decide between rows; the first draw chose within a row


@dataclass(frozen=True)
class Candidate:
    """One way to spend E; total None: all codes of the picture without noise."""

    total: float | None
    num_sent: int
    encoder: str
    joined: int

    @property
    def encoding(self) -> tuple[str, int]:
        return self.encoder, self.joined

    @property
    def row(self) -> tuple[float | None, int]:
        """Candidates of one row are chosen from; without noise the number follows the encoder."""
        return self.total, 0 if self.total is None else self.num_sent


@dataclass(frozen=True)
class Outcome:
    """A candidate judged by held-out training pictures, or by test pictures.

    num_values  of a code that is sent; epsilon is per code, None without noise
    """

    candidate: Candidate
    part: str
    seed: int
    num_values: int
    epsilon: float | None
    spatial: float
    alpha: float
    correct: int
    count: int

    @property
    def key(self) -> tuple[Candidate, str, int]:
        return self.candidate, self.part, self.seed

    @property
    def accuracy(self) -> float:
        return self.correct / self.count


JOURNAL = Journal("code-budget", "the code-budget experiment", Outcome)


@dataclass(frozen=True)
class Choice:
    """The best candidate of a row, with the outcome that chose it and its smoothing.

    again  share of held-out pictures over the draws that decide between rows; None: not judged
    """

    first: Outcome
    again: float | None

    @property
    def candidate(self) -> Candidate:
        return self.first.candidate


def best_of_rows(outcomes: Sequence[Outcome]) -> dict[tuple[float | None, int], Choice]:
    """For each E and number of codes the candidate that is best on held-out pictures."""
    held = [one for one in outcomes if one.part == HELD_OUT]
    best: dict[tuple[float | None, int], Outcome] = {}
    for one in held:
        row = one.candidate.row
        if one.seed == 0 and (row not in best or one.accuracy > best[row].accuracy):
            best[row] = one
    draws = grouped([one for one in held if one.seed in AGAIN], lambda one: one.candidate)
    return {row: Choice(one, _mean(draws.get(one.candidate, []))) for row, one in best.items()}


def shortlist(choices: Iterable[Choice]) -> list[Choice]:
    """Of each E the rows that were best in the first draw; without noise there is one draw."""
    totals = grouped(
        [one for one in choices if one.first.epsilon is not None], lambda one: one.candidate.total
    )
    return [
        one
        for own in totals.values()
        for one in sorted(own, key=lambda one: -one.first.accuracy)[:_SHORTLIST]
    ]


def winners(choices: Iterable[Choice]) -> list[Choice]:
    """Of each E the row that is best by the draws that decide; none while some are missing."""
    totals = grouped(shortlist(choices), lambda one: one.candidate.total).values()
    return [
        max(own, key=lambda one: one.again or 0.0)
        for own in totals
        if all(one.again is not None for one in own)
    ]


def _mean(outcomes: Sequence[Outcome]) -> float | None:
    shares = [one.accuracy for one in outcomes]
    return sum(shares) / len(shares) if shares else None
