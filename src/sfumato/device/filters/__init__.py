"""Features → Features, before any mechanism."""

from sfumato.device.filters.count import ConstantCount, KeepStrongest
from sfumato.device.filters.decoys import Decoys
from sfumato.device.filters.spread import KeepSpread
from sfumato.device.filters.stable import KeepStable
from sfumato.device.filters.suppress import Suppress, Suppression

__all__ = [
    "ConstantCount",
    "Decoys",
    "KeepSpread",
    "KeepStable",
    "KeepStrongest",
    "Suppress",
    "Suppression",
]
