"""What the code-budget experiment keeps, and how it chooses from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato_papers.harness.outcomes import Journal
from sfumato_papers.harness.table import grouped

HELD_OUT, TEST = "held out", "test"
_SHORTLIST = 2  # candidates of a row that are judged again
AGAIN = (1, 2)  # seeds of the draws that decide; the first draw made the shortlist


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
    """The best candidate of a row, with the outcome that chose its smoothing."""

    candidate: Candidate
    first: Outcome
    accuracy: float  # on held-out pictures, over the draws that decide


def shortlist(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The best candidates of each row by the first draw."""
    first = [one for one in outcomes if one.part == HELD_OUT and one.seed == 0]
    rows = grouped(first, lambda one: one.candidate.row)
    return [
        one
        for own in rows.values()
        for one in sorted(own, key=lambda one: -one.accuracy)[:_SHORTLIST]
    ]


def best_of_rows(outcomes: Sequence[Outcome]) -> dict[tuple[float | None, int], Choice]:
    """For each E and number of codes the candidate that is best on held-out pictures."""
    held = grouped([one for one in outcomes if one.part == HELD_OUT], lambda one: one.candidate)
    best: dict[tuple[float | None, int], Choice] = {}
    for candidate, own in held.items():
        draws = [one.accuracy for one in own if one.seed in AGAIN]
        if candidate.total is None:
            draws = [own[0].accuracy]
        if not draws:
            continue
        choice = Choice(candidate, own[0], sum(draws) / len(draws))
        if candidate.row not in best or choice.accuracy > best[candidate.row].accuracy:
            best[candidate.row] = choice
    return best
