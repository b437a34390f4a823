"""Many releases in one file: one message behind the other, each with its own length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfumato.core.errors import MalformedRelease
from sfumato.core.releases import Release
from sfumato.core.wire import decode, read_header


def join_releases(releases: Iterable[Release]) -> bytes:
    """The bytes of all releases, in their order."""
    return b"".join(release.to_bytes() for release in releases)


def split_releases(data: bytes | bytearray | memoryview) -> Iterator[Release]:
    """Decode one release after the other; a broken one is named by its place."""
    view = memoryview(data).cast("B")
    place = 0
    while view:
        try:
            length = read_header(view).length
            if length > len(view):
                raise MalformedRelease(f"{length} bytes are announced, {len(view)} are left.")
            release = decode(view[:length])
        except MalformedRelease as error:
            raise MalformedRelease(f"release {place} of the file: {error}") from None
        yield release
        view = view[length:]
        place += 1
