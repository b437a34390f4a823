"""Every public name has an example that prints what it shows; so do the blocks of README.md."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.datasets.gallery import GallerySettings

README = Path(__file__).parents[1] / "README.md"


def public_names() -> dict[str, Any]:
    """Classes and functions by the name people write; `sf.classification` has its own test."""
    places = {"sf": sf, "sf.attacks": sf.attacks, "sf.distances": sf.distances}
    found = {
        f"{place}.{name}": getattr(module, name)
        for place, module in places.items()
        for name in module.__all__
    }
    return {name: item for name, item in found.items() if inspect.isclass(item) or callable(item)}


NAMES = public_names()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of the gallery are rendered once for all examples."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def test_the_names_are_found() -> None:
    assert {"sf.protect", "sf.attacks.vertex", "sf.distances.nearest"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_prints_what_it_shows(name: str) -> None:
    text = inspect.getdoc(NAMES[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, {"sf": sf, "np": np}, name, None, 0)
    assert example.examples, f"{name} has no example"
    told = io.StringIO()
    failed = doctest.DocTestRunner(verbose=False).run(example, out=told.write).failed
    assert not failed, told.getvalue()


def blocks_of_the_readme() -> Iterator[tuple[str, str]]:
    """Blocks of Python, each with the output that is shown right below it, or with nothing."""
    text = README.read_text(encoding="utf-8")
    for match in re.finditer(r"^```python\n(.*?)^```\n(?:```\n(.*?)^```$)?", text, re.M | re.S):
        yield match[1], match[2] or ""


def test_the_blocks_of_the_readme_print_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room is drawn smaller than in the README, where it takes a minute."""
    small = partial(GallerySettings, 320, 240, num_mapping=8, num_queries=4)
    monkeypatch.setattr("sfumato.datasets.gallery.GallerySettings", small)
    blocks = list(blocks_of_the_readme())
    assert len(blocks) >= 2
    shown = [output for _, output in blocks if "(" in output]
    assert shown, "the first block shows its output"
    for code, output in blocks:
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            exec(compile(code, "README.md", "exec"), {})
        if told.getvalue() or output in shown:
            assert told.getvalue() == output
