"""A file fits in one head: 300 lines at most."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_no_file_is_longer_than_300_lines() -> None:
    folders = ("src", "papers", "tests", "benchmarks", "scripts")
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
    }
    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > 300} == {}
