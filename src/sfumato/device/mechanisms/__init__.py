"""Features → Release, one file per mechanism."""

from sfumato.device.mechanisms.base import Mechanism
from sfumato.device.mechanisms.baselines import Naive, Plain, Quantize
from sfumato.device.mechanisms.lifting import SubspaceLifting
from sfumato.device.mechanisms.memoised import MemoisedSubset
from sfumato.device.mechanisms.randomized_response import RandomizedResponse
from sfumato.device.mechanisms.subset import SubsetMechanism

__all__ = [
    "Mechanism",
    "MemoisedSubset",
    "Naive",
    "Plain",
    "Quantize",
    "RandomizedResponse",
    "SubsetMechanism",
    "SubspaceLifting",
]
