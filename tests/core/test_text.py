"""Text of strangers stays text."""

from __future__ import annotations

import json

import pytest

from sfumato.core.text import json_visible, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ε = 8 — ünïcode 写真", "plain, ε = 8 — ünïcode 写真"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("two\nlines\r\ttab", r"two\nlines\r\ttab"),
        ("a\u202eb\u2066c\u200bd", r"a\u202eb\u2066c\u200bd"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("byte \udcff", r"byte \xff"),
        ("tag \U000e0041", r"tag \U000e0041"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(text).isprintable()
    document = json_visible(json.dumps({"text": text}, ensure_ascii=False))
    assert document.isprintable()
    assert json.loads(document) == {"text": text}


def test_wanted_line_breaks_stay() -> None:
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"
