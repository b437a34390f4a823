"""Descriptors that an attack gave back, in the form they were taken in.

Attacks answer with vectors of unit length. A network that was trained on an extractor's own
numbers must be given such numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.recover.base import Recovered
from sfumato.adversary.recover.vertex import SIFT_LENGTH
from sfumato.core.checks import check_shape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import KeypointRelease, PlainRelease, WordRelease
from sfumato.dictionary import Dictionary
from sfumato.features.extractors import EXTRACTORS


def as_sent_plainly(release: KeypointRelease, recovered: Recovered) -> PlainRelease:
    """What the release would have been without protection, if the attack were right."""
    if len(recovered) != len(release):
        raise Mismatch(
            f"the attack answers {len(recovered)} keypoints, the release has {len(release)}; "
            "give the answers of this release."
        )
    return _plain(release, in_own_numbers(recovered.descriptors, release.extractor))


def in_own_numbers(descriptors: NDArray[Any], extractor: str) -> NDArray[Any]:
    """Unit vectors (N, n) as the extractor would have written them."""
    spec = EXTRACTORS.get(extractor)
    if spec is None or spec.binary:
        raise InvalidInput(
            f"recovered descriptors of {extractor} cannot be written as it does; only those of "
            "real-valued extractors can."
        )
    if spec.dtype == "uint8":
        return np.asarray(np.clip(np.rint(descriptors * SIFT_LENGTH), 0, 255), dtype=np.uint8)
    return np.asarray(descriptors, dtype=np.float32)


def words_as_sent_plainly(
    release: WordRelease, guessed: NDArray[Any], dictionary: Dictionary
) -> PlainRelease:
    """The same for words: each keypoint with the descriptor of the word it is taken for.

    guessed     (N,) words, for instance of `guess_words`
    dictionary  the one the release was made with
    """
    if dictionary.fingerprint != release.dictionary:
        raise Mismatch("the release was made with another dictionary; load the one it names.")
    words = np.asarray(guessed)
    check_shape("guessed", words, (len(release),))
    return _plain(release, np.asarray(dictionary.words)[words])


def _plain(release: KeypointRelease, descriptors: NDArray[Any]) -> PlainRelease:
    return PlainRelease(
        descriptors=descriptors,
        keypoints=release.keypoints,
        image_size=release.image_size,
        extractor=release.extractor,
        reproducible=release.reproducible,
    )
