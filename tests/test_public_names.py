"""What `import sfumato as sf` and its packages offer: every name of a stub exists and loads."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import sfumato as sf

ROOT = Path(sf.__file__).parent
PACKAGES = sorted(
    ".".join(("sfumato", *stub.parent.relative_to(ROOT).parts)) for stub in ROOT.rglob("*.pyi")
)


def test_the_stubs_are_found() -> None:
    assert {"sfumato", "sfumato.features", "sfumato.device.mechanisms"} <= set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_of_a_stub_loads(name: str) -> None:
    package = import_module(name)
    assert package.__all__
    for public in package.__all__:
        assert getattr(package, public) is not None
        assert public in dir(package)


@pytest.mark.parametrize("name", [*PACKAGES, "sfumato.attacks", "sfumato.distances"])
def test_unknown_names_are_unknown(name: str) -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = import_module(name).nothing


def test_the_version_is_public() -> None:
    assert sf.__version__
