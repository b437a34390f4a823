"""What every mechanism offers: an event that says what it costs, and a release."""

from __future__ import annotations

import os
from typing import Any, Protocol, runtime_checkable

from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import RandomSource, check_source
from sfumato.core.releases import Release
from sfumato.core.types import Camera, Features, PrivacyEvent


@runtime_checkable
class Mechanism(Protocol):
    """Turns the features of one picture into what leaves the device.

    `sf.Pipeline` refuses what lacks one of the two methods. `sf.protect` refuses an event that is
    no PrivacyEvent, an answer that is no Release, and a release whose ε is not the event's.

    >>> isinstance(sf.Plain(), sf.Mechanism)
    True
    """

    def event(self, features: Features) -> PrivacyEvent:
        """What releasing these features will cost. Charged before anything is drawn."""
        ...

    def release(
        self, features: Features, *, rng: RandomSource, camera: Camera | None = None
    ) -> Release:
        """Draw a release. Drawing twice costs twice."""
        ...


def release_fields(
    features: Features, camera: Camera | None, rng: RandomSource | None = None
) -> dict[str, Any]:
    """The part of a release that all keypoint mechanisms send alike.

    rng  what the release was drawn with: a release from a known seed is marked as such, and is
         refused by everything that sends. None where nothing was drawn from it.

    >>> picture = np.random.default_rng(0).integers(0, 256, (64, 64), dtype=np.uint8)
    >>> features = sf.extract(picture)
    >>> sorted(sf.release_fields(features, None, sf.SecureRandom()))
    ['camera', 'extractor', 'image_size', 'keypoints', 'reproducible']
    """
    return {
        "reproducible": rng is not None and check_source(rng).reproducible,
        "keypoints": features.keypoints,
        "image_size": features.image_size,
        "extractor": features.extractor,
        "camera": camera,
    }


def secret_or_new(secret: bytes | None, of_what: str) -> bytes:
    """A secret of at least 32 bytes; a new one from the operating system where none is given."""
    if secret is None:
        return os.urandom(32)
    if not isinstance(secret, bytes) or len(secret) < 32:
        raise InvalidInput(
            f"the secret of {of_what} must be at least 32 bytes from the operating system, got "
            f"{len(secret) if isinstance(secret, bytes) else type(secret).__name__}."
        )
    return secret
