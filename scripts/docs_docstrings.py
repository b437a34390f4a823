"""A griffe extension: in docstrings, aligned lines (`name  what it is`) become a list on the site,
and examples (`>>> …`) a block of code.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_FIELD = re.compile(r"^(\w[\w, ]*?) {2,}(\S.*)$")


class AlignedFields(Extension):
    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring:
            paragraphs = obj.docstring.value.split("\n\n")
            obj.docstring.value = "\n\n".join(as_list(paragraph) for paragraph in paragraphs)


def as_list(paragraph: str) -> str:
    """The paragraph as a list or a block of code if it begins like one; otherwise as it is."""
    if paragraph.startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    lines = paragraph.split("\n")
    first = next((i for i, line in enumerate(lines) if _FIELD.match(line)), None)
    if first is None or any(line.startswith((">>>", "    ", "#")) for line in lines[:first]):
        return paragraph
    items: list[str] = []
    for line in lines[first:]:
        if field := _FIELD.match(line):
            items.append(f"- `{field[1]}`: {field[2]}")
        elif items and line.startswith(" "):
            items[-1] += " " + line.strip()
        else:
            return paragraph
    return "\n".join([*lines[:first], *([""] if first else []), *items])
