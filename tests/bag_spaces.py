"""A space of global descriptors, fitted on invented public pictures."""

from __future__ import annotations

import numpy as np

from sfumato.core.vector_space import VectorSpace
from sfumato.dictionary import Dictionary
from sfumato.dictionary.bags import bag_name


def bag_space(words: Dictionary, dimension: int = 32, seed: int = 0) -> VectorSpace:
    shares = np.random.default_rng(seed).dirichlet(np.full(words.num_words, 0.3), size=200)
    return VectorSpace.fit(np.sqrt(shares), dimension, extractor=bag_name(words))
