"""sfumato: the privacy toolkit for image features.

Names load what they need when they are first used; importing the package stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato import attacks, distances
    from sfumato.client import AsyncClient, Client
    from sfumato.core.errors import SfumatoError
    from sfumato.core.randomness import SecureRandom, SeededRandom
    from sfumato.core.releases import Release
    from sfumato.core.types import Camera, Features, Localization, Pose, PrivacyEvent
    from sfumato.device.filters import (
        ConstantCount,
        Decoys,
        KeepSpread,
        KeepStable,
        KeepStrongest,
        Suppress,
    )
    from sfumato.device.ledger import Caps, Ledger
    from sfumato.device.mechanisms import (
        BalancedLifting,
        MemoisedLifting,
        MemoisedSubset,
        Naive,
        Plain,
        Quantize,
        RandomizedResponse,
        SubsetMechanism,
        SubspaceLifting,
    )
    from sfumato.device.protect import Pipeline, protect
    from sfumato.dictionary import Dictionary, build_dictionary
    from sfumato.features import extract, load_image
    from sfumato.privacy.audit import audit
    from sfumato.privacy.plan import plan
    from sfumato.server.localize import localize
    from sfumato.server.mapping import Map, build_map

__version__ = "0.1.0.dev0"

_HOMES = {
    "sfumato.attacks": ("attacks",),
    "sfumato.distances": ("distances",),
    "sfumato.core.errors": ("SfumatoError",),
    "sfumato.core.randomness": ("SecureRandom", "SeededRandom"),
    "sfumato.core.releases": ("Release",),
    "sfumato.core.types": ("Camera", "Features", "Localization", "Pose", "PrivacyEvent"),
    "sfumato.device.filters": (
        "ConstantCount",
        "Decoys",
        "KeepSpread",
        "KeepStable",
        "KeepStrongest",
        "Suppress",
    ),
    "sfumato.device.ledger": ("Caps", "Ledger"),
    "sfumato.device.mechanisms": (
        "BalancedLifting",
        "MemoisedLifting",
        "MemoisedSubset",
        "Naive",
        "Plain",
        "Quantize",
        "RandomizedResponse",
        "SubsetMechanism",
        "SubspaceLifting",
    ),
    "sfumato.device.protect": ("Pipeline", "protect"),
    "sfumato.dictionary": ("Dictionary", "build_dictionary"),
    "sfumato.features": ("extract", "load_image"),
    "sfumato.privacy.audit": ("audit",),
    "sfumato.privacy.plan": ("plan",),
    "sfumato.server.localize": ("localize",),
    "sfumato.server.mapping": ("Map", "build_map"),
    "sfumato.client": ("AsyncClient", "Client"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AsyncClient",
    "BalancedLifting",
    "Camera",
    "Caps",
    "Client",
    "ConstantCount",
    "Decoys",
    "Dictionary",
    "Features",
    "KeepSpread",
    "KeepStable",
    "KeepStrongest",
    "Ledger",
    "Localization",
    "Map",
    "MemoisedLifting",
    "MemoisedSubset",
    "Naive",
    "Pipeline",
    "Plain",
    "Pose",
    "PrivacyEvent",
    "Quantize",
    "RandomizedResponse",
    "Release",
    "SecureRandom",
    "SeededRandom",
    "SfumatoError",
    "SubsetMechanism",
    "SubspaceLifting",
    "Suppress",
    "attacks",
    "audit",
    "build_dictionary",
    "build_map",
    "distances",
    "extract",
    "load_image",
    "localize",
    "plan",
    "protect",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    home = import_module(_HOME[name])
    value = home if _HOME[name] == f"sfumato.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
