"""No test writes into the home folder of whoever runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Data and state of the whole run lie in a temporary folder, also for what it starts."""
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("person")
    patch.setenv("XDG_DATA_HOME", str(folder / "data"))
    patch.setenv("XDG_STATE_HOME", str(folder / "state"))
    patch.delenv("SFUMATO_LEDGER", raising=False)
    yield
    patch.undo()
