"""One version, in src/sfumato/__init__.py; whoever repeats it agrees."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import sfumato

ROOT = Path(__file__).parents[1]


def test_the_papers_and_the_citation_are_of_this_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", sfumato.__version__)
    papers = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))
    assert papers["project"]["version"] == sfumato.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [sfumato.__version__]


def test_the_package_takes_its_version_from_the_source() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "version" in tomllib.loads(text)["project"]["dynamic"]
    assert sfumato.__version__ not in text


def test_the_citation_names_the_home_of_the_package() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nurl: {urls['Homepage']}\n" in citation
