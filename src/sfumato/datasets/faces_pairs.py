"""Lists of pairs that datasets of faces come with: LFW's, CFP's, and the common "1 a.jpg b.jpg"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sfumato.core.errors import InvalidInput
from sfumato.faces.pairs import NUM_FOLDS, Pairs

Row = tuple[str, str, bool, int]


def read_lfw(root: Path) -> tuple[tuple[str, ...], Pairs]:
    """pairs.txt: "folds n", then for each fold n lines "name i j" and n lines "name i name j"."""
    file = root / "pairs.txt"
    lines = _lines(file)
    head = lines[0].split() if lines else []
    if len(head) not in (1, 2) or not all(part.isdigit() for part in head):
        raise InvalidInput(f"{file} must begin with the number of folds and of pairs in them.")
    num_folds, count = (int(head[0]), int(head[1])) if len(head) == 2 else (1, int(head[0]))
    if num_folds < 1 or count < 1 or len(lines) - 1 != 2 * num_folds * count:
        raise InvalidInput(
            f"{file} announces {num_folds} folds of 2 × {count} pairs, {len(lines) - 1} lines "
            "follow; restore it."
        )
    home = root / "lfw" if (root / "lfw").is_dir() else root
    prefix = "lfw/" if home != root else ""
    rows: list[Row] = []
    for number, line in enumerate(lines[1:]):
        part = line.split()
        if len(part) == 3 and part[1].isdigit() and part[2].isdigit():
            people, same = ((part[0], part[1]), (part[0], part[2])), True
        elif len(part) == 4 and part[1].isdigit() and part[3].isdigit():
            people, same = ((part[0], part[1]), (part[2], part[3])), False
        else:
            raise InvalidInput(f"{file} has no pair in line {number + 2}; restore it.")
        first, second = (f"{prefix}{n}/{n}_{int(i):04d}.jpg" for n, i in people)
        rows.append((first, second, same, number // (2 * count)))
    return _joined_pairs(root, rows)


def read_cfp(root: Path, kind: str) -> tuple[tuple[str, ...], Pairs]:
    """Protocol/Split/FF or FP/01 … 10/same.txt and diff.txt: "i,j", numbers of listed pictures.

    i counts in Pair_list_F.txt; j too for FF, in Pair_list_P.txt for FP.
    """
    protocol = root / "Protocol"
    fronts = _cfp_list(protocol / "Pair_list_F.txt")
    others = fronts if kind == "FF" else _cfp_list(protocol / "Pair_list_P.txt")
    rows: list[Row] = []
    folders = sorted(path for path in (protocol / "Split" / kind).glob("*") if path.is_dir())
    for fold, folder in enumerate(folders):
        for name, same in (("same.txt", True), ("diff.txt", False)):
            for line in _lines(folder / name):
                numbers = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*", line)
                if numbers is None or numbers[1] not in fronts or numbers[2] not in others:
                    raise InvalidInput(
                        f"{folder / name} must hold pairs of numbers from the lists of pictures, "
                        "it holds others; restore it."
                    )
                rows.append((fronts[numbers[1]], others[numbers[2]], same, fold))
    return _joined_pairs(root, rows)


def _cfp_list(file: Path) -> dict[str, str]:
    """Number → picture; the file writes paths as seen from its own folder."""
    listed = {}
    for line in _lines(file):
        number, _, path = line.strip().partition(" ")
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        if not number.isdigit() or len(parts) < 3:
            raise InvalidInput(f"{file} must hold lines of a number and a path; restore it.")
        listed[number] = "/".join(parts)
    return listed


def read_listed_pairs(root: Path) -> tuple[tuple[str, ...], Pairs]:
    """*_ann.txt: "1 a.jpg b.jpg" for one person, 0 for two; ten equal folds in the file's order."""
    files = sorted(root.glob("*_ann.txt"))
    if len(files) != 1:
        raise InvalidInput(f"{root} must hold one list of pairs *_ann.txt, it has {len(files)}.")
    lines = _lines(files[0])
    rows: list[Row] = []
    for number, line in enumerate(lines):
        part = line.split()
        if len(part) != 3 or part[0] not in ("0", "1"):
            raise InvalidInput(f"{files[0]} has no pair in line {number + 1}; restore it.")
        fold = number * NUM_FOLDS // len(lines)
        rows.append((part[1], part[2], part[0] == "1", fold))
    return _joined_pairs(root, rows)


def _joined_pairs(root: Path, rows: Iterable[Row]) -> tuple[tuple[str, ...], Pairs]:
    table = list(rows)
    if not table:
        raise InvalidInput(f"{root} lists no pairs of faces.")
    names = sorted({name for row in table for name in row[:2]})
    for name in names:
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise InvalidInput(f"{root} lists a picture outside its folder; restore the list.")
    row_of = {name: number for number, name in enumerate(names)}
    pairs = Pairs(
        np.array([row_of[row[0]] for row in table]),
        np.array([row_of[row[1]] for row in table]),
        np.array([row[2] for row in table]),
        np.array([row[3] for row in table]),
    )
    return tuple(names), pairs


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} is not a readable list of pairs: {error}.") from None
    return [line for line in text.splitlines() if line.strip()]
