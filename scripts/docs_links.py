"""A hook of mkdocs: links that leave docs/ (to source, tests, README) become plain text.

They work where the repository is read; the site does not hold those files.
"""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    return _OUTSIDE.sub(r"\1", markdown)
