"""Several cells of a picture as one code, so that one answer tells all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sfumato.classification.encoder import Arrays, Encoder, Shape
from sfumato.classification.files import encoder_class
from sfumato.classification.odds import response_odds
from sfumato.core.checks import check_count
from sfumato.core.codes import Codes, MapShape
from sfumato.core.errors import InvalidInput, Mismatch

_MOST_VALUES = 1 << 16


@dataclass(eq=False, repr=False)
class JoinedCodes(Encoder):
    """Each code holds `size` codes of another encoder, its cells: d^size values instead of d.

    One randomized answer to a joined code costs one ε and tells `size` cells. Each keeps the share
    r = (e^ε − 1)/(e^ε − 1 + d^size) of its signal, more than if each cell were answered at ε/size.
    Which cells make a code is the same in every picture; they lie far from each other, and at
    most size − 1 cells of a picture are in no code.

    encoder  what makes the cells, such as OrientationBits()
    size     cells in a code

    >>> from sfumato.classification import PixelCodes
    >>> joined = JoinedCodes(PixelCodes(3), 2).fit([[[0, 5], [0, 0]], [[10, 7], [2, 2]]])
    >>> joined.encoder_.transform([[[5, 7], [2, 0]]])
    array([[1, 2, 2, 0]], dtype=uint8)
    >>> joined.transform([[[5, 7], [2, 0]]])  # 1·3 + 2, 2·3 + 0
    array([[5, 6]], dtype=uint8)
    """

    name: ClassVar[str] = "joined"

    encoder: Any = None
    size: int = 2

    def _prepare(self, shape: Shape) -> None:
        if not isinstance(self.encoder, Encoder) or isinstance(self.encoder, JoinedCodes):
            raise InvalidInput(
                "encoder must be an encoder of cells, such as OrientationBits(), got "
                f"{type(self.encoder).__name__}."
            )
        check_count("size", self.size, low=2, high=16)
        if "encoder_" in vars(self):
            self._join()

    def _learn(self, pictures: NDArray[Any], y: Any) -> None:
        self.encoder_: Encoder = clone(self.encoder).fit(pictures, y)
        self._join()

    def _join(self) -> None:
        cells, values = math.prod(self.encoder_.map_shape_), self.encoder_.num_values_
        if self.size > cells or values**self.size > _MOST_VALUES:
            raise InvalidInput(
                f"{self.size} cells of {values} values cannot be joined: a picture has {cells:,}, "
                f"and a code at most {_MOST_VALUES:,} values; join fewer."
            )
        groups = cells // self.size
        self.num_values_ = values**self.size
        self.map_shape_ = (1, 1, groups)
        self.cells_ = np.arange(groups)[:, None] + groups * np.arange(self.size)

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        cells = self.encoder_.transform(pictures).astype(np.uint32)
        joined = np.zeros((len(cells), len(self.cells_)), dtype=np.uint32)
        for column in self.cells_.T:
            joined = joined * np.uint32(self.encoder_.num_values_) + cells[:, column]
        return joined.reshape(len(cells), *self.map_shape_)

    @property
    def cell_shape(self) -> MapShape:
        """(channels, height, width) of the cells."""
        return self.encoder_.cell_shape

    def separate(self, codes: Codes) -> Codes:
        """The cells that answers hold, as learners take them.

        Their ε is that of each cell alone. All cells of one answer together have the ε of the
        answer, which can be more than the sum: what a picture pays is said by `codes`, not here.
        """
        if (codes.num_values, codes.num_positions) != (self.num_values_, len(self.cells_)):
            raise Mismatch(
                f"{len(self.cells_):,} joined codes of {self.num_values_:,} values are needed, got "
                f"{codes.num_positions:,} of {codes.num_values:,}; use the encoder that made them."
            )
        values = self.encoder_.num_values_
        kept = response_odds(codes.epsilon, codes.num_values).gap
        where = codes.positions
        if where is None:
            where = np.broadcast_to(np.arange(codes.num_positions), codes.values.shape)
        positions = self.cells_[where]
        powers = values ** np.arange(self.size - 1, -1, -1)
        cells = codes.values[:, :, None] // powers % values
        # A code's cells lie `groups` apart: cells of all codes in the order of their positions.
        positions, cells = (
            array.transpose(0, 2, 1).reshape(len(codes), -1) for array in (positions, cells)
        )
        num_cells = math.prod(self.cell_shape)
        return Codes(
            values=cells,
            positions=None if positions.shape[1] == num_cells else positions.astype(np.uint32),
            num_values=values,
            num_positions=num_cells,
            map_shape=self.cell_shape,
            epsilon=math.inf if kept == 1 else math.log1p(kept * values / (1 - kept)),
            encoder=codes.encoder,
            reproducible=codes.reproducible,
        )

    def _arrays(self) -> Arrays:
        inner = {f"cells/{key}": value for key, value in self.encoder_.to_arrays().items()}
        head = {"size": np.array(self.size), "kind": np.array(self.encoder_.name)}
        return head | inner

    @classmethod
    def _from_arrays(cls, arrays: Arrays) -> tuple[Self, Shape]:
        inner = {
            key.removeprefix("cells/"): value
            for key, value in arrays.items()
            if key.startswith("cells/")
        }
        kind = str(arrays["kind"])
        if kind == cls.name:
            raise ValueError(kind)
        encoder = encoder_class(kind).from_arrays(inner)
        made = cls(encoder, int(arrays["size"]))
        made.encoder_ = encoder
        return made, encoder.picture_shape_
