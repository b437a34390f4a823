"""Begin a run with what another network has learned: painting is the same for every input.

Where the new network is given more than the old one, the new inputs begin at weight zero, so
that it starts as the old one. Where it reads other rows, or gets frames that the old one had
none of, what reads them is learned anew and only the painter is taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.checkpoints import find_checkpoint
from sfumato.adversary.invert.exported import read_exported
from sfumato.core.errors import Mismatch

#: May differ between the two networks; everything else is the painter.
_INPUT = ("kind", "extractor", "channels", "frames")
#: Parts of the network that read rows.
_READERS = ("embed.", "patches.decode.")


@dataclass(frozen=True)
class Start:
    """Where a run begins: another network's weights, and the steps it had in all."""

    architecture: Architecture
    weights: Mapping[str, NDArray[Any]]
    steps: int

    @staticmethod
    def of(path: str | Path) -> Start:
        """The averaged weights of a run or checkpoint, or those of an exported file."""
        if Path(path).is_file():
            return Start(*read_exported(path))
        checkpoint = find_checkpoint(path, Architecture)
        before = int(checkpoint.settings.get("steps_before", 0))
        return Start(checkpoint.architecture, checkpoint.parts["average"], before + checkpoint.step)

    def fill(
        self, wanted: Architecture, blank: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Weights of the wanted network: those of the other one, blank where it has none."""
        for name, value in wanted.to_json().items():
            stored = getattr(self.architecture, name)
            if name not in _INPUT and stored != value:
                raise Mismatch(
                    f"a run cannot start from a network whose {name} is {stored!r} when {value!r} "
                    "is asked for; use its settings or start from nothing."
                )
        same_rows = (self.architecture.kind, self.architecture.extractor) == (
            wanted.kind,
            wanted.extractor,
        )
        filled = {}
        for name, fresh in blank.items():
            old = self.weights.get(name)
            if old is None or (name.startswith(_READERS) and not same_rows):
                filled[name] = fresh
            elif old.shape[0] != fresh.shape[0]:
                filled[name] = fresh  # looks at another level of the picture
            elif old.shape == fresh.shape:
                filled[name] = old
            else:
                filled[name] = _widen(old, fresh.shape)
        return filled


def _widen(old: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """(outputs, inputs, …) with more inputs, the new ones at zero, or with fewer."""
    wide = np.zeros(shape, dtype=old.dtype)
    both = min(old.shape[1], shape[1])
    wide[:, :both] = old[:, :both]
    return wide
