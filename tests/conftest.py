"""No test writes into the home folder of whoever runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


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
