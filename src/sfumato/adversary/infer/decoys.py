"""Can decoys be distinguished from keypoints? An attacker who knows how they are made tries to.

The filter is public, so the attacker runs it on pictures of their own, where they know which
keypoints are decoys, and learns what gives them away: positions relative to each other, and how
common the words are that were sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.releases import KeypointRelease, WordRelease

_NEIGHBOURS = 8
_RADII = (0.01, 0.02, 0.04, 0.08)  # shares of the longer side


@dataclass(frozen=True, eq=False)
class DecoyAttack:
    """A classifier of keypoints, learned from releases whose decoys are known.

    commonness  (|K|,) the logarithm of how often each word was sent by true keypoints and by
                decoys, as a ratio; None where releases carry no words
    """

    classifier: Any
    commonness: NDArray[np.float64] | None

    def scores(self, release: KeypointRelease) -> NDArray[np.float64]:
        """(N,) how likely each keypoint of a release is a decoy, 0 … 1."""
        if not len(release):
            return np.zeros(0)
        rows = describe(release, self.commonness)
        return np.asarray(self.classifier.predict_proba(rows)[:, 1], dtype=np.float64)


def learn_decoys(
    releases: Sequence[KeypointRelease],
    are_decoys: Sequence[NDArray[np.bool_]],
    *,
    use_words: bool = True,
    seed: int = 0,
) -> DecoyAttack:
    """Learn from the attacker's own releases, each with (N,) what is a decoy in it.

    Words are weighed on one half of the releases and the classifier is learned on the other, so
    that it does not trust weights that saw its own labels.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    truth = [np.asarray(row, dtype=np.bool_) for row in are_decoys]
    if len(releases) != len(truth) or any(
        len(release) != len(row) for release, row in zip(releases, truth, strict=False)
    ):
        raise InvalidInput("each release needs one label for each of its keypoints.")
    if not truth or len(np.unique(np.concatenate(truth))) < 2:
        raise InvalidInput("the releases must hold both keypoints and decoys to learn from.")
    words = use_words and isinstance(releases[0], WordRelease) and len(releases) > 1
    commonness = _commonness(releases[::2], truth[::2]) if words else None
    rest = slice(1, None, 2) if words else slice(None)
    rows = np.concatenate([describe(release, commonness) for release in releases[rest]])
    labels = np.concatenate(truth[rest])
    classifier = HistGradientBoostingClassifier(max_iter=120, random_state=seed)
    classifier.fit(rows, labels)
    return DecoyAttack(classifier, commonness)


def describe(
    release: KeypointRelease, commonness: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """(N, F) what can be measured about each keypoint from the release alone."""
    from scipy.spatial import KDTree

    longest = max(release.image_size)
    points = np.asarray(release.keypoints, dtype=np.float64)
    tree = KDTree(points)
    count = min(_NEIGHBOURS + 1, len(points))
    gaps = np.full((len(points), _NEIGHBOURS), float(longest))
    distances = tree.query(points, k=count)[0].reshape(len(points), count)[:, 1:]
    gaps[:, : distances.shape[1]] = distances
    near = [tree.query_ball_point(points, share * longest, return_length=True) for share in _RADII]
    spacing = longest / np.sqrt(max(len(points), 1))
    columns = [gaps / spacing, np.stack(near, axis=1), points / np.array(release.image_size)]
    # A corner stands on an edge: where two neighbours lie relative to it.
    columns.append(gaps[:, :1] / np.maximum(gaps[:, 3:4], 1e-3))
    if commonness is not None and isinstance(release, WordRelease):
        weights = commonness[release.words]
        columns.append(np.stack([weights.max(axis=1), weights.mean(axis=1)], axis=1))
    return np.hstack([np.asarray(column, dtype=np.float64) for column in columns])


def _commonness(
    releases: Sequence[KeypointRelease], truth: Sequence[NDArray[np.bool_]]
) -> NDArray[np.float64]:
    """log of (how often keypoints sent a word)/(how often decoys did), smoothed by a prior."""
    size = max(r.num_words for r in releases if isinstance(r, WordRelease))
    totals = np.zeros((2, size))
    for release, labels in zip(releases, truth, strict=True):
        if isinstance(release, WordRelease):
            for decoy in (False, True):
                np.add.at(totals[int(decoy)], release.words[labels == decoy].ravel(), 1.0)
    shares = (totals + 1) / (totals + 1).sum(axis=1, keepdims=True)
    return np.asarray(np.log(shares[0]) - np.log(shares[1]))


def area_under_curve(scores: NDArray[Any], truth: NDArray[np.bool_]) -> float:
    """The chance that a decoy is scored above a keypoint: ½ is guessing, 1 is certainty."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(truth)) < 2:
        raise InvalidInput("an area under the curve needs both keypoints and decoys.")
    return float(roc_auc_score(truth, scores))
