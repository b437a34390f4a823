"""What the commands of `sfumato classify` print."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sfumato.cli.output import emit_facts, emit_json
from sfumato.core.errors import InvalidInput
from sfumato.core.storage import check_writable


def emit(title: str, facts: dict[str, Any], as_json: bool) -> None:
    """Facts for people, or as JSON."""
    if as_json:
        emit_json(facts)
        return
    emit_facts(title, {key.replace("_", " "): _shown(key, facts[key]) for key in facts})


def _shown(key: str, value: Any) -> str:
    if key == "epsilon_per_picture" and math.isinf(value):
        return "infinite: nothing was hidden"
    if key == "epsilon_per_picture":
        return f"{value:g} at most, for a picture learnt from; labels are outside"
    if isinstance(value, list):
        return ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def refuse_existing(path: Path) -> None:
    """Nothing that is there is written over, and no long work begins that could not be kept."""
    if path.exists():
        raise InvalidInput(f"{path} exists already; choose another name or remove it.")
    check_writable(path)
