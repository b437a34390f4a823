"""Tables as text with aligned columns, or as Markdown; groups, and intervals of shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.privacy.interval import clustered_wilson as clustered_wilson
from sfumato.privacy.interval import wilson as wilson

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Table:
    """A line of headings, then rows of text.

    left   columns that are not numbers
    alike  rows of other tables that shall have columns of the same width
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)
    alike: Sequence[Sequence[str]] = ()

    def text(self) -> list[str]:
        """Columns two spaces apart, numbers to the right."""
        lines = [self.heads, *self.rows]
        wide = [*lines, *self.alike]
        widths = [max(len(line[i]) for line in wide) for i in range(len(self.heads))]
        return [
            "  ".join(
                cell.ljust(width) if i in self.left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]

    def markdown(self) -> list[str]:
        """The same with bars between the columns, and an empty line on both sides."""
        rule = [":--" if i in self.left else "--:" for i in range(len(self.heads))]
        lines = [[cell.replace("|", "\\|") for cell in line] for line in [self.heads, *self.rows]]
        return ["", *(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]]), ""]


def table_of(
    rows: Iterable[Any], *columns: tuple[Any, ...], left: Sequence[int] = (0,), **more: Any
) -> Table:
    """A table of rows by its columns: (heading, what it shows, format).

    What it shows is a function of the row, or a name in it: "setting.epsilon".
    """
    body = [[show(value_of(row, *column[1:2]), *column[2:]) for column in columns] for row in rows]
    return Table([column[0] for column in columns], body, left, **more)


def value_of(row: Any, what: Any) -> Any:
    """What a function, or a name in it such as "setting.epsilon", says of a row."""
    if callable(what):
        return what(row)
    for name in what.split("."):
        row = row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)
    return row


def show(value: Any, form: str = "", scale: float = 1) -> str:
    """A value in this format, times the scale; – where there is none, ∞ for infinity.

    Formats besides Python's: ".1%" is a share in percent, ".1p" the same without the sign.
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isinf(value):
        return "∞"
    if form.endswith(("%", "p")):
        return f"{100 * value:{form[:-1]}f}" + (" %" if form.endswith("%") else "")
    return format(value * scale if scale != 1 else value, form)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by what they have in common, in the order of their first."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def spread(values: Sequence[float] | NDArray[Any]) -> float:
    """The standard deviation between draws; 0 where there is one draw only."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
