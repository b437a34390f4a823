"""Files that several commands read."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.releases import KeypointRelease, Release


def read_release(path: Path, *, purpose: str) -> KeypointRelease:
    """A release of keypoints; one of another kind is refused, with what it was wanted for."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None
    found = Release.from_bytes(data)
    if not isinstance(found, KeypointRelease):
        raise InvalidInput(
            f"{path} is a release of {found.kind}; it has no keypoints to {purpose}."
        )
    return found
