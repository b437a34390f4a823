"""LDP-FEAT, Tables 2, 3 and S1: what a device would send for a query, by the setting."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.plugins import asked_for, load_object
from sfumato.core.releases import KeypointRelease
from sfumato.datasets.scenes import Query
from sfumato.device.filters import KeepStrongest
from sfumato.device.mechanisms import Plain, SubsetMechanism, SubspaceLifting
from sfumato.device.protect import Pipeline
from sfumato.dictionary import Dictionary
from sfumato_papers.harness.work import seeded
from sfumato_papers.ldp_feat.localization_predictions import Setting


def make_release(
    query: Query, setting: Setting, dictionary: Dictionary | None, seed: int
) -> KeypointRelease:
    """What the device would send; the same for every recipe, and for the control."""
    lift = () if setting.strategy is None else (setting.strategy, setting.dimension)
    rng = seeded(seed, query.name, setting.num_words, setting.subset_size, setting.epsilon, *lift)
    features = query.features
    if setting.max_keypoints is not None:
        features = KeepStrongest(setting.max_keypoints)(features, rng=rng)
    if dictionary is None:
        return Plain().release(features, rng=rng, camera=query.camera)
    if setting.recipe == "own" and setting.strategy is not None:
        own = own_mechanism(setting.strategy, dictionary)
        sent: KeypointRelease = own.release(features, rng=rng, camera=query.camera)
        return sent
    if setting.strategy is not None and setting.dimension is not None:
        lifting = SubspaceLifting(setting.strategy, setting.dimension, dictionary)
        return lifting.release(features, rng=rng, camera=query.camera)
    mechanism = SubsetMechanism(setting.epsilon or np.inf, setting.subset_size or 1, dictionary)
    return mechanism.release(features, rng=rng, camera=query.camera)


def own_mechanism(address: str, dictionary: Dictionary) -> Any:
    """Somebody's own mechanism by its address, made with the dictionary where it asks for one."""
    make = load_object(address, "a mechanism")
    made = make(**asked_for(make, dictionary=dictionary))
    return Pipeline(made).mechanism  # refuses what is no mechanism
