"""Numbers that no command can use, refused for all of them in one place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core.errors import InvalidInput

_LARGEST = 1 << 63
_INFINITE = ("inf", "+inf", "infinity", "+infinity", "-inf", "-infinity")


def check_numbers(options: Mapping[str, Any], words: Sequence[str]) -> None:
    """Look at every number of a command before it runs.

    Python reads 1e400 as infinity, which means "no protection" to some options. Who wants that
    must write inf: one of the words of the command line is it then.
    """
    values = [word.partition("=")[2] or word for word in words]
    infinite = any(value.strip().lower() in _INFINITE for value in values)
    for name, value in options.items():
        for number in value if isinstance(value, list | tuple) else (value,):
            _check(name.replace("_", "-"), number, infinite)


def _check(name: str, value: Any, infinite: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if isinstance(value, int) and not -_LARGEST < value < _LARGEST:
        raise InvalidInput(f"--{name} must be a whole number of less than 19 digits, got more.")
    if math.isnan(value):
        raise InvalidInput(f"--{name} must be a number, got NaN.")
    if math.isinf(value) and not infinite:
        raise InvalidInput(
            f"--{name} must be below 1.8e308, the largest number there is here; write inf if you "
            "mean infinity."
        )
