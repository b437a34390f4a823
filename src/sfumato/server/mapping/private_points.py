"""What a map keeps of the releases it was built from, so that others can be localized in it.

A track is a vote. The more pictures of one point were released, the more the server knows about
it: of words the one that most of them sent, of subspaces the point where they almost meet. This is
what makes such a map useful, and it is an attack: k views of one point of the scene cost k·ε
about that point, and two lifted views already leave little to hide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.geometry import unit_vectors
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.features.extractors import EXTRACTORS
from sfumato.matching.vocabulary import InvertedIndex

Rows = NDArray[np.int64]

_BATCH = 64  # tracks solved at a time: a 128 × 128 system each
#: Descriptors of whole numbers are stored by OpenCV at this length; others at length one.
_WHOLE_NUMBER_LENGTH = 512.0


def descriptors_for_map(
    releases: Sequence[KeypointRelease], seen: NDArray[np.int32]
) -> NDArray[Any]:
    """(F, D) for `Map.descriptors`, features in the order of the releases.

    Raw descriptors as they are; for subspaces the estimate of each point, at all of its
    features; for words the words that were sent, which only `file_under_words` gives a meaning.
    """
    first = releases[0]
    if isinstance(first, SubspaceRelease):
        spaces = [release for release in releases if isinstance(release, SubspaceRelease)]
        length = 1.0
        known = EXTRACTORS.get(first.extractor)
        if known is not None and known.dtype == "uint8":
            length = _WHOLE_NUMBER_LENGTH
        return length * meeting_points(
            np.concatenate([release.offsets for release in spaces]),
            np.concatenate([release.bases for release in spaces]),
            seen,
        )
    if isinstance(first, WordRelease):
        return np.concatenate(
            [release.words for release in releases if isinstance(release, WordRelease)]
        )
    return np.concatenate(
        [release.descriptors for release in releases if isinstance(release, PlainRelease)]
    )


def file_under_words(releases: Sequence[WordRelease], seen: NDArray[np.int32]) -> InvertedIndex:
    """Observations filed under the words their tracks voted for.

    A word that at least two features of a track sent is elected; a track that agrees on none is
    filed under every word it was sent. Every observation of a point goes under each of its words.
    """
    words = np.concatenate([release.words for release in releases]).astype(np.int64)
    num_words = releases[0].num_words
    rows = np.flatnonzero(seen >= 0)
    ballot = seen[rows, None].astype(np.int64) * num_words + words[rows]
    chosen, votes = np.unique(ballot.reshape(-1), return_counts=True)
    point, word = chosen // num_words, chosen % num_words
    most = np.zeros(int(point[-1]) + 1 if len(point) else 0, dtype=np.int64)
    np.maximum.at(most, point, votes)
    elected = (votes >= 2) | (most[point] < 2)
    point, word = point[elected], word[elected]
    of_point = InvertedIndex.build(seen[rows].astype(np.int64), rows, len(most))
    which, feature = of_point.lookup(point[:, None])
    return InvertedIndex.build(word[which], feature, num_words)


def meeting_points(
    offsets: NDArray[Any], bases: NDArray[Any], seen: NDArray[np.int32]
) -> NDArray[np.float32]:
    """(F, n) of length one: where the subspaces of each track almost meet, 0 off all tracks.

    x = argmin Σ ‖(I − DᵀD)(x − d0)‖² over the track. An attack on lifting as much as a way to
    make a map: views of one point are lifts of nearly one descriptor.
    """
    count, ambient = offsets.shape
    found = np.zeros((count, ambient), dtype=np.float32)
    rows = np.flatnonzero(seen >= 0)
    rows = rows[np.argsort(seen[rows], kind="stable")]
    points, start = np.unique(seen[rows], return_index=True)
    stop = np.append(start[1:], len(rows))
    for low in range(0, len(points), _BATCH):
        high = min(low + _BATCH, len(points))
        here = rows[start[low] : stop[high - 1]]
        owner = np.repeat(np.arange(high - low), stop[low:high] - start[low:high])
        basis = bases[here].astype(np.float64)
        offset = offsets[here].astype(np.float64)
        offset -= np.einsum("fmn,fm->fn", basis, np.einsum("fmn,fn->fm", basis, offset))
        # Σ (I − DᵀD) = k·I − Σ DᵀD; what lies along all subspaces alike stays undecided, and a
        # little weight pulls it to zero.
        normal = np.zeros((high - low, ambient, ambient))
        np.subtract.at(normal, owner, np.einsum("fma,fmb->fab", basis, basis))
        views = np.bincount(owner, minlength=high - low)
        normal[:, range(ambient), range(ambient)] += views[:, None] + 1e-6
        pull = np.zeros((high - low, ambient))
        np.add.at(pull, owner, offset)
        point = np.linalg.solve(normal, pull[:, :, None])[:, :, 0]
        found[here] = unit_vectors(point)[owner]
    return found
