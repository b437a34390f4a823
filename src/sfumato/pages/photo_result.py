"""What the attacks made of one photograph, before anybody formats it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.metrics import Similarity
from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.defaults import DEFAULT_SUBSET_SIZE
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features, PrivacyEvent
from sfumato.dictionary import Dictionary

#: How descriptors are sent: as they are, lifted to subspaces, or as random words.
RAW, LIFTED, WORDS = "raw", "lifted", "words"

#: Attacks that give descriptors back from subspaces, and what each knows beside the release.
RECOVERIES = {
    "nearest": "other public descriptors",
    "clustering": "other public descriptors",
    "database": "the words of the lifting",
    "vertex": "nothing else",
}
#: No descriptors in between: a network trained on what is sent.
DIRECT = "direct"

#: Pixels a side that a photograph must have.
SMALLEST = 16


@dataclass(frozen=True)
class PhotoSettings:
    """What is sent and attacked.

    dimensions     m of the lifting, with every attack of `attacks`
    epsilons       per descriptor, of the words
    subset_size    ω, words sent per descriptor
    max_side       larger photographs are scaled down to this before anything else
    max_keypoints  only the strongest
    seed           of every draw: the same photograph gives the same page again
    """

    extractor: str = "sift"
    dimensions: tuple[int, ...] = (2, 4, 8)
    attacks: tuple[str, ...] = tuple(RECOVERIES)
    strategy: str = "sub-hybrid"
    epsilons: tuple[float, ...] = (16.0, 12.0, 10.0, 8.0)
    subset_size: int = DEFAULT_SUBSET_SIZE
    max_side: int = 512
    max_keypoints: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("max_side", self.max_side, low=SMALLEST, high=4096)
        check_count("max_keypoints", self.max_keypoints, low=1)
        check_count("subset_size", self.subset_size, low=1)
        check_count("seed", self.seed, low=0)
        for dimension in self.dimensions:
            check_count("dimension", dimension, low=2)
        for epsilon in self.epsilons:
            check_epsilon(epsilon)
        for name, values in (("dimension", self.dimensions), ("epsilon", self.epsilons)):
            if len(set(values)) != len(values):
                raise InvalidInput(f"every {name} may be given once, got {values}.")
        for attack in self.attacks:
            if attack not in RECOVERIES:
                raise InvalidInput(f"attacks must be of {', '.join(RECOVERIES)}, got {attack!r}.")


@dataclass(frozen=True, eq=False)
class Words:
    """Public descriptors, and who uses which.

    dictionary  K of the LDP releases
    lifting     W, the words subspaces are drawn through; None where nothing can be lifted
    public      Z, other descriptors that the attacker has
    halves      whether W and Z are the two halves of K
    """

    dictionary: Dictionary
    lifting: Dictionary | None
    public: NDArray[Any]
    halves: bool


@dataclass(frozen=True, eq=False)
class PhotoRow:
    """One release, one attack, one painted picture.

    mechanism         RAW, LIFTED or WORDS
    dimension         m, of lifted descriptors only
    attack            how descriptors were recovered; "" where they are sent as they are
    knowledge         what the attacker knows beside the release
    event             what the release costs, and what it does not protect
    keep_probability  that the true word is sent, of words only
    right             share of descriptors (words) that the attack got exactly right
    """

    mechanism: str
    event: PrivacyEvent
    num_bytes: int
    picture: NDArray[np.float32]
    similarity: Similarity
    attack: str = ""
    knowledge: str = ""
    dimension: int | None = None
    keep_probability: float | None = None
    right: float | None = None
    remark: str = ""

    @property
    def epsilon(self) -> float | None:
        """Per descriptor; None where there is no guarantee."""
        return self.event.epsilon if self.event.is_private else None


@dataclass(frozen=True, eq=False)
class Baseline:
    """A picture that needs no descriptor, and how near it comes."""

    name: str
    picture: NDArray[np.float32]
    similarity: Similarity


@dataclass(frozen=True)
class NetworkFacts:
    """Which network painted: its file's name and fingerprint, and what it was trained for."""

    name: str
    fingerprint: str
    kind: str
    extractor: str
    width: int
    frames: str
    step: int | None
    shipped: bool


@dataclass(frozen=True, eq=False)
class PhotoResult:
    """Everything that is shown.

    original_size  (width, height) before scaling
    left_out       mechanisms that could not be tried, each with the reason
    """

    settings: PhotoSettings
    photo: NDArray[np.uint8]
    original_size: tuple[int, int]
    features: Features
    rows: tuple[PhotoRow, ...]
    baselines: tuple[Baseline, ...]
    networks: tuple[NetworkFacts, ...]
    words: Words | None
    left_out: tuple[str, ...]

    def of(self, mechanism: str) -> tuple[PhotoRow, ...]:
        """The rows of one mechanism, in the order they were asked for."""
        return tuple(row for row in self.rows if row.mechanism == mechanism)

    @property
    def raw(self) -> PhotoRow:
        return self.of(RAW)[0]
