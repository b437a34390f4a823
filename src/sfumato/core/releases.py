"""Every kind of release: what leaves the device, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import (
    check_count,
    check_epsilon,
    check_fingerprint,
    check_indices,
    check_shape,
)
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import check_extractor_name, frozen_array
from sfumato.core.release_base import KeypointRelease as KeypointRelease
from sfumato.core.release_base import Release as Release
from sfumato.core.text import epsilon_text
from sfumato.core.vector_release import VectorRelease as VectorRelease

MAX_WORDS = 1 << 24
MAX_DIMENSION = 1 << 14


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PlainRelease(KeypointRelease):
    """No guarantee: the raw descriptors, as most systems send them today.

    >>> features = sf.extract(np.zeros((9, 9), dtype=np.uint8))  # a blank picture
    >>> sf.Plain().release(features, rng=sf.SecureRandom())
    PlainRelease(0 keypoints, raw sift descriptors, not private)
    """

    descriptors: NDArray[Any]

    kind: ClassVar[str] = "plain"
    _row_fields: ClassVar[tuple[str, ...]] = ("descriptors",)

    def _check_rows(self, count: int) -> None:
        values = np.asarray(self.descriptors)
        dtype = np.uint8 if values.dtype == np.uint8 else np.float32
        descriptors = frozen_array("descriptors", values, dtype)
        check_shape("descriptors", descriptors, (count, None))
        check_count("descriptor dimension", descriptors.shape[1], low=1, high=MAX_DIMENSION)
        self._set("descriptors", descriptors)

    def _describe(self) -> str:
        return f", raw {self.extractor} descriptors, not private"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class WordRelease(KeypointRelease):
    """Each keypoint carries ω words of a public dictionary; the true one is likely among them.

    words      (N, ω) uint32, each row strictly increasing
    num_words  |K|, the size of the dictionary
    epsilon    the guarantee per descriptor; ∞ means quantised, not private

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> sf.Quantize(sf.Dictionary.load("bsds-16k")).release(features, rng=sf.SecureRandom())
    WordRelease(16 keypoints × 1 of 16384 words, no ε, sent without noise)
    """

    words: NDArray[np.uint32]
    num_words: int
    dictionary: str  # fingerprint, 64 hexadecimal digits
    epsilon: float

    kind: ClassVar[str] = "words"
    _row_fields: ClassVar[tuple[str, ...]] = ("words",)

    @property
    def subset_size(self) -> int:
        return int(self.words.shape[1])

    def _check_rows(self, count: int) -> None:
        self._set("epsilon", check_epsilon(self.epsilon, allow_infinite=True))
        self._set("num_words", check_count("num_words", self.num_words, low=2, high=MAX_WORDS))
        self._set("dictionary", check_fingerprint(self.dictionary))
        words = check_indices("words", self.words, self.num_words)
        check_shape("words", words, (count, None))
        size = check_count("subset_size", words.shape[1], low=1, high=self.num_words - 1)
        words = frozen_array("words", words, np.uint32)
        if size > 1 and not (words[:, 1:] > words[:, :-1]).all():
            raise InvalidInput("every row of words must be strictly increasing.")
        self._set("words", words)

    def _describe(self) -> str:
        bound = epsilon_text(self.epsilon, "descriptor")
        return f" × {self.subset_size} of {self.num_words} words, {bound}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CandidateRelease(KeypointRelease):
    """The paper's naive baseline: ω whole descriptors per keypoint, hardly ever the true one.

    candidates (N, ω, D) uint8, each row's descriptors strictly increasing byte by byte
    """

    candidates: NDArray[np.uint8]
    epsilon: float

    kind: ClassVar[str] = "candidates"
    _row_fields: ClassVar[tuple[str, ...]] = ("candidates",)

    @property
    def subset_size(self) -> int:
        return int(self.candidates.shape[1])

    def _check_rows(self, count: int) -> None:
        self._set("epsilon", check_epsilon(self.epsilon))
        candidates = np.asarray(self.candidates)
        if candidates.dtype != np.uint8:
            raise InvalidInput(f"candidates must be uint8, got {candidates.dtype}.")
        check_shape("candidates", candidates, (count, None, None))
        check_count("subset_size", candidates.shape[1], low=1, high=MAX_DIMENSION)
        check_count("descriptor dimension", candidates.shape[2], low=1, high=MAX_DIMENSION)
        candidates = frozen_array("candidates", candidates, np.uint8)
        keys = candidates.view(f"S{candidates.shape[2]}")[:, :, 0]
        if keys.shape[1] > 1 and not (keys[:, 1:] > keys[:, :-1]).all():
            raise InvalidInput("every row of candidates must be strictly increasing.")
        self._set("candidates", candidates)

    def _describe(self) -> str:
        return f" × {self.subset_size} candidates, {epsilon_text(self.epsilon, 'descriptor')}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SubspaceRelease(KeypointRelease):
    """Each keypoint carries an affine subspace through its descriptor. No guarantee exists.

    offsets  (N, n)    float32 or float16, a point of the subspace
    bases    (N, m, n) the same type, orthonormal rows

    >>> features = sf.extract(np.zeros((9, 9), dtype=np.uint8))  # a blank picture
    >>> sf.SubspaceLifting("random", 2).release(features, rng=sf.SecureRandom())
    SubspaceRelease(0 keypoints, 2-dimensional subspaces, no guarantee)
    """

    offsets: NDArray[Any]
    bases: NDArray[Any]

    kind: ClassVar[str] = "subspaces"
    _row_fields: ClassVar[tuple[str, ...]] = ("offsets", "bases")

    @property
    def dimension(self) -> int:
        return int(self.bases.shape[1])

    def _check_rows(self, count: int) -> None:
        dtype = np.float16 if np.asarray(self.offsets).dtype == np.float16 else np.float32
        offsets = frozen_array("offsets", self.offsets, dtype)
        bases = frozen_array("bases", self.bases, dtype)
        check_shape("offsets", offsets, (count, None))
        ambient = check_count("ambient dimension", offsets.shape[1], low=2, high=MAX_DIMENSION)
        check_shape("bases", bases, (count, None, ambient))
        check_count("subspace dimension", bases.shape[1], low=1, high=ambient - 1)
        wide = bases.astype(np.float32)
        # Hostile values may overflow here; the comparison below then refuses them.
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(wide @ wide.transpose(0, 2, 1) - np.eye(wide.shape[1], dtype=np.float32))
        if not (error < (0.02 if dtype == np.float16 else 1e-3)).all():
            raise InvalidInput("every basis must have orthonormal rows.")
        self._set("offsets", offsets)
        self._set("bases", bases)

    def _describe(self) -> str:
        return f", {self.dimension}-dimensional subspaces, no guarantee"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CodeRelease(Release):
    """Randomized codes of one picture, for classification.

    codes      (k,) uint32 in {0, …, num_values − 1}
    positions  (k,) uint32, strictly increasing, in {0, …, num_positions − 1}
    epsilon    the guarantee per code; k codes compose to k·ε. The label is not protected.
    """

    codes: NDArray[np.uint32]
    positions: NDArray[np.uint32]
    num_values: int
    num_positions: int
    epsilon: float
    encoder: str
    label: int | None = field(default=None)

    kind: ClassVar[str] = "codes"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("epsilon", check_epsilon(self.epsilon, allow_infinite=True))
        self._set("encoder", check_extractor_name(self.encoder))
        check_count("num_values", self.num_values, low=2, high=MAX_WORDS)
        check_count("num_positions", self.num_positions, low=1, high=MAX_WORDS)
        if self.label is not None:
            check_count("label", self.label, low=0, high=(1 << 31) - 1)
        for name, limit in (("codes", self.num_values), ("positions", self.num_positions)):
            values = check_indices(name, getattr(self, name), limit)
            check_shape(name, values, (None,))
            self._set(name, frozen_array(name, values, np.uint32))
        if len(self.codes) != len(self.positions):
            raise InvalidInput(
                f"codes and positions must be of one length, got {len(self.codes)} and "
                f"{len(self.positions)}."
            )
        if not (self.positions[1:] > self.positions[:-1]).all():
            raise InvalidInput("positions must be strictly increasing.")

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return (
            f"CodeRelease({len(self)} of {self.num_positions} codes in [{self.num_values}], "
            f"{epsilon_text(self.epsilon, 'code')})"
        )
