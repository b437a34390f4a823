"""What a mechanism refuses, it refuses before anything is charged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.classification.randomized_response import RandomizedResponse
from sfumato.core.errors import Mismatch
from sfumato.core.randomness import SecureRandom
from sfumato.device.ledger import Ledger
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import send
from support import features_of, tiny_dictionary

DICTIONARY = tiny_dictionary(6)
FEATURES = features_of(np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32))


def test_features_of_another_extractor_cost_nothing(tmp_path: Path) -> None:
    mechanism = SubsetMechanism(1.0, 2, DICTIONARY)
    ledger = Ledger(tmp_path / "l")
    with pytest.raises(Mismatch, match="holds 'tiny' features"):
        mechanism.event(replace(FEATURES, extractor="sift"))
    with pytest.raises(Mismatch):
        send(replace(FEATURES, extractor="sift"), mechanism, rng=SecureRandom(), ledger=ledger)
    assert ledger.spent().pictures == 0


def test_numbers_are_kept_as_plain_ones() -> None:
    epsilon: Any = np.float32(1.5)
    size: Any = np.int64(2)
    mechanism = SubsetMechanism(epsilon, size, DICTIONARY)
    assert type(mechanism.epsilon) is float
    assert type(mechanism.subset_size) is int
    assert mechanism == SubsetMechanism(1.5, 2, DICTIONARY)
    assert type(RandomizedResponse(epsilon, 4).epsilon) is float
