"""Golden files for the device in the browser say what the code of today computes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from golden_device import FOLDER, files

MADE = files()


@pytest.mark.parametrize("name", sorted(name for name in MADE if name != "compositions.json"))
def test_golden_files_are_what_the_code_computes(name: str) -> None:
    assert (FOLDER / name).read_bytes() == MADE[name]


def test_golden_compositions_are_what_the_code_computes() -> None:
    kept = json.loads((FOLDER / "compositions.json").read_text(encoding="utf-8"))
    made = json.loads(MADE["compositions.json"])
    # A sum may be rounded otherwise by another NumPy.
    assert _flat(made) == pytest.approx(_flat(kept), rel=1e-9, abs=1e-12)


def _flat(told: Any) -> list[float]:
    if isinstance(told, dict):
        return [number for value in told.values() for number in _flat(value)]
    if isinstance(told, list):
        return [number for value in told for number in _flat(value)]
    return [] if told is None else [float(told)]
