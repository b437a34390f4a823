"""What an attacker sees of each keypoint, as one row of numbers: one encoder per input kind.

raw         a descriptor, as sent or as some recovery attack gives it back
positions   nothing but that there is a keypoint: the baseline
words       the m dictionary words of a private release, stacked
subspace    offset and basis of a lifted descriptor, stacked (the direct inversion attack)

A release holds no keypoint's size and angle, its frame. Four attackers differ in that:

none        does without
inferred    guesses each frame from the descriptor and its neighbours, see `keypoint_angles.py`
given       knows them: a declared, stronger attacker, for features only
either      reads features with the frames they come with, and infers those of a release; words
            too, each as a keypoint of its own, as certain as the law of the release says
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import check_frames
from sfumato.core.checks import check_choice
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato.features.extractors import EXTRACTORS

#: Certainty of inferred frames beside given ones, whose is 1.
INFERRED = 0.5
_WILD = 0.1
#: From this chance of the true word on, words are descriptors with some errors.
_MOSTLY = 0.5
_MOST_EPSILON = 700.0  # beyond it every word sent is the true one, and e^ε is no number

#: Columns that `with_frames` adds.
FRAME = 3

Source = Features | KeypointRelease
Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Encoded:
    """One picture as the network takes it: rows (N, C) and where each lies.

    scales and angles are there where the attacker was given them, or has inferred them.
    """

    rows: Rows
    keypoints: NDArray[np.float32]
    image_size: tuple[int, int]
    scales: NDArray[np.float32] | None = None
    angles: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, keep: NDArray[Any]) -> Encoded:
        """The same picture with only these keypoints."""
        scales = None if self.scales is None else self.scales[keep]
        angles = None if self.angles is None else self.angles[keep]
        return Encoded(self.rows[keep], self.keypoints[keep], self.image_size, scales, angles)


def encode(
    source: Source, kind: str, *, dictionary: Dictionary | None = None, frames: str = "none"
) -> Encoded:
    """Features or a release as rows of this input kind, with frames as this attacker has them."""
    check_choice("input kind", kind, ENCODERS)
    if frames == "either" and isinstance(source, WordRelease):
        return _each_word(source, dictionary)
    rows = ENCODERS[kind](source, dictionary)
    seen = Encoded(rows, source.keypoints, source.image_size)
    if check_frames(frames) == "none":
        return seen
    if frames == "either" and isinstance(source, Features):
        return with_frames(seen, source.scales, source.angles)
    if frames == "given":
        if not isinstance(source, Features):
            raise InvalidInput(
                "frames='given' needs features with scales and angles, a release carries neither; "
                "use frames='inferred'."
            )
        return with_frames(seen, source.scales, source.angles)
    if kind != "raw":
        raise InvalidInput(f"frames are inferred from descriptors; kind must be raw, not {kind}.")
    return infer(seen, source.extractor, INFERRED if frames == "either" else 1.0)


def as_released(features: Features) -> PlainRelease:
    """What is sent of features without protection: no size and no angle of a keypoint."""
    return PlainRelease(
        descriptors=features.descriptors,
        keypoints=features.keypoints,
        image_size=features.image_size,
        extractor=features.extractor,
        reproducible=True,
    )


def as_guessed(
    seen: Encoded,
    scales: NDArray[Any],
    angles: NDArray[Any],
    rng: np.random.Generator,
    certainty: float = INFERRED,
) -> Encoded:
    """Given frames, as wrong as those that `refine_frames` guesses of a release.

    Most are a tenth of an octave and a few degrees off; one in ten is a wild guess.
    """
    count = len(seen)
    wild = rng.random((2, count)) < _WILD
    octaves = np.where(wild[0], rng.normal(-0.3, 1, count), rng.laplace(0, 0.15, count))
    turns = np.where(wild[1], rng.uniform(-180, 180, count), rng.laplace(0, 5, count))
    bare = replace(seen, rows=seen.rows[:, :-FRAME], scales=None, angles=None)
    sizes = np.maximum(scales, 1) * np.exp2(octaves)
    return with_frames(bare, sizes, (angles + turns) % 360, certainty=certainty)


def infer(seen: Encoded, extractor: str, certainty: float | NDArray[Any] = 1.0) -> Encoded:
    """Rows of raw or recovered descriptors with the frames their neighbours give away."""
    from sfumato.adversary.invert.keypoint_angles import infer_frames

    frames = infer_frames(seen.rows, seen.keypoints, seen.image_size, extractor)
    return with_frames(seen, *frames, certainty=certainty)


def with_frames(
    seen: Encoded,
    scales: NDArray[Any],
    angles: NDArray[Any],
    *,
    certainty: float | NDArray[Any] = 1.0,
) -> Encoded:
    """Each row followed by log diameter, cosine and sine of the angle.

    certainty  length of (cosine, sine), one or one per row: a network for both kinds of frames
               must know which it is given
    """
    scales, angles = scales.astype(np.float32), angles.astype(np.float32)
    turn = np.deg2rad(np.maximum(angles, 0))
    cos, sin = certainty * np.cos(turn), certainty * np.sin(turn)
    own = np.stack([np.log2(np.maximum(scales, 1)), cos, sin], axis=1)
    rows = np.hstack([seen.rows, own.astype(np.float32)])
    return Encoded(rows, seen.keypoints, seen.image_size, scales, angles)


def scale_descriptors(descriptors: NDArray[Any], extractor: str) -> Rows:
    """Descriptors as numbers of order 1: square roots of whole numbers, bits as −1 and 1."""
    spec = EXTRACTORS.get(extractor)
    if spec is not None and spec.binary:
        bits = np.unpackbits(descriptors, axis=1).astype(np.float32)
        return np.asarray(bits * 2 - 1, dtype=np.float32)
    if descriptors.dtype == np.uint8:
        # A few bins of a SIFT hold most of its length; the root lets the others be seen.
        return np.asarray(np.sqrt(descriptors.astype(np.float32) / 255), dtype=np.float32)
    return np.asarray(
        unit_vectors(descriptors, np.float32) * np.sqrt(np.float32(descriptors.shape[1]))
    )


def _raw(source: Source, _dictionary: Dictionary | None) -> Rows:
    if not isinstance(source, Features | PlainRelease):
        raise InvalidInput(
            f"input kind raw needs features or a plain release, got {type(source).__name__}; "
            "recover descriptors first or choose another kind."
        )
    return scale_descriptors(source.descriptors, source.extractor)


def _positions(source: Source, _dictionary: Dictionary | None) -> Rows:
    return np.ones((len(source), 1), dtype=np.float32)


def _words(source: Source, dictionary: Dictionary | None) -> Rows:
    release, public = _worded(source, dictionary)
    return _joined(_word_rows(release, public))


def _each_word(source: Source, dictionary: Dictionary | None) -> Encoded:
    """Every word sent as a keypoint, its frame inferred from its own and its neighbours' words.

    How sure a frame is also tells how likely its word is the true one.
    """
    release, public = _worded(source, dictionary)
    words = _word_rows(release, public)
    seen = Encoded(
        words.reshape(len(release) * release.subset_size, words.shape[2]),
        np.repeat(release.keypoints, release.subset_size, axis=0),
        release.image_size,
    )
    return infer(seen, release.extractor, INFERRED * true_word_chance(release))


def true_word_chance(release: WordRelease) -> float:
    """Pr(v | v ∈ Z) = e^ε / (ω·e^ε + |K| − ω) of each word sent, for a prior that knows nothing."""
    size, odds = release.subset_size, math.exp(min(release.epsilon, _MOST_EPSILON))
    return odds / (size * odds + release.num_words - size)


def shows_frames(source: Source) -> bool:
    """Whether frames can be found by painting: most of the descriptors must be right."""
    if isinstance(source, WordRelease):
        return source.subset_size == 1 and true_word_chance(source) > _MOSTLY
    return not isinstance(source, Features)


def _worded(source: Source, dictionary: Dictionary | None) -> tuple[WordRelease, Dictionary]:
    """The release, and the level of the dictionary that it was made with."""
    if not isinstance(source, WordRelease):
        raise InvalidInput(f"input kind words needs a word release, got {type(source).__name__}.")
    if dictionary is None:
        raise InvalidInput("input kind words needs the public dictionary; pass dictionary=.")
    if source.num_words in dictionary.levels:
        dictionary = dictionary.at(source.num_words)
    if dictionary.fingerprint != source.dictionary:
        raise Mismatch("the release was made with another dictionary; load the one it names.")
    return source, dictionary


def _word_rows(release: WordRelease, public: Dictionary) -> Rows:
    """(N, ω, n): the vectors of the words sent."""
    sent = np.asarray(public.words)[release.words.reshape(-1)]
    rows = scale_descriptors(sent, public.extractor)
    return rows.reshape(*release.words.shape, rows.shape[1])


def _joined(rows: Rows) -> Rows:
    """(N, …) as (N, C), also where N is 0."""
    return rows.reshape(len(rows), math.prod(rows.shape[1:]))


def _subspace(source: Source, _dictionary: Dictionary | None) -> Rows:
    if not isinstance(source, SubspaceRelease):
        raise InvalidInput(
            f"input kind subspace needs a subspace release, got {type(source).__name__}."
        )
    offsets = unit_vectors(source.offsets, np.float32)
    size = np.sqrt(np.float32(offsets.shape[1]))
    # Bases are unit vectors: √n brings both parts to order 1.
    parts = [offsets, _joined(source.bases.astype(np.float32))]
    return np.asarray(np.hstack(parts) * size, dtype=np.float32)


ENCODERS: Mapping[str, Callable[[Source, Dictionary | None], Rows]] = MappingProxyType(
    {"raw": _raw, "positions": _positions, "words": _words, "subspace": _subspace}
)
