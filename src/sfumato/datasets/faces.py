"""Faces on disk: identity folders, and the layouts of LFW, CFP, AgeDB, UTKFace and FairFace.

A layout is recognised by what lies in the folder, or named. Pictures are not opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import InvalidInput, Missing
from sfumato.datasets.faces_attributes import (
    Table,
    fairface_tables,
    read_agedb_names,
    read_fairface,
    read_utkface,
)
from sfumato.datasets.faces_pairs import read_cfp, read_lfw, read_listed_pairs
from sfumato.faces.pairs import Pairs

SUFFIXES = (".jpg", ".jpeg", ".png", ".pgm", ".ppm", ".bmp", ".webp", ".tif", ".tiff", ".gif")


@dataclass(frozen=True, eq=False)
class FaceSet:
    """Pictures of faces, and what is known about them.

    name        of the folder and its layout
    pictures    paths relative to `root`, in a fixed order
    identities  who is on each picture; empty where nobody knows
    attributes  such as gender or race: one value for each picture
    pairs       the dataset's own; None where they are to be drawn
    left_out    files whose names do not say what the others' do
    """

    name: str
    layout: str
    root: Path
    pictures: tuple[str, ...]
    identities: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pairs: Pairs | None = None
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.pictures:
            raise InvalidInput(f"{self.root} holds no pictures of faces.")

    def __len__(self) -> int:
        return len(self.pictures)


def open_faces(folder: str | Path, layout: str = "auto") -> FaceSet:
    """Read the lists of a folder of faces."""
    root = Path(folder)
    if not root.is_dir():
        raise Missing(f"there is no folder of faces at {root}.")
    check_choice("layout", layout, ("auto", *_READERS))
    chosen = _recognise(root) if layout == "auto" else layout
    return FaceSet(root.name, chosen, root, **_READERS[chosen](root))


def people_in_no_pair(folder: str | Path) -> FaceSet:
    """The pictures of LFW's people who are in none of its pairs: public faces of the same kind.

    So the people who are verified and the public ones have nobody in common.
    """
    faces = open_faces(folder)
    if faces.layout != "lfw":
        raise InvalidInput(
            f"{faces.name} has no people outside its pairs, only LFW has; give a folder of others."
        )
    home = faces.root / "lfw" if (faces.root / "lfw").is_dir() else faces.root
    tested, prefix = set(faces.identities), "lfw/" if home != faces.root else ""
    people = [path for path in sorted(home.iterdir()) if path.is_dir() and path.name not in tested]
    pictures = tuple(f"{prefix}{who.name}/{name}" for who in people for name in _pictures_in(who))
    if not pictures:
        raise InvalidInput(f"everybody in {faces.root} is in a pair; give a folder of others.")
    identities = tuple(name.split("/")[-2] for name in pictures)
    return FaceSet(f"{faces.name}-rest", "identities", faces.root, pictures, identities)


def some_faces(faces: FaceSet, count: int) -> FaceSet:
    """About so many pictures: whole people where they are known, else spread over all.

    Pairs of the dataset's own are thinned out evenly, of each fold and kind alike.
    """
    check_count("at most", count, low=2)
    if len(faces) <= count:
        return faces
    if faces.pairs is not None:
        return _some_pairs(faces, faces.pairs, count)
    groups = list(dict.fromkeys(faces.identities)) or list(faces.pictures)
    keep = max(2, count * len(groups) // len(faces))
    chosen = {groups[int(i * len(groups) / keep)] for i in range(keep)}
    who = faces.identities or faces.pictures
    rows = [row for row, name in enumerate(who) if name in chosen]
    return _taken(faces, rows, None)


def _some_pairs(faces: FaceSet, pairs: Pairs, count: int) -> FaceSet:
    step = len(faces) / count
    kept: list[int] = []
    for fold in range(pairs.num_folds):
        for same in (True, False):
            alike = np.flatnonzero((pairs.folds == fold) & (pairs.same == same)).tolist()
            kept += [alike[int(i * step)] for i in range(max(int(len(alike) / step), 1))]
    first, second = pairs.first[kept].tolist(), pairs.second[kept].tolist()
    rows = sorted({*first, *second})
    place = {row: number for number, row in enumerate(rows)}
    fewer = Pairs(
        np.array([place[row] for row in first]),
        np.array([place[row] for row in second]),
        pairs.same[kept],
        pairs.folds[kept],
    )
    return _taken(faces, rows, fewer)


def _taken(faces: FaceSet, rows: list[int], pairs: Pairs | None) -> FaceSet:
    def part(values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(values[row] for row in rows) if values else ()

    return replace(
        faces,
        pictures=part(faces.pictures),
        identities=part(faces.identities),
        attributes={name: part(tuple(column)) for name, column in faces.attributes.items()},
        pairs=pairs,
    )


def _recognise(root: Path) -> str:
    if (root / "pairs.txt").is_file():
        return "lfw"
    if (root / "Protocol").is_dir():
        return "cfp-ff"
    if any(root.glob("*_ann.txt")):
        return "listed"
    if fairface_tables(root):
        return "fairface"
    names = _pictures_in(root)
    if names and read_utkface(names, strict=False):
        return "utkface"
    if names and read_agedb_names(names, strict=False):
        return "agedb"
    return "identities"


def _identities(root: Path) -> dict[str, Any]:
    """One folder per person, as AT&T's faces are stored."""
    pictures = tuple(
        f"{person.name}/{name}"
        for person in sorted(root.iterdir(), key=_natural)
        if person.is_dir()
        for name in _pictures_in(person)
    )
    people = tuple(name.split("/")[0] for name in pictures)
    if len(set(people)) < 2:
        raise InvalidInput(
            f"{root} must hold a folder of pictures for each of at least two people, it has "
            f"{len(set(people))}."
        )
    return {"pictures": pictures, "identities": people}


def _listed(listed: tuple[tuple[str, ...], Pairs], person: int | None) -> dict[str, Any]:
    """Pictures and pairs of a list; `person` is the part of a path that names who is on it."""
    pictures, pairs = listed
    people = () if person is None else tuple(name.split("/")[person] for name in pictures)
    return {"pictures": pictures, "identities": people, "pairs": pairs}


def _named(root: Path, read_names: Callable[..., Table]) -> dict[str, Any]:
    """Pictures whose file names say what is on them; pairs are drawn by identity."""
    names = tuple(_pictures_in(root))
    table = read_names(names, strict=True)
    kept = table.pop("picture", ())
    left_out = tuple(sorted(set(names) - set(kept)))
    return {
        "pictures": kept,
        "identities": table.pop("identity", ()),
        "attributes": table,
        "left_out": left_out,
    }


def _fairface(root: Path) -> dict[str, Any]:
    pictures, table = read_fairface(root)
    return {"pictures": pictures, "attributes": table}


#: How each layout is read: the fields of a FaceSet.
_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "lfw": lambda root: _listed(read_lfw(root), -2),
    "cfp-ff": lambda root: _listed(read_cfp(root, "FF"), -3),
    "cfp-fp": lambda root: _listed(read_cfp(root, "FP"), -3),
    "listed": lambda root: _listed(read_listed_pairs(root), None),
    "agedb": lambda root: _named(root, read_agedb_names),
    "utkface": lambda root: _named(root, read_utkface),
    "fairface": _fairface,
    "identities": _identities,
}


def _pictures_in(folder: Path) -> list[str]:
    files = [file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES]
    return [file.name for file in sorted(files, key=_natural) if file.is_file()]


def _natural(path: Path) -> tuple[int, str]:
    """s2 before s10, and the same order everywhere."""
    digits = "".join(char for char in path.stem if char.isdigit())
    return (int(digits) if digits and len(digits) < 9 else -1, path.name)
