"""Tables in the docs are what their experiment prints of the outcomes that are kept.

A page marks such a table: `<!-- table: NAME -->`, the table as a code block, `<!-- end -->`. The
outcomes are in papers/outcomes/NAME, or NAME/PART for a second table of an experiment. Where a page
shows a part of what is printed, the mark says how many of the first lines, or how the first line of
the part begins and the next one behind it: `<!-- table: NAME 6 -->`,
`<!-- table: NAME "verification" "history" -->`. Options of the command stand behind the name:
`<!-- table: NAME [--all] -->`. After a new run: RECORD=1 pytest
tests/papers/test_docs_tables.py writes the tables, then read the difference.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from commands import sfumato

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "papers" / "outcomes"
MARK = re.compile(
    r'(<!-- table: (\S+)(?: \[(.*?)\])?(?: (\d+)| "(.*?)" "(.*?)")? -->\n.*?<!-- end -->)',
    re.DOTALL,
)
BLOCK = re.compile(r"(?<=```\n).*?(?=```\n)", re.DOTALL)
#: Lines that tell where files were written.
_WHERE = ("outcomes:", "plot:", "page:", "predictions:", "results:")
MAX_BYTES = 1 << 20

MARKED = [
    (page, *found)
    for page in sorted((ROOT / "docs").glob("*.md"))
    for found in MARK.findall(page.read_text(encoding="utf-8"))
]


def part(lines: list[str], count: str, first: str, behind: str) -> str:
    """So many of the lines, or those from one that begins so to the next that begins otherwise."""
    if count:
        return "".join(lines[: int(count)]).rstrip("\n") + "\n"
    starts = [i for i, line in enumerate(lines) if line.startswith(first)]
    assert starts, f"no line begins with {first!r}"
    ends = [i for i in range(starts[0] + 1, len(lines)) if behind and lines[i].startswith(behind)]
    return "".join(lines[starts[0] : ends[0] if ends else None]).rstrip("\n") + "\n"


def printed(name: str, options: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the experiment prints of its kept outcomes; plots go to the folder."""
    kept = folder / "kept"
    shutil.copytree(KEPT / name, kept)
    inside = kept / "predictions"
    experiment = name.split("/")[0]
    found = inside if inside.is_dir() else kept
    assert sfumato("experiment", experiment, "--evaluate", found, *options.split()) == 0
    lines = capsys.readouterr().out.splitlines(keepends=True)
    return [line for line in lines if not line.startswith(_WHERE)]


@pytest.mark.parametrize(
    ("page", "text", "name", "options", "count", "first", "behind"),
    MARKED,
    ids=[f"{page.name}-{name}-{first}" for page, _, name, _, _, first, _ in MARKED],
)
def test_a_table_in_the_docs_is_printed_from_its_kept_outcomes(
    page: Path,
    text: str,
    name: str,
    options: str,
    count: str,
    first: str,
    behind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wanted = part(printed(name, options, tmp_path, capsys), count, first, behind)
    if os.environ.get("RECORD"):
        fresh = BLOCK.sub(lambda _: wanted, text, count=1)
        whole = page.read_text(encoding="utf-8")
        page.write_text(whole.replace(text, fresh), encoding="utf-8")
        text = fresh
    shown = BLOCK.search(text)
    assert shown is not None
    assert shown.group() == wanted


def test_every_kept_outcome_has_its_table_and_is_small() -> None:
    files = [path for path in KEPT.rglob("*") if path.suffix in (".gz", ".json")]
    homes = [path.parent.parent if path.parent.name == "predictions" or (
             path.parent.parent / "outcomes.jsonl").is_file() else path.parent
             for path in files]  # fmt: skip
    folders = {home.relative_to(KEPT).as_posix() for home in homes}
    assert folders
    assert folders == {name for _, _, name, *_ in MARKED}
    assert all(path.stat().st_size <= MAX_BYTES for path in files)
