"""Nothing around people, faces, text: keypoints there are dropped before any mechanism."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.positions import position_shift, snap
from sfumato.core.randomness import RandomSource
from sfumato.core.types import Features
from sfumato.detectors.base import Boxes, Detector
from sfumato.detectors.regions import touches
from sfumato.detectors.run import TIMEOUT, check_timeout, detect
from sfumato.device.filters.decoys import Decoys


@dataclass(frozen=True)
class Suppression:
    """What was hidden in one picture. For the device's own eyes: it says what was there.

    boxes    how many regions of each class
    removed  keypoints that were dropped; kept those that were not; decoys those put in instead
    regions  what each detector found, without the margin
    """

    boxes: dict[str, int]
    removed: int
    kept: int
    decoys: int
    regions: tuple[Boxes, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Suppress:
    """Drop every keypoint in a region that a detector finds, and in a margin around it.

    detectors  one, or several whose regions add up
    margin     added on every side of a region, as a share of its shorter side
    reach      also drop keypoints outside whose descriptor sees inside: those nearer than
               `reach` of their diameters. 0 is off; SIFT measures a square of half side 3
    classes    only regions of these; None: all that the detectors find
    decoys     fills the hole; without, a hole tells that something was hidden, and where
    timeout    seconds for each detector
    report     is told what was hidden, on the device; nothing of it is released

    No guarantee: what a detector misses is released like everything else. A detector that
    raises, hangs or answers nonsense stops the release. Positions are compared as they are
    sent, so none is rounded into a region.

    >>> from sfumato.detectors import GivenBoxes
    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> left = GivenBoxes(sf.Boxes(np.array([[0.0, 0.0, 31.0, 63.0]]), ("left",), np.ones(1)))
    >>> release = sf.protect(picture, sf.Pipeline(sf.Plain(), filters=(sf.Suppress(left),)))
    >>> bool(release.keypoints[:, 0].min() > 31)
    True
    """

    detectors: Detector | Sequence[Detector]
    margin: float = 0.1
    reach: float = 0.0
    classes: Sequence[str] | None = None
    decoys: Decoys | None = None
    timeout: float = TIMEOUT
    report: Callable[[Suppression], None] | None = None

    def __post_init__(self) -> None:
        for name, value, high in (("margin", self.margin, 10.0), ("reach", self.reach, 100.0)):
            if not 0 <= as_number(name, value) <= high:
                raise InvalidInput(f"{name} must be between 0 and {high:g}, got {value!r}.")
        check_timeout(self.timeout)
        if not self._all():
            raise InvalidInput("suppression needs at least one detector, got none.")
        if isinstance(self.classes, str):
            raise InvalidInput(f"classes must be a list of names, got the text {self.classes!r}.")
        known = [getattr(detector, "known_classes", None) for detector in self._all()]
        for wanted in self.classes or ():
            if None not in known and not any(wanted in names for names in known if names):
                raise InvalidInput(
                    f"no detector knows the class {wanted!r}, so nothing would be hidden; "
                    f"known are {', '.join(sorted({n for names in known for n in names or ()}))}."
                )

    def look(
        self, features: Features, picture: NDArray[np.uint8], *, rng: RandomSource
    ) -> Features:
        """The features that may be released, after a look at the picture they come from."""
        height, width = picture.shape[:2]
        if features.image_size != (width, height):
            raise Mismatch(
                f"features of a {features.image_size[0]}×{features.image_size[1]} picture cannot "
                f"be suppressed with one of {width}×{height}; give the picture they come from."
            )
        regions = detect(self._all(), picture, timeout=self.timeout)
        if self.classes is not None:
            regions = tuple(boxes.of(self.classes) for boxes in regions)
        kept = features.take(np.flatnonzero(~self._hidden(regions, features)))
        sent = kept
        if self.decoys is not None:
            sent = self.decoys.fill(kept, self._hole(regions, kept), rng=rng)
        if self.report is not None:
            counts = Counter(name for boxes in regions for name in boxes.classes)
            self.report(
                Suppression(
                    boxes=dict(sorted(counts.items())),
                    removed=len(features) - len(kept),
                    kept=len(kept),
                    decoys=len(sent) - len(kept),
                    regions=regions,
                )
            )
        return sent

    def _all(self) -> tuple[Detector, ...]:
        many = self.detectors
        return tuple(many) if isinstance(many, Sequence) else (many,)

    def _hidden(self, regions: Sequence[Boxes], features: Features) -> NDArray[np.bool_]:
        size = features.image_size
        positions = snap(features.keypoints, size) / (1 << position_shift(size))
        hidden = np.zeros(len(features), dtype=np.bool_)
        for boxes in regions:
            hidden |= touches(
                boxes, positions, margin=self.margin, reach=self.reach * features.scales
            )
        return hidden

    def _hole(
        self, regions: Sequence[Boxes], kept: Features
    ) -> Callable[[NDArray[np.float64]], NDArray[np.bool_]]:
        """Whether a keypoint of usual size would have been dropped at a position."""
        usual = self.reach * float(np.median(kept.scales)) if len(kept) else 0.0

        def hidden(positions: NDArray[np.float64]) -> NDArray[np.bool_]:
            hit = np.zeros(len(positions), dtype=np.bool_)
            for boxes in regions:
                hit |= touches(boxes, positions, margin=self.margin, reach=usual)
            return hit

        return hidden
