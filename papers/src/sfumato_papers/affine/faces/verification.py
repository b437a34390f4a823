"""Affine embeddings, Fig. 4: verification on raw embeddings, lifted on one side or both, words.

Each way of sending is judged by LFW's protocol. Releases are drawn with known seeds: not to be
sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting
from sfumato.device.mechanisms.balanced import BalancedLifting
from sfumato.device.mechanisms.memoised_lifting import MemoisedLifting
from sfumato.dictionary import Dictionary, build_dictionary
from sfumato.faces import verify as compare
from sfumato.faces.pairs import Pairs
from sfumato_papers.affine.faces.unit_vectors import numbers_sent, unit_distances
from sfumato_papers.harness.options import Checked, folder, option
from sfumato_papers.harness.outcomes import RecordFile
from sfumato_papers.harness.work import seed_of, worked_through

STRATEGIES = ("random", "adversarial", "hybrid", "hybrid+")
PARTS = ("verification", "history", "attributes")


@dataclass(frozen=True)
class Settings(Checked):
    """Verify faces on private embeddings, and attack these: histories and attributes.

    Results are written as they are made; the same command goes on where it was stopped. The folder
    also holds the embeddings, which tell who is who: keep it as private as the pictures are.

    Example: sfumato experiment faces --data orl_faces -o faces
    """

    data: Path | None = folder("A folder of faces.", "a file of results")
    layout: str = option(
        "auto",
        "auto, identities (a folder per person), lfw, cfp-ff, cfp-fp, listed, agedb, utkface or "
        "fairface.",
    )
    embedder: str = option("dlib", "dlib, a network *.onnx, or embeddings *.npz or *.npy.")
    cropped: bool = option(False, "Each picture is a face: look for none.", "--cropped")
    several: str = option(
        "refuse", "With several faces in a picture: refuse, largest, central or surest."
    )
    unfound: str = option(
        "refuse",
        "Where no face is found: refuse, search (again, closer) or centre (of the picture).",
    )
    at_most: int | None = option(None, "So many pictures of DATA, for a quick look.", low=2)
    jitters: int = option(0, "Changed copies that dlib averages.")
    mirrored: bool = option(False, "Average each face and its mirror image (dlib).", "--mirrored")
    database: Path | None = option(
        None, "Faces of other people, the public ones; rest: LFW's people who are in no pair."
    )
    public_people: int = option(
        10, "Without --database: so many people of DATA are the public ones."
    )
    num_folds: int = option(10, "Folds of drawn pairs.", "--folds")
    num_pairs: int = option(100, "Drawn pairs of each kind in each fold.", "--pairs")
    centre: str = option(
        "auto", "Send embeddings as seen from the public mean: yes, no, or auto, chosen on the "
        "public faces.", choices=("auto", "yes", "no"),
    )  # fmt: skip
    strategies: tuple[str, ...] = option(
        STRATEGIES, "How to lift, several.", "--strategy", choices=STRATEGIES
    )
    dimensions: tuple[int, ...] = option((2, 4, 8, 16), "m, several.", "--dimension", low=2)
    epsilons: tuple[float, ...] = option(
        (6.0, 8.0, 10.0, 16.0), "ε per embedding, several.", "--epsilon", epsilon=True
    )
    num_words: tuple[int, ...] = option((32, 128, 512), "|K|, several.", "--words", low=2)
    vector_dimensions: tuple[int, ...] = option(
        (), "n of private unit vectors, several; 32 and all by default.", "--vector-dimension",
        low=2,
    )  # fmt: skip
    further: Path | None = option(
        None, "Further public faces: they only choose directions for private unit vectors."
    )
    num_seeds: int = option(3, "Releases drawn of each face and setting.", "--seeds", low=1)
    attribute: str | None = option(None, "To be inferred and balanced by hybrid+; all by default.")
    num_people: int = option(30, "People whose history is attacked.", "--people", low=1)
    parts: tuple[str, ...] = option(
        (), "verification, history, attributes; all DATA allows.", choices=PARTS
    )
    releases: tuple[int, ...] = (1, 2, 3, 4, 5)  # of one person, in a history


Doubles = NDArray[np.float64]

SOURCES = ("directions", "public")


@dataclass(frozen=True, eq=False)
class Problem:
    """Faces to be verified.

    raw        (N, n) embeddings as the network gives them
    vectors    (N, n) of length one, as they are sent: centred by public faces, or not
    is_found   (N,) false where there is no face; such a picture is never accepted
    public     (P, n) faces of other people, in the same form as `vectors`
    further    (F, n) more faces that choose directions for private unit vectors; None: none
    identities (N,) who is on them; empty where nobody knows
    values     (N,), public_values (P,): an attribute for hybrid+, None where there is none
    """

    raw: NDArray[Any]
    vectors: Doubles
    is_found: NDArray[np.bool_]
    pairs: Pairs
    public: Doubles
    embedder: str
    identities: tuple[str, ...] = ()
    values: tuple[str, ...] | None = None
    public_values: tuple[str, ...] | None = None
    further: NDArray[Any] | None = None
    is_centred: bool = True
    _words: dict[tuple[str, int], Dictionary] = field(default_factory=dict)

    @cached_property
    def database(self) -> Dictionary:
        """The public faces as the words of lifting."""
        return Dictionary.from_words(
            self.public.astype(np.float32),
            extractor=self.embedder,
            provenance="embeddings of public faces",
            metric="l2",
        )


def run_verification(problem: Problem, settings: Settings, file: RecordFile) -> None:
    """Judge every way of sending that the file does not hold yet."""
    work = [
        setting
        for setting in _settings(problem, settings)
        if not file.has(kind="verification", **setting)
    ]
    for setting, found in zip(
        work, worked_through(_judge, work, "verification", problem), strict=True
    ):
        file.add(
            {
                "kind": "verification",
                **setting,
                "accuracy": [round(value, 6) for value in found.accuracy],
                "false_accept": round(found.false_accept, 6),
                "false_reject": round(found.false_reject, 6),
            }
        )


def _settings(problem: Problem, settings: Settings) -> Iterator[dict[str, Any]]:
    for way in ("euclidean", "cosine", "cosine as sent"):
        yield {"way": way}
    has_values = problem.values is not None and problem.public_values is not None
    for seed in range(settings.num_seeds):
        for strategy in settings.strategies:
            if strategy == "hybrid+" and not has_values:
                continue
            for dimension in settings.dimensions:
                lift = {"strategy": strategy, "dimension": dimension, "seed": seed}
                yield {"way": "p–s", **lift}
                yield {"way": "s–s", **lift}
                if strategy != "hybrid+":
                    yield {"way": "s–s memoised", **lift}
        for source in SOURCES:
            for num_words in settings.num_words:
                if source == "public" and num_words > len(problem.public) // 2:
                    continue
                for epsilon in (*settings.epsilons, math.inf):
                    words = {"source": source, "num_words": num_words, "seed": seed}
                    for way in ("p–w", "w–w"):
                        yield {"way": way, **words, "epsilon": json_epsilon(epsilon)}
        for numbers in numbers_sent(settings, problem.vectors.shape[1], len(problem.public)):
            for epsilon in settings.epsilons:
                for way in ("p–v", "v–v"):
                    yield {"way": way, "numbers": numbers, "epsilon": epsilon, "seed": seed}


def json_epsilon(epsilon: float) -> float | str:
    """ε as JSON can hold it, which has no infinity."""
    return epsilon if math.isfinite(epsilon) else "inf"


def _judge(problem: Problem, setting: Mapping[str, Any]) -> compare.Verification:
    pairs, way = problem.pairs, str(setting["way"])
    if way == "euclidean":
        distances = compare.euclidean(problem.raw, pairs)
    elif way == "cosine":
        distances = compare.cosine(problem.raw, pairs)
    elif way == "cosine as sent":
        distances = compare.cosine(problem.vectors, pairs)
    elif "numbers" in setting:
        distances = unit_distances(problem, setting)
    elif "strategy" in setting:
        distances = _lifted_distances(problem, setting)
    else:
        distances = _word_distances(problem, setting)
    missing = ~(problem.is_found[pairs.first] & problem.is_found[pairs.second])
    return compare.verify(np.where(missing, np.inf, distances), pairs)


def _lifted_distances(problem: Problem, setting: Mapping[str, Any]) -> Doubles:
    way, pairs = setting["way"], problem.pairs
    seed = (setting["strategy"], setting["dimension"], setting["seed"])
    if way == "s–s memoised":
        return _memoised_distances(problem, setting)
    second = _lift(problem, setting, seed_of("second", *seed))
    first = problem.vectors if way == "p–s" else _lift(problem, setting, seed_of("first", *seed))
    return compare.between(first, second, pairs)


def _lift(problem: Problem, setting: Mapping[str, Any], seed: int) -> tuple[Doubles, Doubles]:
    strategy, dimension = str(setting["strategy"]), int(setting["dimension"])
    if strategy == "hybrid+":
        plus = BalancedLifting(dimension, problem.database, problem.public_values or ())
        return plus.lift(problem.vectors, problem.values or (), SeededRandom(seed))
    made = lifting_of(problem, strategy, dimension)
    return made.lift(problem.vectors, SeededRandom(seed))


def lifting_of(problem: Problem, strategy: str, dimension: int) -> SubspaceLifting:
    return SubspaceLifting(strategy, dimension, problem.database)


def _memoised_distances(problem: Problem, setting: Mapping[str, Any]) -> Doubles:
    """Both pictures of a pair on the enrolled device: the first is the enrolment.

    For pairs of two people that is somebody else in front of the owner's device, the harder case.
    """
    lifting = lifting_of(problem, str(setting["strategy"]), int(setting["dimension"]))
    result = np.empty(len(problem.pairs))
    for enrolled in np.unique(problem.pairs.first):
        rows = np.flatnonzero(problem.pairs.first == enrolled)
        secret = f"known, experiments only {setting['seed']}".encode().ljust(32)
        memoised = MemoisedLifting(lifting, problem.vectors[enrolled], secret)
        own = memoised.lift(problem.vectors[enrolled][None])[0]
        others = memoised.lift(problem.vectors[problem.pairs.second[rows]])[0]
        result[rows] = np.linalg.norm(others - own, axis=1)  # parallel: across the span only
    return result


def words_of(problem: Problem, source: str, num_words: int) -> Dictionary:
    """|K| words: directions drawn uniformly, which hold no face, or clusters of public faces."""
    if (source, num_words) not in problem._words:
        problem._words[source, num_words] = _made_words(problem, source, num_words)
    return problem._words[source, num_words]


def _made_words(problem: Problem, source: str, num_words: int) -> Dictionary:
    if source == "public":
        return build_dictionary(
            problem.public.astype(np.float32),
            num_words=num_words,
            extractor=problem.embedder,
            spherical=True,
            provenance="clusters of public faces",
        )
    return directions(num_words, problem.vectors.shape[1], problem.embedder)


def directions(num_words: int, dimension: int, embedder: str) -> Dictionary:
    """Words that hold no face: directions drawn uniformly, the same at every call."""
    size = (num_words, dimension)
    drawn = np.random.default_rng(seed_of("directions", num_words)).normal(size=size)
    return Dictionary.from_words(
        unit_vectors(drawn).astype(np.float32),
        extractor=embedder,
        provenance="uniform directions",
        metric="l2",
    )


def _word_distances(problem: Problem, setting: Mapping[str, Any]) -> Doubles:
    source, num_words = str(setting["source"]), int(setting["num_words"])
    dictionary = words_of(problem, source, num_words)
    mechanism = SubsetMechanism(float(setting["epsilon"]), 1, dictionary)
    true = dictionary.nearest(problem.vectors.astype(np.float32))
    words = unit_vectors(dictionary.words)
    pairs = problem.pairs
    seed = (source, num_words, setting["epsilon"], setting["seed"])
    second = mechanism.draw(true, SeededRandom(seed_of("second", *seed)))
    if setting["way"] == "p–w":
        return compare.point_to_words(problem.vectors[pairs.first], words, second[pairs.second])
    first = mechanism.draw(true, SeededRandom(seed_of("first", *seed)))
    return compare.words_to_words(words, first[pairs.first], second[pairs.second])
