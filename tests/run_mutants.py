"""Breaks one line of a copy of the tree at a time, and looks which test notices.

python tests/run_mutants.py FOLDER        all of tests/mutants.toml
python tests/run_mutants.py FOLDER wire   those whose name contains a word
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

SOURCE = "src/sfumato"
LIST = Path(__file__).with_name("mutants.toml")


@dataclass(frozen=True)
class Mutant:
    """One fault: the text `old` becomes `new`, and one of `tests` must fail."""

    name: str
    where: str
    old: str
    new: str
    tests: list[str]


def mutants() -> list[Mutant]:
    content = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [Mutant(**entry) for entry in content["mutant"]]


def find(mutant: Mutant, tree: Path) -> Path:
    """The one file that holds the text of a mutant."""
    files = sorted((tree / SOURCE).glob(mutant.where))
    counts = {path: path.read_text(encoding="utf-8").count(mutant.old) for path in files}
    if sum(counts.values()) != 1:
        raise LookupError(
            f"{mutant.name}: the text {mutant.old!r} must be once in {mutant.where}, found "
            f"{sum(counts.values())} times; let tests/mutants.toml follow the code."
        )
    return next(path for path, count in counts.items() if count)


def run(mutant: Mutant, tree: Path) -> str | None:
    """Break the line, run the tests, mend it again: the first test that failed, or None."""
    path = find(mutant, tree)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return first_failure(mutant.tests, tree)
    finally:
        path.write_text(whole, encoding="utf-8")


def first_failure(tests: list[str], tree: Path) -> str | None:
    """The test that failed first, or None where all passed."""
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)  # not a line of a log
    if done.returncode != 1 or failed is None:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return failed[1]


def main() -> int:
    """Print a table of mutants and what noticed them; 1 if one survived."""
    tree, words = Path(sys.argv[1]).resolve(), sys.argv[2:]
    chosen = [mutant for mutant in mutants() if all(word in mutant.name for word in words)]
    for mutant in chosen:
        find(mutant, tree)  # all of them, before the long work
    needed = sorted({test for mutant in chosen for test in mutant.tests})
    broken = first_failure(needed, tree)
    if broken is not None:
        print(f"{broken} fails on the code as it is; mend that first.")
        return 2
    survived, start = 0, time.monotonic()
    for mutant in chosen:
        noticed = run(mutant, tree)
        survived += noticed is None
        print(f"{mutant.name:58} {noticed or 'SURVIVED'}", flush=True)
    seconds = time.monotonic() - start
    print(f"{len(chosen)} mutants, {survived} survived ({seconds:.0f} s)")
    return 1 if survived else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LookupError as error:
        sys.exit(str(error))
