"""Ours beside LDP-FEAT: the true word guessed from one release and from many, and what ε allows."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.bounds import chance_accuracy
from sfumato.adversary.recover.context import WordContext, context_priors, learn_context
from sfumato.adversary.recover.posterior import best_guess
from sfumato.adversary.recover.repeats import repeats_attack, vote_words
from sfumato.core.errors import BudgetSpent
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.device.ledger import Caps, Ledger
from sfumato.device.mechanisms import MemoisedSubset, SubsetMechanism, SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.privacy.known_truth import alone_at_their_place, draw_words
from sfumato_papers.harness.outcomes import RecordFile
from sfumato_papers.harness.work import seed_of, tracked
from sfumato_papers.ldp_feat.recovery.lifts import EXACT, Settings

PRIORS = ("uniform", "frequency", "context")
_BLOCK = 64


def run_posterior(
    pictures: Mapping[str, Features],
    public: Sequence[Features],
    dictionary: Dictionary,
    settings: Settings,
    file: RecordFile,
) -> None:
    """Guess the true words of every picture: from Z alone, with frequencies, with context.

    public  pictures that frequencies and neighbouring words are learned from
    """
    for size in settings.num_words:
        level = dictionary.at(size)
        context: WordContext | None = None
        for name, features in tracked(pictures.items(), f"guessing among {size} words"):
            what: dict[str, Any] = {"picture": name, "num_words": size}
            file.once({"kind": "truth", **what}, partial(_true_words, level, features))
            for epsilon in settings.epsilons:
                for subset_size in settings.subset_sizes:
                    setting = {**what, "epsilon": epsilon, "subset_size": subset_size}
                    if all(file.has(kind="words", prior=prior, **setting) for prior in PRIORS):
                        continue
                    if context is None:
                        context = learn_context(
                            ((one.keypoints, level.nearest(one.descriptors)) for one in public),
                            size,
                        )
                    mechanism = SubsetMechanism(epsilon, subset_size, level)
                    _guess(features, mechanism, context, setting, settings.num_keypoints, file)


def _true_words(level: Dictionary, features: Features) -> dict[str, Any]:
    return {"words": level.nearest(features.descriptors).tolist()}


def _guess(
    features: Features,
    mechanism: SubsetMechanism,
    context: WordContext,
    setting: dict[str, Any],
    num_context: int,
    file: RecordFile,
) -> None:
    release, truth, _ = draw_words(features, mechanism, seed_of(*setting.values()))
    size = mechanism.dictionary.num_words
    laws = {"uniform": np.full(size, 1 / size), "frequency": context.frequency}
    everyone = np.arange(len(release))
    for prior, law in laws.items():
        guess = best_guess(release, everyone, law[None], 0)
        right = guess.words == truth
        file.add(_record(setting, prior, right, guess.probability))
    chosen = np.random.default_rng(0).permutation(len(release))[:num_context]
    hits, believed, chance, alone = [], [], [], []
    for start in range(0, len(chosen), _BLOCK):
        rows = chosen[start : start + _BLOCK]
        priors = context_priors(release, context, rows)
        guess = best_guess(release, rows, priors, 0)
        hits.append(guess.words == truth[rows])
        believed.append(guess.probability)
        alone.append(priors.argmax(axis=1) == truth[rows])
        chance.append(
            chance_accuracy(priors, truth[rows], mechanism.epsilon, mechanism.subset_size)
        )
    record = _record(setting, "context", np.concatenate(hits), np.concatenate(believed))
    record["chance"] = float(np.concatenate(chance).sum())
    record["alone"] = int(np.concatenate(alone).sum())
    file.add(record)


def _record(
    setting: dict[str, Any], prior: str, right: NDArray[np.bool_], believed: NDArray[np.float64]
) -> dict[str, Any]:
    return {
        "kind": "words",
        **setting,
        "prior": prior,
        "right": int(right.sum()),
        "total": len(right),
        "believed": float(believed.sum()),
    }


def run_repeats(
    pictures: Mapping[str, Features], words: Dictionary, settings: Settings, file: RecordFile
) -> None:
    """Release pictures again and again: fresh, memoised, charged to a ledger; and lifted twice."""
    mechanism = SubsetMechanism(settings.repeat_epsilon, settings.repeat_size, words)
    for name, features in tracked(pictures.items(), "repeating releases"):
        some = alone_at_their_place(
            features.take(np.arange(min(settings.num_keypoints, len(features))))
        )
        for kind in ("fresh", "memoised"):
            what = {"kind": "repeats", "picture": name, "mechanism": kind}
            if not file.has(**what, releases=max(settings.repeats)):
                _repeat_words(some, mechanism, kind, what, settings.repeats, file)
        for dimension in settings.dimensions:
            lifts = {"kind": "repeated lifts", "picture": name, "dimension": dimension}
            file.once(lifts, partial(_repeat_lifts, some, words, dimension))
        file.once({"kind": "ledger", "picture": name}, partial(_charge, some, mechanism))


def _repeat_words(
    features: Features,
    mechanism: SubsetMechanism,
    kind: str,
    what: dict[str, Any],
    counts: tuple[int, ...],
    file: RecordFile,
) -> None:
    plain = [
        draw_words(features, mechanism, seed_of(what["picture"], number))
        for number in range(max(counts) if kind == "fresh" else 1)
    ]
    truth = plain[0][1]
    releases = [release for release, _, _ in plain]
    if kind == "memoised":
        secret = seed_of(what["picture"]).to_bytes(8, "big") * 4  # an experiment's, not a session's
        session = MemoisedSubset(mechanism, secret)
        releases = [
            session.release(features, rng=SeededRandom(number)) for number in range(max(counts))
        ]
    for count in counts:
        vote = vote_words(releases[:count])
        right = vote.words == truth
        file.add(
            {
                **what,
                "releases": count,
                "total": len(truth),
                "right": int(right.sum()),
                "right_and_alone": int((right & vote.is_alone).sum()),
                "believed": float(vote.probability.sum()),
                "epsilon": mechanism.epsilon,
                "subset_size": mechanism.subset_size,
                "num_words": mechanism.dictionary.num_words,
            }
        )


def _repeat_lifts(features: Features, words: Dictionary, dimension: int) -> dict[str, Any]:
    mechanism = SubspaceLifting("sub-hybrid", dimension, words)
    lifts = [
        mechanism.release(features, rng=SeededRandom(seed_of(dimension, number)))
        for number in range(2)
    ]
    found = repeats_attack(lifts)
    truth = _by_place(features, lifts[0].keypoints)
    error = np.linalg.norm(found.descriptors - truth, axis=1)
    return {
        "total": len(error),
        "exact": int((error < EXACT).sum()),
        "certified": int(found.certified.sum()),
        "certified_wrong": int((found.certified & (error >= EXACT)).sum()),
    }


def _by_place(features: Features, keypoints: NDArray[np.float32]) -> NDArray[np.float64]:
    """Unit descriptors in the order of a release whose keypoints all lie at different places."""
    from scipy.spatial import cKDTree

    rows = cKDTree(features.keypoints).query(keypoints)[1]
    return unit_vectors(features.descriptors[rows])


def _charge(features: Features, mechanism: SubsetMechanism) -> dict[str, Any]:
    """How many releases leave under a cap of two pictures' budget."""
    event = mechanism.event(features)
    budget = (event.picture_epsilon or 0.0) * 2
    sent = 0
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger", session="experiment", caps=Caps(session=budget))
        try:
            while sent < 100:
                ledger.charge(event)
                sent += 1
        except BudgetSpent:
            pass
    return {"cap": budget, "sent": sent}
