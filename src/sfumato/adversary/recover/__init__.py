"""From a release back to descriptors: one file per attack, one signature for all."""

from __future__ import annotations

from sfumato.adversary.recover.base import Recovered
from sfumato.adversary.recover.vertex import vertex_attack

__all__ = ["Recovered", "vertex_attack"]
