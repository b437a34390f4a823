"""The list of mutants fits the code; `scripts/mutants` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from run_mutants import Mutant, find, mutants, run

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.name)
def test_every_mutant_changes_one_place_and_names_tests_that_exist(mutant: Mutant) -> None:
    find(mutant, ROOT)
    assert mutant.old != mutant.new
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


def small_tree(folder: Path, test: str) -> Path:
    """A package of one function with one test."""
    (folder / "src" / "sfumato").mkdir(parents=True)
    (folder / "src" / "sfumato" / "__init__.py").touch()
    (folder / "src" / "sfumato" / "core.py").write_text("def more(x):\n    return x + 1\n")
    (folder / "test_core.py").write_text(f"from sfumato.core import more\n\n\n{test}\n")
    return folder


def test_a_mutant_that_no_test_notices_survives(tmp_path: Path) -> None:
    tree = small_tree(tmp_path, "def test_more():\n    assert more(1)")
    mutant = Mutant("more is less", "core.py", "x + 1", "x - 2", ["test_core.py"])
    assert run(mutant, tree) is None
    assert "x + 1" in (tree / "src/sfumato/core.py").read_text()


def test_a_mutant_that_a_test_notices_is_told_with_the_test(tmp_path: Path) -> None:
    tree = small_tree(tmp_path, "def test_more():\n    assert more(1) == 2")
    mutant = Mutant("more is less", "core.py", "x + 1", "x - 2", ["test_core.py"])
    assert run(mutant, tree) == "test_core.py::test_more"
    with pytest.raises(LookupError, match="must be once"):
        find(Mutant("gone", "core.py", "x * 3", "x", ["test_core.py"]), tree)
