"""Features → Features, before any mechanism."""

from sfumato.device.filters.count import ConstantCount, KeepStrongest

__all__ = ["ConstantCount", "KeepStrongest"]
