"""Affine embeddings, Fig. 5: gender, race or age from what is sent of a face, and from more.

Faces with known values are split in three: the database of the lifting, the attacker's own faces,
and those that are attacked. Nobody is in two of them where identities are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer import attributes as infer
from sfumato.adversary.infer.learned_attributes import LearnedAttack
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting
from sfumato.device.mechanisms.balanced import BalancedLifting
from sfumato.dictionary import Dictionary
from sfumato.faces.embeddings import centre
from sfumato_papers.affine.faces.unit_vectors import drawn, numbers_sent, reduced
from sfumato_papers.affine.faces.verification import Settings, directions, json_epsilon
from sfumato_papers.harness.outcomes import RecordFile
from sfumato_papers.harness.work import seeded, tracked, worked_through

Doubles = NDArray[np.float64]

#: Shares of the database, the attacker's reference and training faces; the rest is attacked.
SHARES = (0.25, 0.25, 0.25)


@dataclass(frozen=True, eq=False)
class Split:
    """Points of unit length and their values, in four parts: database, reference, training, test.

    The attacker searches neighbours in `reference` and trains on `training`, so that no face is
    its own neighbour while a classifier learns from it.
    """

    points: tuple[Doubles, Doubles, Doubles, Doubles]
    values: tuple[NDArray[np.str_], ...]
    embedder: str


def split_faces(
    vectors: NDArray[Any],
    values: Sequence[str],
    embedder: str,
    *,
    identities: Sequence[str] = (),
    is_centred: bool = True,
    seed: int = 0,
) -> Split:
    """Deal faces out to the four parts, whole people together where identities are known."""
    labels = np.asarray(values, dtype=np.str_)
    if len(np.unique(labels)) < 2:
        raise InvalidInput(
            f"an attribute must have at least two values to be inferred, these {len(labels)} faces "
            f"have {len(np.unique(labels))}."
        )
    groups = np.unique(identities, return_inverse=True)[1] if len(identities) else None
    group = np.arange(len(labels)) if groups is None else groups
    order = np.random.default_rng(seed).permutation(int(group.max()) + 1)
    bounds = np.cumsum([round(share * len(order)) for share in SHARES])
    parts = [np.flatnonzero(np.isin(group, part)) for part in np.split(order, bounds)]
    for part, what in zip(parts, ("database", "reference", "training", "test"), strict=True):
        if len(part) < 2 or (what != "test" and len(np.unique(labels[part])) < 2):
            raise InvalidInput(
                f"{len(labels)} faces are too few to be split in four: the {what} part has "
                f"{len(part)}, with {len(np.unique(labels[part]))} of the values."
            )
    public = vectors[parts[0]]
    points = [centre(vectors[p], public) if is_centred else unit_vectors(vectors[p]) for p in parts]
    return Split(
        (points[0], points[1], points[2], points[3]), tuple(labels[p] for p in parts), embedder
    )


def run_attributes(split: Split, attribute: str, settings: Settings, file: RecordFile) -> None:
    """Attack every way of sending that the file does not hold yet."""
    attacker = infer.Known(split.points[1], split.values[1])
    truth = split.values[3]

    def add(attack: str, answers: Any, **what: Any) -> None:
        key = {"kind": "attribute", "attribute": attribute, "attack": attack, **what}
        if not file.has(**key):
            right, total = infer.accuracy(answers, truth)
            file.add({**key, "right": right, "total": total})

    add("majority", np.full(len(truth), attacker.majority))
    add("K-NN", infer.infer_from_points(split.points[3], attacker), way="raw")
    learned = LearnedAttack.train(_seen(split.points[2], attacker), split.values[2])
    add("learned", learned.infer(_seen(split.points[3], attacker)), way="raw")
    strategies = [*settings.strategies, *(["even"] if "hybrid+" in settings.strategies else [])]
    work: list[dict[str, Any]] = [
        {"way": "lifted", "strategy": strategy, "dimension": dimension, "seed": seed}
        for seed in range(settings.num_seeds)
        for strategy in strategies
        for dimension in settings.dimensions
    ]
    work = [
        what
        for what in work
        if not file.has(
            kind="attribute", attribute=attribute, attack=_last(what["strategy"]), **what
        )
    ]
    found = worked_through(_attack_lift, work, f"attacking {attribute}", split, attacker)
    for what, answers in zip(work, found, strict=True):
        for attack, answer in answers.items():
            add(attack, answer, **what)
    _attack_words(split, attacker, settings, attribute, add)
    _attack_vectors(split, settings, attribute, add)


def _attack_lift(split: Split, attacker: infer.Known, what: dict[str, Any]) -> dict[str, Any]:
    """What each attack answers about faces that were lifted in one way."""
    strategy = what["strategy"]
    own, sent = (_lift(split, part, strategy, what["dimension"], what["seed"]) for part in (2, 3))
    learned = LearnedAttack.train(_seen(own, attacker), split.values[2])
    answers = {
        "K-NN": infer.infer_from_subspaces(sent, attacker),
        "learned": learned.infer(_seen(sent, attacker)),
    }
    if strategy != "random":
        balanced = strategy in ("hybrid+", "even")
        known = (split.points[0], split.values[0].tolist())
        answers["words"] = infer.infer_from_database(sent, *known, attacker, balanced=balanced)
    return answers


def _seen(lifted: tuple[Doubles, Doubles] | Doubles, attacker: infer.Known) -> list[Doubles]:
    """What a trained attacker computes from subspaces or points: a guess, the geometry, both."""
    guess = lifted if isinstance(lifted, np.ndarray) else infer.recover_points(lifted, attacker)
    near = infer.class_distances(lifted, attacker)
    return [guess, near, np.concatenate([guess, near], axis=1)]


def _last(strategy: str) -> str:
    """The attack on a lift that is written last: where it is there, the others are."""
    return "learned" if strategy == "random" else "words"


def _lift(
    split: Split, part: int, strategy: str, dimension: int, seed: int
) -> tuple[Doubles, Doubles]:
    source = seeded("attributes", part, strategy, dimension, seed)
    database = Dictionary.from_words(
        split.points[0].astype(np.float32), extractor=split.embedder, metric="l2"
    )
    if strategy in ("hybrid+", "even"):
        balance = "different" if strategy == "hybrid+" else "even"
        plus = BalancedLifting(dimension, database, split.values[0].tolist(), balance)
        return plus.lift(split.points[part], split.values[part].tolist(), source)
    return SubspaceLifting(strategy, dimension, database).lift(split.points[part], source)


def _attack_words(
    split: Split, attacker: infer.Known, settings: Settings, attribute: str, add: Any
) -> None:
    for num_words in settings.num_words:
        dictionary = directions(num_words, split.points[0].shape[1], split.embedder)
        words = unit_vectors(dictionary.words)
        true = [dictionary.nearest(split.points[part].astype(np.float32)) for part in (2, 3)]
        for epsilon in tracked((*settings.epsilons, math.inf), f"{attribute} from words"):
            mechanism = SubsetMechanism(epsilon, 1, dictionary)
            for seed in range(settings.num_seeds):
                what = {"way": "words", "source": "directions", "num_words": num_words,
                        "epsilon": json_epsilon(epsilon), "seed": seed}  # fmt: skip
                own, sent = (
                    mechanism.draw(
                        nearest, seeded("attribute words", part, num_words, epsilon, seed)
                    )
                    for part, nearest in zip((2, 3), true, strict=True)
                )
                add("K-NN", infer.infer_from_words(sent, words, attacker), **what)
                learned = LearnedAttack.train(infer.recover_from_words(own, words), split.values[2])
                add("learned", learned.infer(infer.recover_from_words(sent, words)), **what)


def _attack_vectors(split: Split, settings: Settings, attribute: str, add: Any) -> None:
    """Private unit vectors: neighbours of the direction sent, and a classifier of directions."""
    for numbers in numbers_sent(settings, split.points[0].shape[1], len(split.points[0]))[:1]:
        own = [reduced(points, numbers, split.points[0], None) for points in split.points]
        attacker = infer.Known(own[1], split.values[1])
        for epsilon in tracked(settings.epsilons, f"{attribute} from unit vectors"):
            for seed in range(settings.num_seeds):
                what = {"way": "vectors", "numbers": numbers, "epsilon": epsilon, "seed": seed}
                trained, sent = (
                    drawn(own[part], epsilon, seeded("attribute vectors", part, epsilon, seed))
                    for part in (2, 3)
                )
                add("K-NN", infer.infer_from_points(sent, attacker), **what)
                learned = LearnedAttack.train(_seen(trained, attacker), split.values[2])
                add("learned", learned.infer(_seen(sent, attacker)), **what)
