"""Defaults that several doors share: the library's client, the commands, the pages.

The experiments of the papers are no doors: each states the grid that its table shows.
"""

from __future__ import annotations

DEFAULT_SUBSET_SIZE = 1  # ω, words sent per descriptor
DEFAULT_DICTIONARY = "open-64k"  # bundled: public pictures, no map of anybody's
#: Ways to lift a descriptor into a subspace.
LIFT_STRATEGIES = ("random", "adversarial", "hybrid", "sub-adversarial", "sub-hybrid")
