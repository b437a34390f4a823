"""What learners accept as X: a plain array of codes, or `Codes` that carry their guarantee."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from sfumato.core.checks import check_epsilon
from sfumato.core.codes import Codes as Codes
from sfumato.core.codes import MapShape, check_map_shape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.text import epsilon_text

#: What a plain array may hold without num_values: more is a mistake, not a code.
_MOST_GUESSED = 1 << 16


def as_codes(
    X: Any,  # noqa: N803
    *,
    num_values: int | None = None,
    epsilon: float | None = None,
    map_shape: MapShape | None = None,
) -> Codes:
    """X as `Codes`, after checking it against the settings of the learner.

    A plain (N, m) array is clean unless epsilon says otherwise; whole numbers stored as floats
    are accepted. `Codes` know their own d, ε and shape, and must agree with what is given.
    """
    if isinstance(X, Codes):
        return _agreeing(X, num_values, epsilon, map_shape)
    values = _whole_array(X)
    bound = math.inf if epsilon is None else check_epsilon(epsilon, allow_infinite=True)
    if num_values is None:
        if math.isfinite(bound):
            raise InvalidInput(
                "num_values must be given with a finite epsilon: the noise reaches all d values, "
                "and a plain array does not say how many there are."
            )
        num_values = max(int(values.max(initial=0)) + 1, 2)
        if num_values > _MOST_GUESSED:
            raise InvalidInput(
                f"codes up to {num_values - 1} need num_values, so that they are meant."
            )
    return Codes(
        values=values,
        num_values=num_values,
        num_positions=values.shape[1],
        map_shape=map_shape,
        epsilon=bound,
    )


def _agreeing(
    codes: Codes, num_values: int | None, epsilon: float | None, map_shape: MapShape | None
) -> Codes:
    if num_values is not None and codes.num_values != num_values:
        raise Mismatch(
            f"the codes lie in [{codes.num_values}], the learner expects [{num_values}]; "
            "use one encoder."
        )
    if epsilon is not None and codes.epsilon != epsilon:
        raise Mismatch(
            f"the codes were sent with {epsilon_text(codes.epsilon, 'code')}, the learner expects "
            f"{epsilon!r}; leave epsilon out to take the codes' own."
        )
    if map_shape is not None:
        shape = check_map_shape(map_shape, codes.num_positions)
        if codes.map_shape not in (None, shape):
            raise Mismatch(f"the codes form a map of {codes.map_shape}, not {shape}.")
    return codes


def _whole_array(X: Any) -> Any:  # noqa: N803
    try:
        array = check_array(X)
    except ValueError as error:
        raise InvalidInput(f"codes must be whole numbers: {' '.join(str(error).split())}") from None
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    if array.dtype.kind != "f":
        return array
    whole = np.rint(array)
    if not (whole == array).all() or (np.abs(whole) > 1 << 31).any():
        raise InvalidInput("codes must be whole numbers, some have fractions or are enormous.")
    return whole.astype(np.int64)
