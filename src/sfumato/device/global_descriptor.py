"""One picture, one private vector: its global descriptor, beside the words of its keypoints."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import RandomSource
from sfumato.core.types import Camera, Features, PrivacyEvent
from sfumato.core.vector_release import VectorRelease
from sfumato.core.vector_space import VectorSpace, vectors_as_features
from sfumato.device.mechanisms.private_unit import PrivUnit
from sfumato.dictionary import Dictionary
from sfumato.dictionary.bags import bag_name, bag_of, words_of_space

UNIT = "the picture's global descriptor"
NOT_PROTECTED_GLOBAL = (
    "that a global descriptor is sent",
    "the name of its words and of its space",
    "the server's answer",
)


@dataclass(frozen=True)
class GlobalDescriptor:
    """Send the picture's bag of public words as one private unit vector.

    bag = square roots of the words' shares, seen through `space`, then PrivUnit(ε).
    Guarantee: ε-LDP for the whole vector. It is made of the same descriptors as the words that
    are sent beside it, so the two add up: for one descriptor ε of a word + ε of the vector, for
    a picture of N keypoints N·ε of a word + ε of the vector.

    dictionary  the public words; which level the bag has follows from the space
    space       of `sfumato dictionary space`, fitted on public pictures
    """

    epsilon: float
    dictionary: Dictionary
    space: VectorSpace
    words: Dictionary = field(init=False, repr=False)
    sender: PrivUnit = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", words_of_space(self.space, self.dictionary))
        object.__setattr__(self, "sender", PrivUnit(self.epsilon, space=self.space))

    def vector(self, features: Features) -> Features:
        """The bag itself, as mechanisms take vectors. It never leaves the device."""
        check_same_extractor("the dictionary", self.words.extractor, "the picture",
                             features.extractor)  # fmt: skip
        if not len(features):
            raise InvalidInput(
                "a picture without keypoints has no global descriptor; send none of it."
            )
        bag = bag_of(features.descriptors, self.words)
        return vectors_as_features(bag[None], bag_name(self.words))

    def event(self, features: Features) -> PrivacyEvent:
        priced = self.sender.event(self.vector(features))
        return replace(
            priced,
            mechanism="private global descriptor",
            unit=UNIT,
            not_protected=NOT_PROTECTED_GLOBAL,
        )

    def release(
        self,
        features: Features,
        *,
        rng: RandomSource,
        camera: Camera | None = None,
    ) -> VectorRelease:
        del camera  # the words beside it carry it; a vector says nothing of the picture's size
        return self.sender.release(self.vector(features), rng=rng)
