"""What `import sfumato as sf` offers, and that it stays light until used."""

from __future__ import annotations

import pytest

import sfumato as sf


@pytest.mark.parametrize("name", sf.__all__)
def test_every_public_name_loads(name: str) -> None:
    assert getattr(sf, name) is not None
    assert name in dir(sf)


def test_unknown_names_are_unknown() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sf.nothing
    assert sf.__version__
