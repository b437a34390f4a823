"""The inlier attack: what a server learns from its own localization. [ldp-feat, S3.3]

A keypoint that agrees with a pose was matched to a point of the map rightly. The server knows that
point's descriptor: it now knows the patch of the query too, at these keypoints. This is no
weakness of a mechanism: whoever can be localized shows what the map already holds. What the map
does not hold, people and things that came later, gives no inliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered, with_keypoints
from sfumato.adversary.recover.bounds import uniform_accuracy
from sfumato.adversary.recover.geometry import Lifted
from sfumato.adversary.recover.posterior import dictionary_of, guess_words
from sfumato.core.checks import as_number, check_finite, check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import Release, SubspaceRelease, WordRelease
from sfumato.dictionary import Dictionary

Doubles = NDArray[np.float64]


@with_keypoints
def inliers_attack(
    release: Release,
    *,
    rows: NDArray[Any],
    matched: NDArray[Any],
    false_inliers: float = 0.0,
    dictionary: Dictionary | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Recovered:
    """Answer every inlier with what the map knows of its point.

    Words: the true word is very likely the map's, and the map's descriptor is nearer to the
    query's than the word is. Subspaces: d̂ is the projection of the map's descriptor on D, at unit
    length. Keypoints without a match: the posterior's guess, or any point of D at confidence 0.

    rows           (M,) rows of the release that are inliers
    matched        (M, n) the map's descriptor of the point each was matched to
    false_inliers  how many inliers chance would give, from the pose's own test
    dictionary     the public words; for words only
    Confidence of an inlier: 1 − share of false inliers.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> words = sf.Dictionary.load("bsds-16k")
    >>> release = sf.SubsetMechanism(8, 2, words).release(features, rng=sf.SeededRandom(1))
    >>> matched = words.words[:2]  # what the map has at the first two keypoints
    >>> sf.attacks.inliers(release, rows=np.arange(2), matched=matched, dictionary=words)
    Recovered(16 descriptors, 0 certified)
    """
    if not isinstance(release, WordRelease | SubspaceRelease):
        raise InvalidInput(
            "the inliers attack needs a release of words or subspaces, got one of "
            f"{getattr(release, 'kind', type(release).__name__)}."
        )
    inliers, map_descriptors = _check_matches(release, rows, matched)
    share = min(as_number("false_inliers", false_inliers) / max(len(inliers), 1), 1.0)
    if not share >= 0:
        raise InvalidInput(f"false_inliers must be at least 0, got {false_inliers!r}.")
    if isinstance(release, WordRelease):
        if dictionary is None:
            raise InvalidInput("the other keypoints need the dictionary of the words; give it.")
        public = dictionary_of(release, dictionary)
        guess = guess_words(release, seed=seed)
        descriptors = unit_vectors(public.words[guess.words])
        confidence = guess.probability.copy()
        descriptors[inliers] = map_descriptors
        by_luck = uniform_accuracy(release.epsilon, release.num_words, release.subset_size)
        confidence[inliers] = 1 - share + share * by_luck
    else:
        lifted = Lifted.of(release)
        descriptors = lifted.on_sphere(lifted.points + lifted.bases[:, 0])
        descriptors[inliers] = lifted.take(inliers).on_sphere(map_descriptors)
        confidence = np.zeros(len(release))
        confidence[inliers] = 1 - share
    progress("reading the inliers", len(inliers), len(inliers))
    return Recovered(descriptors.astype(np.float32), confidence.astype(np.float32))


def _check_matches(
    release: WordRelease | SubspaceRelease, rows: NDArray[Any], matched: NDArray[Any]
) -> tuple[NDArray[np.int64], Doubles]:
    inliers = np.asarray(rows)
    check_shape("rows", inliers, (None,))
    map_descriptors = np.asarray(matched, dtype=np.float64)
    check_shape("matched", map_descriptors, (len(inliers), None))
    check_finite("matched", map_descriptors)
    total = len(release)
    if len(inliers) and not (
        inliers.dtype.kind in "iu" and inliers.min() >= 0 and inliers.max() < total
    ):
        raise InvalidInput(f"rows must be whole numbers below {total}, the keypoints there are.")
    if len(np.unique(inliers)) != len(inliers):
        raise InvalidInput("rows must name each inlier once, some come twice.")
    return inliers.astype(np.int64), unit_vectors(map_descriptors)
