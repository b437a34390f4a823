"""Affine embeddings, §5: how much k authentications of one person tell, afresh or memoised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.history import history_attack
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import MemoisedSubset, SubsetMechanism, SubspaceLifting
from sfumato.device.mechanisms.memoised_lifting import MemoisedLifting
from sfumato.faces.embeddings import as_features
from sfumato_papers.affine.faces.verification import Problem, Settings, lifting_of, words_of
from sfumato_papers.harness.outcomes import RecordFile
from sfumato_papers.harness.work import seed_of, worked_through

Doubles = NDArray[np.float64]

EXACT = 1e-3
_SECRET = b"known, and for experiments only!"


def run_history(problem: Problem, settings: Settings, file: RecordFile) -> None:
    """Attack k releases of one picture, and of k pictures of one person."""
    people = _people(problem, settings)
    work: list[dict[str, Any]] = [
        {"kind": "history", "pictures": pictures, "way": way, "strategy": strategy,
         "dimension": dimension, "releases": count}
        for pictures in ("one", "several")
        for way in ("fresh", "memoised")
        for strategy in settings.strategies
        if strategy != "hybrid+"
        for dimension in settings.dimensions
        for count in settings.releases
    ]  # fmt: skip
    work = [what for what in work if not file.has(**what)]
    found = worked_through(_attacked_lifts, work, "history", problem, people)
    for what, errors in zip(work, found, strict=True):
        file.add({**what, "errors": [float(f"{error:.4g}") for error in errors]})
    _run_words(problem, people, settings, file)


def _people(problem: Problem, settings: Settings) -> list[NDArray[np.int64]]:
    """For each person as many pictures as the longest history needs."""
    names = np.array(problem.identities)
    most = max(settings.releases)
    found = []
    for name in dict.fromkeys(problem.identities):
        rows = np.flatnonzero((names == name) & problem.is_found)
        if len(rows) >= most:
            found.append(rows[:most])
    if not found:
        raise InvalidInput(f"a history needs {most} pictures of one person, nobody has as many.")
    return found[: settings.num_people]


def _attacked_lifts(
    problem: Problem, people: list[NDArray[np.int64]], what: dict[str, Any]
) -> list[float]:
    names = ("releases", "pictures", "way", "strategy", "dimension")
    return [_attacked_lift(problem, rows, *(what[name] for name in names)) for rows in people]


def _attacked_lift(
    problem: Problem,
    rows: NDArray[np.int64],
    count: int,
    pictures: str,
    way: str,
    strategy: str,
    dimension: int,
) -> float:
    """Distance of what is recovered to the embedding, or to the mean of the embeddings."""
    lifting = lifting_of(problem, strategy, dimension)
    shown = rows[np.zeros(count, dtype=np.int64)] if pictures == "one" else rows[:count]
    rng = SeededRandom(seed_of("history", pictures, strategy, dimension, int(rows[0])))
    use: SubspaceLifting | MemoisedLifting = lifting
    if way == "memoised":
        use = MemoisedLifting(lifting, problem.vectors[rows[0]], _SECRET)
    sent = [
        use.release(as_features(problem.vectors[row][None], problem.embedder), rng=rng)
        for row in shown
    ]
    answer = history_attack(sent, public=problem.public)
    truth = unit_vectors(problem.vectors[shown].mean(axis=0)[None])[0]
    return float(np.linalg.norm(answer.descriptors[0] - truth))


def _run_words(
    problem: Problem, people: list[NDArray[np.int64]], settings: Settings, file: RecordFile
) -> None:
    """Votes on the word of one picture, over all pictures of the people attacked."""
    num_words = max(settings.num_words)
    dictionary = words_of(problem, "directions", num_words)
    for epsilon in settings.epsilons:
        mechanism = SubsetMechanism(epsilon, 1, dictionary)
        for way in ("fresh", "memoised"):
            what = {"kind": "history", "pictures": "one", "way": way, "source": "directions",
                    "num_words": num_words, "epsilon": epsilon}  # fmt: skip
            for count in settings.releases:
                if file.has(**what, releases=count):
                    continue
                rng = SeededRandom(seed_of("votes", num_words, epsilon, count))
                right = total = 0
                for row in np.concatenate(people):
                    features = as_features(problem.vectors[row][None], problem.embedder)
                    secret = f"word {row}".encode().ljust(32)
                    use = mechanism if way == "fresh" else MemoisedSubset(mechanism, secret)
                    sent = [use.release(features, rng=rng) for _ in range(count)]
                    answer = history_attack(sent, dictionary=dictionary, seed=int(row))
                    true = unit_vectors(dictionary.words[mechanism.nearest_words(features)])[0]
                    right += bool(np.linalg.norm(answer.descriptors[0] - true) < EXACT)
                    total += 1
                file.add({**what, "releases": count, "right": right, "total": total})
