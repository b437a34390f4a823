"""No test writes into the home folder of whoever runs it.

The tests find the experiments of this copy of the repository, installed or not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from own_cluster import PATIENCE, within
from sfumato.cli import experiment

_PAPERS = Path(__file__).parents[1] / "papers" / "pyproject.toml"


def _experiments_of_this_copy() -> dict[str, EntryPoint]:
    project = tomllib.loads(_PAPERS.read_text(encoding="utf-8"))["project"]
    listed: dict[str, str] = project["entry-points"][experiment.GROUP]
    return {name: EntryPoint(name, place, experiment.GROUP) for name, place in listed.items()}


experiment.find_experiments = _experiments_of_this_copy


@pytest.fixture(scope="session", autouse=True)
def persons_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Data and state of the whole run lie in a temporary folder, also for what it starts."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("person")
    patch.setenv("XDG_DATA_HOME", str(folder / "data"))
    patch.setenv("XDG_STATE_HOME", str(folder / "state"))
    patch.delenv("SFUMATO_LEDGER", raising=False)
    yield folder
    patch.undo()


@pytest.fixture(autouse=True)
def own_ledger(
    persons_folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every test is another person: what one test spent is not missing in the next."""
    monkeypatch.setenv("XDG_DATA_HOME", str(persons_folder / f"data-{id(request.node)}"))


@pytest.fixture
def bounded() -> Iterator[None]:
    """No test of what may hang takes the time of those after it."""
    with within(2 * PATIENCE):
        yield
