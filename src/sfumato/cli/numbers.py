"""Numbers that no command can use, refused for all of them in one place."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

from sfumato.core.errors import InvalidInput

_LARGEST = 1 << 63
_INFINITE = ("inf", "+inf", "infinity", "+infinity", "-inf", "-infinity")


def check_numbers(command: Any, words: list[str]) -> None:
    """Have every command of a tree look at its numbers before it runs.

    Python reads 1e400 as infinity, which means "no protection" to some options. Who wants that
    must write inf.
    """
    values = [word.partition("=")[2] or word for word in words]
    infinite = any(value.strip().lower() in _INFINITE for value in values)
    for one in _commands(command):
        one.callback = _checking(one.callback, infinite)


def _commands(command: Any) -> Iterator[Any]:
    for child in getattr(command, "commands", {}).values():
        yield from _commands(child)
    if command.callback is not None:
        yield command


def _checking(callback: Any, infinite: bool) -> Any:
    @functools.wraps(callback)
    def checked(**options: Any) -> Any:
        for name, value in options.items():
            for number in value if isinstance(value, list | tuple) else (value,):
                _check(name.replace("_", "-"), number, infinite)
        return callback(**options)

    return checked


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
