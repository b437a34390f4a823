"""Affine subspace lifting: each descriptor hides in a subspace. No guarantee exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number, check_choice, check_count, check_same_extractor
from sfumato.core.defaults import LIFT_STRATEGIES
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import RandomSource, check_source, draw_distinct
from sfumato.core.releases import SubspaceRelease
from sfumato.core.types import NOT_PROTECTED, Camera, Features, PrivacyEvent
from sfumato.device.mechanisms.base import release_fields
from sfumato.dictionary import Dictionary

Doubles = NDArray[np.float64]

STRATEGIES = LIFT_STRATEGIES
PRECISIONS = ("float32", "float16")

#: Why the audit of a lifting has nothing to measure.
NO_EPSILON = (
    "a lifted descriptor lies in the subspace that is sent, so no likelihood ratio bounds what a "
    "server learns; known attacks recover most descriptors"
)

_DEPENDENT = 1e-6  # a direction this much inside the span of the others is drawn again
_REDRAWS = 20


@dataclass(frozen=True)
class SubspaceLifting:
    """No guarantee: send an m-dimensional affine subspace through each descriptor [affine §3].

    strategy           where the m directions of the subspace come from:
      random           uniform in [−1, 1]ⁿ
      adversarial      from the descriptor to words of the database, m different ones
      hybrid           the first ⌊m/2⌋ adversarial, the others random
      sub-adversarial, sub-hybrid: the same, but all words of one picture come from one of
                       `num_sub_databases` equal parts of the database, chosen once per picture
    dimension          m. A line meets the unit sphere in two points, the descriptor and one
                       other, so m = 1 is refused unless `allow_line` is set
    database           a Dictionary; random lifting needs none
    precision          of the numbers sent: float32, or float16 at half the payload
    dither             expected length of noise that is added to a descriptor (of length one) before
                       it is lifted. From .1 on it takes away the whole numbers and zeros that the
                       vertex attack lives on; other attacks do not need them

    Descriptors are brought to length one. What is sent is a random point of the subspace and a
    random orthonormal basis of it, which depend on the subspace alone, not on where in it the
    descriptor lies. Most SIFT descriptors are nevertheless recovered exactly by the vertex
    attack (docs/vertex-attack.md), and two lifts of one descriptor meet in it.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> sf.SubspaceLifting("random", 2).release(features, rng=sf.SecureRandom())
    SubspaceRelease(16 keypoints, 2-dimensional subspaces, no guarantee)
    """

    strategy: str
    dimension: int  # m
    database: Dictionary | None = None
    num_sub_databases: int = 16
    precision: str = "float32"
    allow_line: bool = False
    dither: float = 0.0

    no_epsilon: ClassVar[str] = NO_EPSILON

    def __post_init__(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        if self.precision not in PRECISIONS:
            raise InvalidInput(f"precision must be float32 or float16, got {self.precision!r}.")
        if not 0 <= as_number("dither", self.dither) <= 1:
            raise InvalidInput(
                f"dither must be between 0 and 1, the length of a descriptor, got {self.dither!r}."
            )
        check_count("dimension", self.dimension, low=1)
        if self.dimension == 1 and not self.allow_line:
            raise InvalidInput(
                "dimension must be at least 2, got 1; a line meets the unit sphere in two points "
                "and one of them is the descriptor. allow_line=True lifts to a line all the same."
            )
        if self.num_adversarial:
            self._check_database()

    @property
    def num_adversarial(self) -> int:
        """How many of the directions point to words of the database."""
        if self.strategy == "random":
            return 0
        return self.dimension if self.strategy.endswith("adversarial") else self.dimension // 2

    @property
    def num_random(self) -> int:
        return self.dimension - self.num_adversarial

    def event(self, features: Features) -> PrivacyEvent:
        self._check_features(features)
        return PrivacyEvent(
            mechanism=f"lifting ({self.strategy}, m = {self.dimension})",
            epsilon=None,
            num_units=len(features),
            unit="one descriptor",
            not_protected=("the descriptors, against known attacks", *NOT_PROTECTED),
        )

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> SubspaceRelease:
        source = check_source(rng)
        self._check_features(features)
        offsets, bases = self.lift(features.descriptors, source)
        return SubspaceRelease(
            offsets=offsets.astype(self.precision),
            bases=bases.astype(self.precision),
            **release_fields(features, camera, source),
        )

    def lift(self, descriptors: NDArray[Any], source: RandomSource) -> tuple[Doubles, Doubles]:
        """Subspaces of the descriptors of one picture: (N, n) → (N, n), (N, m, n).

        In double precision to the end: rounding then knows the subspace and nothing else.
        """
        units = unit_vectors(descriptors)
        if self.dither:
            spread = self.dither / np.sqrt(units.shape[1])
            units = unit_vectors(units + spread * source.normal(units.shape))
        words = self._words_of_one_picture(source)
        basis = np.empty((len(units), self.dimension, units.shape[1]))
        pending = np.arange(len(units))
        for _ in range(_REDRAWS):
            directions = self._draw_directions(units[pending], words, source)
            basis[pending], independent = orthonormal_rows(directions)
            pending = pending[~independent]
            if not len(pending):
                return _forget_parameters(units, basis, source)
        raise InvalidInput(
            f"{len(pending)} descriptors got no {self.dimension} independent directions in "
            f"{_REDRAWS} draws; the database needs more words that differ from each other."
        )

    def _draw_directions(
        self, units: Doubles, words: NDArray[Any] | None, source: RandomSource
    ) -> Doubles:
        count, ambient = units.shape
        directions = np.empty((count, self.dimension, ambient))
        if words is not None:
            for i, column in enumerate(self._draw_rows(len(words), count, source)):
                directions[:, i] = unit_vectors(words[column]) - units
        drawn = source.uniform((count, self.num_random, ambient))
        directions[:, self.num_adversarial :] = drawn
        return directions

    def _draw_rows(
        self, num_words: int, count: int, source: RandomSource
    ) -> list[NDArray[np.uint32]]:
        """For each of `count` subspaces its different words, as columns of rows."""
        return draw_distinct(num_words, self.num_adversarial, count, source)

    def _words_of_one_picture(self, source: RandomSource) -> NDArray[Any] | None:
        if self.database is None or not self.num_adversarial:
            return None
        if not self.strategy.startswith("sub-"):
            return self.database.words
        part = int(source.below(self.num_sub_databases, 1)[0])
        return self.database.sub_databases(self.num_sub_databases)[part]

    def _check_database(self) -> None:
        if self.database is None:
            raise InvalidInput(
                f"{self.strategy} lifting needs database=, a Dictionary of public words; only "
                "random lifting does without."
            )
        if self.database.metric != "l2":
            raise InvalidInput(
                f"lifting needs real-valued descriptors, the database holds packed bits of "
                f"{self.database.extractor}."
            )
        available, part = self.database.num_words, ""
        if self.strategy.startswith("sub-"):
            available = len(self.database.sub_databases(self.num_sub_databases)[0])
            part = f" in each of {self.num_sub_databases} sub-databases"
        if available < self.num_adversarial:
            raise InvalidInput(
                f"{self.strategy} lifting to {self.dimension} dimensions needs at least "
                f"{self.num_adversarial} words{part}, got {available}."
            )

    def _check_features(self, features: Features) -> None:
        if self.database is not None:
            check_same_extractor(
                "the database", self.database.extractor, "the picture", features.extractor
            )
        from sfumato.features import EXTRACTORS  # late: mechanisms stay light

        spec = EXTRACTORS.get(features.extractor)
        if spec is not None and spec.binary:
            raise InvalidInput(
                f"lifting needs real-valued descriptors, {features.extractor} gives packed bits."
            )
        ambient = features.descriptors.shape[1]
        check_count(
            "dimension",
            self.dimension,
            low=1,
            high=ambient - 1,
            why=f"a subspace of that many dimensions fills the space of {ambient}-D descriptors",
        )
        empty = int((~features.descriptors.any(axis=1)).sum())
        if empty:
            raise InvalidInput(
                f"descriptors must not be zero, {empty} of {len(features)} are and have no "
                "direction; drop those keypoints first."
            )


def orthonormal_rows(directions: Doubles) -> tuple[Doubles, NDArray[np.bool_]]:
    """Orthonormal bases of many row spaces at once, (N, m, n), and which of them are sound.

    Gram–Schmidt, each row twice against those before it, vectorised over N: exact to the last
    bits of double precision, and several times faster than one LAPACK call per descriptor. A
    row that lies in the span of the earlier ones is not sound.
    """
    basis = np.empty_like(directions)
    sound = np.ones(len(directions), dtype=np.bool_)
    for i in range(directions.shape[1]):
        row = directions[:, i].copy()
        length = _lengths(row)
        earlier = basis[:, :i]
        for _ in range(2 if i else 0):
            inside = np.matmul(earlier, row[:, :, None])
            row -= np.matmul(inside.transpose(0, 2, 1), earlier)[:, 0]
        left = _lengths(row)
        sound &= left > _DEPENDENT * np.maximum(length, _DEPENDENT)
        np.divide(row, np.where(left > 0, left, 1)[:, None], out=basis[:, i])
    return basis, sound


def _forget_parameters(
    units: Doubles, basis: Doubles, source: RandomSource
) -> tuple[Doubles, Doubles]:
    """The same subspaces through a random point and with a random basis.

    d0 = projection of a random point r0; basis = projections of m random points, minus d0,
    orthonormalised. (The text of ldp-feat forgets the −d0.) In coordinates of the subspace the
    projection of r is D·r; for normal points these m numbers are normal again whatever D is,
    so they are drawn directly: the same law, without the n-dimensional points.
    """
    count, dimension, _ = basis.shape
    along = np.matmul(basis, units[:, :, None])  # D·d
    points = source.normal((count, dimension + 1, dimension))  # D·r, one row per point
    first = points[:, :1]
    offsets = units + np.matmul(first - along.transpose(0, 2, 1), basis)[:, 0]
    turned, sound = orthonormal_rows(points[:, 1:] - first)
    # A random m×m matrix is singular with probability zero; one that is keeps its old basis.
    turned[~sound] = np.eye(dimension)
    return offsets, np.matmul(turned, basis)


def _lengths(rows: Doubles) -> Doubles:
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", rows, rows)))
