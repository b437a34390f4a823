"""Files that several commands read and write."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.releases import KeypointRelease, Release
from sfumato.core.storage import check_writable
from sfumato.core.wire import MAGIC


def starts_with(path: Path, *beginnings: bytes) -> bool:
    """Whether a file begins with one of these."""
    try:
        with path.open("rb") as file:
            return file.read(max(map(len, beginnings))).startswith(beginnings)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None


def is_release(path: Path) -> bool:
    """Whether a file begins or is named as releases are."""
    return starts_with(path, MAGIC) or path.suffix == ".sfr"


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from None


def read_release(path: Path, *, purpose: str) -> KeypointRelease:
    """A release of keypoints; one of another kind is refused, with what it was wanted for."""
    if not is_release(path):
        raise InvalidInput(f"{path} is not a release; `sfumato protect IMAGE -o FILE` makes one.")
    release = Release.from_bytes(read_bytes(path))
    if not isinstance(release, KeypointRelease):
        raise InvalidInput(
            f"{path} is a release of {release.kind}; it has no keypoints to {purpose}."
        )
    return release


def refuse_release(path: Path, command: str) -> None:
    """A photograph is wanted: what is a release goes to another command."""
    if is_release(path):
        raise InvalidInput(f"{path} is a release, not a photograph; use `sfumato {command}`.")


def refuse_existing(path: Path) -> None:
    """Nothing that is there is written over, and no long work begins that could not be kept."""
    if path.exists():
        raise InvalidInput(f"{path} exists already; choose another name or remove it.")
    check_writable(path)


def check_output(path: Path, suffix: str) -> None:
    """Refuse before the long work a file that could not be written, or has another ending."""
    if path.suffix != suffix:
        raise InvalidInput(f"--output must end in {suffix}, got {path.name!r}.")
    check_writable(path)
