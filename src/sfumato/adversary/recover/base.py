"""What every attack gives back, and the door it lets releases in by.

All attacks have one signature: attack(release, *, <public knowledge>, seed=0,
progress=silent) → Recovered. They see the release and the knowledge they name, nothing else;
the answer for a row does not depend on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import Release
from sfumato.core.types import Frozen, frozen_array

Kind = TypeVar("Kind", bound=Release)


def _nothing_certified() -> NDArray[np.bool_]:
    return np.zeros(0, dtype=np.bool_)


@dataclass(frozen=True, eq=False, repr=False)
class Recovered(Frozen):
    """What an attack believes the descriptors were, in the order of the release's rows.

    descriptors  (N, n) float32 of unit length
    confidence   (N,) float32 in [0, 1], higher is surer
    certified    (N,) bool: the answer proves itself, see the attack; by default none does
    """

    descriptors: NDArray[np.float32]
    confidence: NDArray[np.float32]
    certified: NDArray[np.bool_] = field(default_factory=_nothing_certified)

    def __post_init__(self) -> None:
        descriptors = frozen_array("descriptors", self.descriptors, np.float32)
        check_shape("descriptors", descriptors, (None, None))
        count = len(descriptors)
        confidence = frozen_array("confidence", self.confidence, np.float32)
        check_shape("confidence", confidence, (count,))
        if count and not (confidence.min() >= 0 and confidence.max() <= 1):
            raise InvalidInput("confidence must lie between 0 and 1.")
        given: Any = self.certified
        certified = frozen_array("certified", given if len(given) else [False] * count, np.bool_)
        check_shape("certified", certified, (count,))
        self._set("descriptors", descriptors)
        self._set("confidence", confidence)
        self._set("certified", certified)

    def __len__(self) -> int:
        return len(self.descriptors)

    def __repr__(self) -> str:
        return f"Recovered({len(self)} descriptors, {int(self.certified.sum())} certified)"


def check_kind(release: Release, wanted: type[Kind], attack: str) -> Kind:
    """Return the release if the attack applies to its kind, and refuse it by name if not."""
    if not isinstance(release, wanted):
        kind = getattr(release, "kind", type(release).__name__)
        raise InvalidInput(
            f"the {attack} attack needs a release of {wanted.kind}, got one of {kind}."
        )
    return release
