"""Features → Release, one file per mechanism."""

from sfumato.device.mechanisms.balanced import BalancedLifting
from sfumato.device.mechanisms.base import Mechanism
from sfumato.device.mechanisms.baselines import Naive, Plain, Quantize
from sfumato.device.mechanisms.lifting import SubspaceLifting
from sfumato.device.mechanisms.memoised import MemoisedSubset
from sfumato.device.mechanisms.memoised_lifting import MemoisedLifting
from sfumato.device.mechanisms.randomized_response import RandomizedResponse
from sfumato.device.mechanisms.subset import SubsetMechanism

__all__ = [
    "BalancedLifting",
    "Mechanism",
    "MemoisedLifting",
    "MemoisedSubset",
    "Naive",
    "Plain",
    "Quantize",
    "RandomizedResponse",
    "SubsetMechanism",
    "SubspaceLifting",
]
