"""What a release says about its own cost: the same facts whether it is fresh or was saved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sfumato.core.odds import subset_coin
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.core.types import NOT_PROTECTED, PrivacyEvent
from sfumato.device.explain import explain
from sfumato.device.objects import SeenObject


def release_cost(
    release: KeypointRelease,
    seen_by: int | None = None,
    objects: Sequence[SeenObject] | None = None,
) -> tuple[PrivacyEvent, dict[str, Any]]:
    """What it cost; and bytes, ε per descriptor and per picture, and what is not protected.

    seen_by  how many descriptors see the object that one asks about
    objects  that detectors found, told on the device alone
    """
    epsilon: float | None = getattr(release, "epsilon", None)
    exposed: tuple[str, ...] = NOT_PROTECTED
    mechanism, chance = release.kind, None
    num_values, subset_size = None, 1
    if isinstance(release, WordRelease):
        mechanism = "subset" if math.isfinite(release.epsilon) else "quantize"
        coin = subset_coin(release.epsilon, release.num_words, release.subset_size)
        chance = float(coin.probability)
        num_values, subset_size = release.num_words, release.subset_size
    elif isinstance(release, PlainRelease):
        exposed = ("the descriptors themselves", *NOT_PROTECTED)
    elif isinstance(release, SubspaceRelease):
        mechanism = f"lifting (m = {release.dimension})"
        exposed = ("the descriptors, against known attacks", *NOT_PROTECTED)
    event = PrivacyEvent(
        mechanism, epsilon, len(release), "one descriptor", exposed, num_values, subset_size
    )
    return event, explain(release, event, chance, seen_by, objects)
