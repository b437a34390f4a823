"""What the attacks made of one photograph, before anybody formats it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.metrics import Similarity
from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import WordRelease
from sfumato.core.types import Features, PrivacyEvent
from sfumato.device.explain import Observed
from sfumato.device.filters import Suppression
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import Pipeline
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

#: The baseline that anybody can paint: one colour.
FLAT = "mean colour"

#: Pixels a side that a photograph must have.
SMALLEST = 16

#: What a device does with the photograph at one ε, and where its filters tell what they saw.
Send = Callable[[float], tuple[Pipeline, Observed]]


@dataclass(frozen=True)
class PhotoSettings:
    """What is sent and attacked.

    dimensions  m of the lifting, with every attack of `attacks`
    max_lifted  only so many keypoints are lifted, the strongest: attacks on subspaces take long
    epsilons    per descriptor, of the words
    max_side    the size of the paintings; what is sent comes from the photograph as it is
    seed        of every draw: the same photograph gives the same page again
    """

    extractor: str = "sift"
    dimensions: tuple[int, ...] = (4,)
    attacks: tuple[str, ...] = tuple(RECOVERIES)
    strategy: str = "sub-hybrid"
    max_lifted: int = 1000
    epsilons: tuple[float, ...] = (12.0, 10.0, 8.0, 6.0)
    max_side: int = 384
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("max_side", self.max_side, low=SMALLEST, high=4096)
        check_count("max_lifted", self.max_lifted, low=1)
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
class Sent:
    """One release of words as a device would make it, and what only the device knows of it.

    features  those that are sent, decoys among them
    truth     (N,) the true word of each row of the release
    facts     what leaves and what it costs, see `explain`
    hidden    what was left out around people or given regions, and the margin around these;
              None where nobody asked for it
    objects   what each object that somebody asked about gives away, a sentence each
    """

    mechanism: SubsetMechanism
    features: Features
    release: WordRelease
    truth: NDArray[np.int64]
    event: PrivacyEvent
    facts: Mapping[str, Any]
    hidden: tuple[Suppression, float] | None = None
    objects: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """Per descriptor."""
        return self.mechanism.epsilon


@dataclass(frozen=True)
class Again:
    """Who is found again in a painting.

    found  how many of each kind, by its name: person, face
    same   faces that a face recognition network takes for the same person; None: not asked
    """

    found: Mapping[str, int] = field(default_factory=dict)
    same: int | None = None

    @property
    def anybody(self) -> bool:
        return bool(self.same) or any(self.found.values())


@dataclass(frozen=True)
class People:
    """Who is in the photograph, as far as detectors tell.

    found      how many of each kind, by its name: person, face
    visible    those among them that are also found at the size of the paintings
    described  those among them on which keypoints are sent
    missing    what could not be looked for, a sentence each
    """

    found: Mapping[str, int]
    visible: Mapping[str, int]
    described: Mapping[str, int]
    missing: tuple[str, ...] = ()


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
    again: Again
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
    """Which network painted: its file's name and fingerprint, and what it was trained for.

    card         what its model card says, see `model_card.read_card`; nothing where there is none
    reads_words  whether it learned from private words, alone or beside raw descriptors
    """

    name: str
    fingerprint: str
    kind: str
    reads_words: bool
    extractor: str
    width: int
    frames: str
    step: int | None
    shipped: bool
    card: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class PhotoResult:
    """Everything that is shown.

    photo          at the size of the paintings
    original_size  (width, height) of the photograph that is sent
    features       all that are found in it
    preview        what is hidden and what is sent, drawn on the photograph; None: nothing is hidden
    left_out       mechanisms that could not be tried, each with the reason
    """

    settings: PhotoSettings
    photo: NDArray[np.uint8]
    original_size: tuple[int, int]
    features: Features
    sent: tuple[Sent, ...]
    preview: NDArray[np.uint8] | None
    people: People
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

    @property
    def flat(self) -> Baseline:
        return next(one for one in self.baselines if one.name == FLAT)
