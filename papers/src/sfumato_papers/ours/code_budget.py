"""Ours: how many codes a picture should send for a total E, `sfumato experiment code-budget`.

Each training picture sends n codes at the ε for which all of them together are (E, 10⁻⁶)-private;
a code may hold several cells. For each E and n, encoder, cells and smoothing are chosen with
training pictures held out and one draw of the noise; the three best n of each E are judged by two
more draws, which decide between them. Then all training pictures are randomized again and clean
test pictures are classified.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sfumato.classification.encoder import Encoder
from sfumato.classification.joined import JoinedCodes
from sfumato.classification.naive_bayes import DebiasedNaiveBayes
from sfumato.classification.orientations import OrientationBits, OrientationCodes
from sfumato.classification.validation import choose, hold_out
from sfumato.core.spending import epsilon_per_answer
from sfumato_papers.dcaconv.pictures import Problem
from sfumato_papers.dcaconv.recipes import perturb
from sfumato_papers.harness.options import Checked, folder, option
from sfumato_papers.harness.table import grouped
from sfumato_papers.harness.work import seed_of, worked_through
from sfumato_papers.ours.code_budget_choice import (
    AGAIN,
    HELD_OUT,
    JOURNAL,
    TEST,
    Candidate,
    Outcome,
    best_of_rows,
    shortlist,
)

#: What is chosen from. None learns anything from pictures but their size.
ENCODERS: dict[str, Callable[[], Encoder]] = {
    "4 orientations, margin 4": lambda: OrientationCodes(4, stride=2, margin=4),
    "4 orientations": lambda: OrientationCodes(4, stride=2),
    "6 orientations": lambda: OrientationCodes(6, stride=2),
    "8 edge bits": lambda: OrientationBits(8),
    "16 edge bits": lambda: OrientationBits(16),
}
_LEARNERS = [
    DebiasedNaiveBayes(alpha=alpha, spatial=spatial)
    for spatial in (0.0, 0.7, 1.2)
    for alpha in (0.1, 1.0, 3.0)
]
_HELD_OUT = 3000
#: Where something is measured (HELD_OUT or TEST), what was chosen, and the seed of its noise.
Cell = tuple[str, Outcome, int]


@dataclass(frozen=True)
class Settings(Checked):
    """How many codes a picture should send, and at which ε, for a total E at δ = 1e-6.

    E holds for a whole picture, whatever it shows; labels are not protected. Noise is seeded, for
    measuring, not for sending.

    Example: sfumato experiment code-budget --dataset mnist --data mnist
    """

    dataset: str = option("mnist", "mnist or fashion.", choices=("mnist", "fashion"))
    data: Path | None = folder("Folder of the idx files.", "a file of outcomes")
    totals: tuple[float, ...] = option(
        (1.0, 2.0, 4.0, 8.0), "E of a picture, several.", "--total", epsilon=True
    )
    sent: tuple[int, ...] = option(
        (1, 2, 4, 16, 64), "Codes a picture sends, several.", "--send", low=1
    )
    joined: tuple[int, ...] = option(
        (1, 2, 4, 8), "Cells that one code may hold, several.", "--join", low=1
    )
    num_seeds: int = option(3, "Draws of the noise for each row.", "--seeds", low=1)
    max_train: int | None = option(None, "Only the first training pictures, for a quick look.")
    max_test: int | None = option(None, "Only so many test pictures, for a quick look.")


def run_code_budget(problem: Problem, settings: Settings, path: Path) -> None:
    """Judge every candidate on training pictures, then the best of each row on test pictures."""
    about = {
        "dataset": problem.name,
        "train": len(problem.train),
        "test": len(problem.test),
        "data": problem.fingerprint,
    }
    kept = JOURNAL.begin(path, about, "outcomes of other pictures")
    most = _most_values(max(settings.totals))
    pairs = [
        (name, size)
        for name, make in ENCODERS.items()
        for size in settings.joined
        if make().fit(problem.train[:1]).num_values_ ** size <= most or size == 1
    ]
    done = frozenset(kept.outcomes)
    stage = "choosing on training pictures"
    for made in worked_through(_judge, pairs, stage, problem, settings, done):
        kept.add(*made)
    found = [one for one in kept.outcomes.values() if _is_asked(one.candidate, settings)]
    best = best_of_rows(found).values()
    again = [choice.first for choice in shortlist(best)]
    cells = [
        (HELD_OUT, one, seed)
        for one in again
        for seed in AGAIN
        if (one.candidate, HELD_OUT, seed) not in kept
    ]
    for made in worked_through(_measure, _by_encoder(cells), "the best again", problem):
        kept.add(*made)
    cells = [
        (TEST, choice.first, seed)
        for choice in best
        for seed in range(settings.num_seeds if choice.first.epsilon is not None else 1)
        if (choice.first.candidate, TEST, seed) not in kept
    ]
    for made in worked_through(_measure, _by_encoder(cells), "test pictures", problem):
        kept.add(*made)


def _by_encoder(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Those that share an encoder and its joining: it encodes once for them."""
    return list(grouped(cells, lambda cell: cell[1].candidate.encoding).values())


def _is_asked(candidate: Candidate, settings: Settings) -> bool:
    asked = candidate.total in settings.totals and candidate.num_sent in settings.sent
    return asked or candidate.total is None


def _most_values(epsilon: float) -> float:
    """Of a joined code: one with many more values than e^ε is hardly ever answered truly."""
    return 2 * math.exp(epsilon) + 2


def _encoder(name: str, size: int) -> Encoder:
    return JoinedCodes(ENCODERS[name](), size) if size > 1 else ENCODERS[name]()


def _candidates(settings: Settings, name: str, size: int, made: Encoder) -> Iterator[Candidate]:
    num_codes = math.prod(made.map_shape_)
    for total in settings.totals:
        for num_sent in (count for count in settings.sent if count <= num_codes):
            candidate = Candidate(total, num_sent, name, size)
            if size == 1 or made.num_values_ <= _most_values(_epsilon(candidate, made)):
                yield candidate
    if size == 1:
        yield Candidate(None, num_codes, name, size)


def _epsilon(candidate: Candidate, made: Encoder) -> float:
    if candidate.total is None:
        return math.inf
    return epsilon_per_answer(candidate.total, candidate.num_sent, num_values=made.num_values_)


def _judge(
    problem: Problem, settings: Settings, done: frozenset[Hashable], pair: tuple[str, int]
) -> list[Outcome]:
    """Candidates of one encoder, on training pictures that they did not learn from."""
    name, size = pair
    rest, held = _parts(problem)
    made = _encoder(name, size).fit(problem.train[rest])
    todo = [
        one for one in _candidates(settings, name, size, made) if (one, HELD_OUT, 0) not in done
    ]
    if not todo:
        return []
    judged = []
    labels, known = problem.train_labels, made.transform(problem.train[rest])
    asked = _cells(made).transform(problem.train[held])
    for candidate in todo:
        released = _released(candidate, made, known, seed_of(HELD_OUT, candidate))
        found = choose(_LEARNERS, (released, labels[rest]), (asked, labels[held]))
        right = round(max(score for _, score in found.scores) * len(held))
        judged.append(_outcome(candidate, made, HELD_OUT, 0, found.best, right, len(held)))
    return judged


def _parts(problem: Problem) -> tuple[NDArray[Any], NDArray[Any]]:
    """Training pictures to learn from, and those to judge by."""
    labels = problem.train_labels
    return hold_out(labels, min(_HELD_OUT / len(labels), 0.5), seed=seed_of("code-budget"))


def _measure(problem: Problem, cells: list[Cell]) -> list[Outcome]:
    """Candidates of one encoder with the smoothing that was chosen for them."""
    part = cells[0][0]
    pictures, labels = problem.train, problem.train_labels
    others, truth = problem.test, problem.test_labels
    if part == HELD_OUT:
        rest, held = _parts(problem)
        (pictures, labels), (others, truth) = (
            (problem.train[rows], problem.train_labels[rows]) for rows in (rest, held)
        )
    made = _encoder(*cells[0][1].candidate.encoding).fit(pictures)
    known, asked = made.transform(pictures), _cells(made).transform(others)
    measured = []
    for _, one, seed in cells:
        released = _released(one.candidate, made, known, seed_of(part, one.candidate, seed))
        learner = DebiasedNaiveBayes(alpha=one.alpha, spatial=one.spatial).fit(released, labels)
        right = int((learner.predict(asked) == truth).sum())
        measured.append(_outcome(one.candidate, made, part, seed, learner, right, len(truth)))
    return measured


def _cells(made: Encoder) -> Encoder:
    """What makes the cells; a picture that is classified on its own device needs no joining."""
    return made.encoder_ if isinstance(made, JoinedCodes) else made


def _released(candidate: Candidate, made: Encoder, known: NDArray[Any], seed: int) -> Any:
    """What a server holds of these codes, as learners take it."""
    epsilon = _epsilon(candidate, made)
    clean = math.isinf(epsilon)
    sent = () if clean else (candidate.num_sent,)
    return made.separate(perturb(made, known, None if clean else epsilon, seed, *sent))


def _outcome(
    candidate: Candidate, made: Encoder, part: str, seed: int, learner: Any, right: int, count: int
) -> Outcome:
    epsilon = _epsilon(candidate, made)
    return Outcome(
        candidate=candidate,
        part=part,
        seed=seed,
        num_values=made.num_values_,
        epsilon=None if math.isinf(epsilon) else epsilon,
        spatial=learner.spatial,
        alpha=learner.alpha,
        correct=right,
        count=count,
    )
