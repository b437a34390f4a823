"""Which images of a map look like a picture, by its private global descriptor.

The map's images get theirs from the descriptors that the map stores: no picture is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import Release, VectorRelease
from sfumato.core.vector_space import VectorSpace
from sfumato.dictionary import Dictionary
from sfumato.dictionary.bags import bag_name, bag_of, is_bag, words_of_space
from sfumato.server.mapping.map import Map


@dataclass(frozen=True, eq=False)
class GlobalIndex:
    """Global descriptors of a map's images, in one public space.

    directions  (I, n) of length one; zero for an image without features
    """

    directions: NDArray[np.float64]
    space: VectorSpace

    @staticmethod
    def build(world: Map, dictionary: Dictionary, space: VectorSpace) -> GlobalIndex:
        """Of all features of each image, whether they saw a point or not, as a device sends."""
        words = words_of_space(space, dictionary)
        check_same_extractor("the map", world.extractor, "the dictionary", words.extractor)
        directions = np.zeros((world.num_images, space.dimension))
        for image in range(world.num_images):
            rows = np.asarray(world.descriptors[world.features_of(image)])
            if len(rows):
                bag = bag_of(rows, words)
                directions[image] = space.apply(bag[None], bag_name(words))[0]
        return GlobalIndex(directions, space)

    def scores(self, vector: Release) -> NDArray[np.float64]:
        """(I,) √n times the cosine with each image: in standard deviations of unrelated ones."""
        sent = self._checked(vector).directions()[0]
        return np.asarray(np.sqrt(len(sent)) * (self.directions @ sent))

    def _checked(self, vector: Release) -> VectorRelease:
        if not isinstance(vector, VectorRelease) or len(vector) != 1:
            count = f"{len(vector)} rows" if isinstance(vector, VectorRelease) else "another kind"
            raise InvalidInput(
                "a global descriptor is a release of one private unit vector, as `sfumato protect "
                f"--global-output` writes it; this one is of {vector.kind}, {count}."
            )
        if not is_bag(vector.extractor):
            raise Mismatch(
                f"the vector is of {vector.extractor!r} and no global descriptor of a picture; "
                "make one with `sfumato protect --global-epsilon`."
            )
        if (vector.extractor, vector.space) != (self.space.extractor, self.space.fingerprint):
            raise Mismatch(
                "the global descriptor was sent through another space, or is of another "
                "dictionary's words; give the space and the dictionary of the device."
            )
        return vector
