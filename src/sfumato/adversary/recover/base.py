"""What every attack gives back, and the door it lets releases in by.

All attacks have one signature: attack(release, *, <public knowledge>, seed=0,
progress=silent) → Recovered. They see the release and the knowledge they name, nothing else;
the answer for a row does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_shape
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import Frozen, frozen_array
from sfumato.core.releases import Release

Kind = TypeVar("Kind", bound=Release)
Given = ParamSpec("Given")


def _nothing_certified() -> NDArray[np.bool_]:
    return np.zeros(0, dtype=np.bool_)


def _no_keypoints() -> NDArray[np.float32]:
    return np.zeros((0, 2), dtype=np.float32)


@dataclass(frozen=True, eq=False, repr=False)
class Recovered(Frozen):
    """What an attack believes the descriptors were, in the order of the release's rows.

    descriptors  (N, n) float32 of unit length
    confidence   (N,) float32 in [0, 1], higher is surer
    certified    (N,) bool: the answer proves itself, see the attack; by default none does
    keypoints    (N, 2) float32, where the release has these rows; `sf.score` needs them

    >>> units = np.eye(4, dtype=np.float32)
    >>> sf.attacks.Recovered(units, np.ones(4), keypoints=np.zeros((4, 2)))
    Recovered(4 descriptors, 0 certified)
    """

    descriptors: NDArray[np.float32]
    confidence: NDArray[np.float32]
    certified: NDArray[np.bool_] = field(default_factory=_nothing_certified)
    keypoints: NDArray[np.float32] = field(default_factory=_no_keypoints)

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
        keypoints = frozen_array("keypoints", self.keypoints, np.float32)
        check_shape("keypoints", keypoints, (count if len(keypoints) else None, 2))
        self._set("keypoints", keypoints)

    def __len__(self) -> int:
        return len(self.descriptors)

    def __repr__(self) -> str:
        return f"Recovered({len(self)} descriptors, {int(self.certified.sum())} certified)"


def check_recovered(answer: Any, attack: str) -> Recovered:
    """The answer of an own attack, refused where it is none."""
    if not isinstance(answer, Recovered):
        raise InvalidInput(
            f"the attack {attack} must return a Recovered, got {type(answer).__name__}."
        )
    return answer


class Attack(Protocol):
    """A release, and whatever public knowledge it names, in; what it believes of each row out.

    An own attack is called like those of `sf.attacks`: attack(release, database=…).

    >>> attack: sf.Attack = sf.attacks.vertex
    >>> attack.__name__
    'vertex_attack'
    """

    def __call__(self, release: Any, /, *args: Any, **knowledge: Any) -> Recovered: ...


def with_keypoints(attack: Callable[Given, Recovered]) -> Callable[Given, Recovered]:
    """Let an attack say where its answers lie: at the keypoints of its (first) release."""

    @wraps(attack)
    def run(*args: Given.args, **knowledge: Given.kwargs) -> Recovered:
        recovered = attack(*args, **knowledge)
        given: Any = args[0] if args else next(iter(knowledge.values()))
        first: Any = given if isinstance(given, Release) else given[0]
        return replace(recovered, keypoints=first.keypoints)

    return run


def check_kind(release: Release, wanted: type[Kind], attack: str) -> Kind:
    """Return the release if the attack applies to its kind, and refuse it by name if not.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> release = sf.protect(picture, sf.Pipeline(sf.Plain()))
    >>> sf.attacks.check_kind(release, sf.PlainRelease, "my") is release
    True
    """
    if not isinstance(release, wanted):
        kind = getattr(release, "kind", type(release).__name__)
        raise InvalidInput(
            f"the {attack} attack needs a release of {wanted.kind}, got one of {kind}."
        )
    return release
