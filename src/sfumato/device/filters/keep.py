"""The filters that keep N keypoints, by name."""

from __future__ import annotations

from sfumato.core.errors import InvalidInput
from sfumato.device.filters.count import KeepStrongest
from sfumato.device.filters.spread import KeepSpread
from sfumato.device.filters.stable import KeepStable
from sfumato.features.extractors import Extractor

#: How a device may choose: the values of --keep-by.
KEEP_BY = ("strength", "spread", "stable")


def keep_filter(
    count: int, by: str, extractor: str | Extractor | None = None
) -> KeepStrongest | KeepSpread | KeepStable:
    """The filter that keeps `count` keypoints in this way; stable ones look with the extractor."""
    if by == "strength":
        return KeepStrongest(count)
    if by == "spread":
        return KeepSpread(count)
    if by == "stable":
        return KeepStable(count, extractor)
    raise InvalidInput(f"keypoints are kept by {', '.join(KEEP_BY)}, got {by!r}.")
