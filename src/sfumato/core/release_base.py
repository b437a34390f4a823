"""What leaves the device, and nothing else: no original, no seed, no file name.

A release is canonical from the moment it exists. Positions lie on the grid of the wire
format, and rows are ordered by what they contain, so that neither hides the strength
ranking of the detector or anything else the sender knew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import (
    Frozen,
    check_extractor_name,
    check_image_size,
    check_keypoints,
    frozen_array,
)
from sfumato.core.positions import canonical_order, snap, unsnap
from sfumato.core.types import Camera


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release(Frozen):
    """Base of everything that may leave the device.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> release = sf.protect(picture, sf.Pipeline(sf.Plain()))
    >>> sf.Release.from_bytes(release.to_bytes()) == release
    True
    """

    #: Made with a known seed: whoever knows it can undo the noise. Never send such a release.
    reproducible: bool = False

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        self._set("reproducible", bool(self.reproducible))

    def to_bytes(self) -> bytes:
        """Encode in the wire format of `core/wire.py`."""
        from sfumato.core.wire import encode

        return encode(self)

    @staticmethod
    def from_bytes(data: bytes) -> Release:
        """Decode one release; anything but exactly one valid release is refused."""
        from sfumato.core.wire import decode

        return decode(data)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KeypointRelease(Release):
    """A release with one row per keypoint.

    keypoints  (N, 2) float32, on the grid; rows ordered by y, x, then by their content
    """

    keypoints: NDArray[np.float32]
    image_size: tuple[int, int]
    extractor: str
    camera: Camera | None = None

    _row_fields: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("image_size", check_image_size(self.image_size))
        self._set("extractor", check_extractor_name(self.extractor))
        if self.camera is not None and (self.camera.width, self.camera.height) != self.image_size:
            raise InvalidInput(
                f"the camera is {self.camera.width}×{self.camera.height} but the picture is "
                f"{self.image_size[0]}×{self.image_size[1]}; scale the intrinsics with it."
            )
        keypoints = frozen_array("keypoints", self.keypoints, np.float32)
        check_keypoints(keypoints, self.image_size)
        self._check_rows(len(keypoints))
        self._order_rows(snap(keypoints, self.image_size))

    def _check_rows(self, count: int) -> None:
        """Check and store the fields that carry one row per keypoint."""
        raise NotImplementedError

    def _order_rows(self, steps: NDArray[np.uint16]) -> None:
        order = canonical_order(steps, [getattr(self, name) for name in self._row_fields])
        keypoints = unsnap(steps[order], self.image_size)
        self._set("keypoints", frozen_array("keypoints", keypoints, np.float32))
        if not np.array_equal(order, np.arange(len(order))):
            for name in self._row_fields:
                rows = getattr(self, name)[order]
                rows.flags.writeable = False
                self._set(name, rows)

    def __len__(self) -> int:
        return len(self.keypoints)

    def __repr__(self) -> str:
        seeded = ", reproducible: not for sending" if self.reproducible else ""
        return f"{type(self).__name__}({len(self)} keypoints{self._describe()}{seeded})"

    def _describe(self) -> str:
        return ""
