"""How well an attack did: what it recovered against the features that were released."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sfumato.adversary.recover.base import Recovered
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.positions import snap
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary

#: Distances of unit descriptors below which one is recovered, or nearly.
EXACT, CLOSE = 1e-3, 0.1
_SAME = 1e-6  # 1 − cosine of a word and itself, after rounding to float32
_BLOCK = 256  # descriptors compared with all words at a time

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Score:
    """What an attack recovered of one picture. Descriptors are compared at unit length.

    num_answers    recovered descriptors that lie at a keypoint of the picture
    coverage       the share of the picture's keypoints that they answer
    mean_distance  0 is the descriptor itself; two unrelated ones are about 1 apart
    mean_cosine    1 is the descriptor itself
    exact, close   the shares of answers nearer than 0.001 and 0.1
    right_word     the share of answers whose nearest word is the true one; None without dictionary

    >>> sf.attacks.Score(20, 1.0, 0.02, 0.99, exact=0.9, close=0.95).close
    0.95
    """

    num_answers: int
    coverage: float
    mean_distance: float
    mean_cosine: float
    exact: float
    close: float
    right_word: float | None = None

    def __repr__(self) -> str:
        word = "" if self.right_word is None else f", right word {self.right_word:.1%}"
        return (
            f"Score({self.num_answers} answers for {self.coverage:.1%} of the keypoints: "
            f"{self.exact:.1%} exact, {self.close:.1%} close, mean distance "
            f"{self.mean_distance:.3f}, mean cosine {self.mean_cosine:.3f}{word})"
        )


def score(
    recovered: Recovered, features: Features, *, dictionary: Dictionary | None = None
) -> Score:
    """Compare what an attack recovered with the truth, which only the device has.

    features    of the picture that was released; those that were left out lower the coverage
    dictionary  counts right words too

    The rows of a release are not in the order of the features: they are found again by their
    position on the grid that is sent. Where several keypoints share a position, the pairing that
    is best for the attack counts. Answers at no keypoint of the picture (decoys) count nowhere.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture, max_keypoints=8)
    >>> lifting = sf.SubspaceLifting("random", 2)
    >>> release = lifting.release(features, rng=sf.SeededRandom(1))
    >>> sf.score(sf.attacks.vertex(release), features).exact
    1.0
    """
    if len(recovered.keypoints) != len(recovered.descriptors):
        raise InvalidInput(
            "what was recovered has no positions; an attack must answer with "
            "Recovered(..., keypoints=release.keypoints)."
        )
    if recovered.descriptors.shape[1] != features.descriptors.shape[1]:
        raise Mismatch(
            f"the recovered descriptors are {recovered.descriptors.shape[1]}-D, the features "
            f"{features.descriptors.shape[1]}-D; give the features that were released."
        )
    guesses, truth = _unit(recovered.descriptors), _unit(features.descriptors)
    answers, rows = _pairs(recovered, features, guesses, truth)
    if not len(rows):
        raise Mismatch(
            f"none of the {len(recovered)} answers lies at one of the {len(features)} keypoints; "
            "give the features of the picture that was released."
        )
    distance = np.linalg.norm(guesses[answers] - truth[rows], axis=1)
    right = None
    if dictionary is not None:
        true = features.descriptors[rows]
        words = _words_of(guesses[answers], true, dictionary)
        right = float((words == dictionary.nearest(true)).mean())
    return Score(
        num_answers=len(answers),
        coverage=len(rows) / len(features),
        mean_distance=float(distance.mean()),
        mean_cosine=float(np.einsum("nd,nd->n", guesses[answers], truth[rows]).mean()),
        exact=float((distance < EXACT).mean()),
        close=float((distance < CLOSE).mean()),
        right_word=right,
    )


def _pairs(
    recovered: Recovered, features: Features, guesses: Doubles, truth: Doubles
) -> tuple[Rows, Rows]:
    """Rows of answers, and for each the row of the features at its position."""
    answers_at = _by_position(recovered.keypoints, features.image_size)
    features_at = _by_position(features.keypoints, features.image_size)
    pairs: list[tuple[int, int]] = []
    for place in answers_at.keys() & features_at.keys():
        answers, rows = answers_at[place], features_at[place]
        cosines = guesses[answers] @ truth[rows].T
        first, second = linear_sum_assignment(cosines, maximize=True)
        pairs += [(answers[i], rows[j]) for i, j in zip(first, second, strict=True)]
    found = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _by_position(
    keypoints: NDArray[np.float32], image_size: tuple[int, int]
) -> dict[tuple[int, ...], list[int]]:
    rows: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row, position in enumerate(snap(keypoints, image_size).tolist()):
        rows[tuple(position)].append(row)
    return rows


def _words_of(guesses: Doubles, true: NDArray[Any], dictionary: Dictionary) -> Rows:
    """The word that each answer is, or that is nearest to it at the length of the descriptor."""
    directions = _unit(dictionary.words)
    lengths = np.linalg.norm(true.astype(np.float64), axis=1, keepdims=True)
    scaled = guesses * lengths
    if true.dtype == np.uint8:
        scaled = np.clip(np.rint(scaled), 0, 255)
    words = dictionary.nearest(scaled.astype(true.dtype)).astype(np.int64)
    for start in range(0, len(guesses), _BLOCK):
        cosines = guesses[start : start + _BLOCK] @ directions.T
        is_word = cosines.max(axis=1) > 1 - _SAME
        words[start : start + _BLOCK][is_word] = cosines.argmax(axis=1)[is_word]
    return words


def _unit(rows: NDArray[Any]) -> Doubles:
    values = rows.astype(np.float64)
    lengths = np.linalg.norm(values, axis=1, keepdims=True)
    return np.asarray(values / np.where(lengths > 0, lengths, 1))
