"""Text for people: the guarantee in words, and foreign text that cannot steer a terminal."""

from __future__ import annotations

import math
import re

#: What our own texts use, for terminals and files that know only ASCII or a Windows code page.
_SPELLED = {
    "ε": "epsilon",
    "ω": "omega",
    "δ": "delta",
    "∞": "inf",
    "≥": ">=",
    "≤": "<=",
    "→": "->",
    "−": "-",
    "–": "-",
    "—": "-",
    "·": "*",
    "×": "x",
    "…": "...",
    "°": " degrees",
    "√": "sqrt",
}

#: Everything that is not a letter, a mark, a digit, a sign or a plain space: control characters,
#: escape codes, marks that turn the direction of writing, bytes that were no UTF-8.
_ODD = re.compile(r"[^\x20-\x7e]")


def visible(text: str, *, keep: str = "") -> str:
    """The text on one line, with characters that cannot be seen written as \\x1b or \\u202e.

    keep  such characters that are wanted, for instance a line break
    """
    return _ODD.sub(lambda found: _named(found.group(), keep), text)


def _named(letter: str, keep: str) -> str:
    if letter.isprintable() or letter in keep:
        return letter
    if "\udc80" <= letter <= "\udcff":  # a byte of a file name that was no UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return letter.encode("unicode_escape", "surrogatepass").decode()


def json_visible(text: str) -> str:
    """A JSON document of the same value, with such characters written as JSON's own \\u escapes."""
    return _ODD.sub(lambda found: _json_named(found.group()), text)


def _json_named(letter: str) -> str:
    if letter.isprintable() or letter == "\n":
        return letter
    units = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def spell_out(error: UnicodeError) -> tuple[str, int]:
    """For codecs: a letter that cannot be printed here is spelled out, ε as "epsilon"."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    spelled = (
        _SPELLED.get(letter) or letter.encode("ascii", "backslashreplace").decode()
        for letter in letters
    )
    return "".join(spelled), error.end


def epsilon_text(epsilon: float, unit: str) -> str:
    """The guarantee in words; a release without noise has none."""
    return "no ε, sent without noise" if math.isinf(epsilon) else f"ε = {epsilon:g} per {unit}"
