"""The tests find the experiments of this copy of the repository, installed or not."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

from sfumato.cli import experiment

_FILE = Path(__file__).parents[1] / "papers" / "pyproject.toml"


def _of_this_copy() -> dict[str, EntryPoint]:
    project = tomllib.loads(_FILE.read_text(encoding="utf-8"))["project"]
    listed: dict[str, str] = project["entry-points"][experiment.GROUP]
    return {name: EntryPoint(name, place, experiment.GROUP) for name, place in listed.items()}


experiment.find_experiments = _of_this_copy
