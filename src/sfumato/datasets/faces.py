"""Faces on disk: identity folders, and the layouts of LFW, CFP, AgeDB, UTKFace and FairFace.

A layout is recognised by what lies in the folder, or named. Pictures are not opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.core.errors import InvalidInput, Missing
from sfumato.datasets.faces_attributes import read_agedb_names, read_fairface, read_utkface
from sfumato.datasets.faces_pairs import read_cfp, read_lfw, read_listed_pairs
from sfumato.faces.pairs import Pairs

SUFFIXES = (".jpg", ".jpeg", ".png", ".pgm", ".ppm", ".bmp", ".webp", ".tif", ".tiff", ".gif")

LAYOUTS = ("lfw", "cfp-ff", "cfp-fp", "listed", "agedb", "utkface", "fairface", "identities")


@dataclass(frozen=True, eq=False)
class FaceSet:
    """Pictures of faces, and what is known about them.

    name        of the folder and its layout
    pictures    paths relative to `root`, in a fixed order
    identities  who is on each picture; empty where nobody knows
    attributes  such as gender or race: one value for each picture
    pairs       the dataset's own; None where they are to be drawn
    """

    name: str
    layout: str
    root: Path
    pictures: tuple[str, ...]
    identities: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pairs: Pairs | None = None

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
    chosen = _recognise(root) if layout == "auto" else layout
    if chosen not in _READERS:
        raise InvalidInput(f"layout must be one of auto, {', '.join(LAYOUTS)}, got {layout!r}.")
    return _READERS[chosen](root, chosen)


def _recognise(root: Path) -> str:
    if (root / "pairs.txt").is_file():
        return "lfw"
    if (root / "Protocol").is_dir():
        return "cfp-ff"
    if any(root.glob("*_ann.txt")):
        return "listed"
    if any(root.glob("fairface_label*.csv")):
        return "fairface"
    names = _pictures_in(root)
    if names and read_utkface(names, strict=False):
        return "utkface"
    if names and read_agedb_names(names, strict=False):
        return "agedb"
    return "identities"


def _identities(root: Path, layout: str) -> FaceSet:
    """One folder per person, as AT&T's faces are stored."""
    pictures = [
        f"{person.name}/{name}"
        for person in sorted(root.iterdir(), key=_natural)
        if person.is_dir()
        for name in _pictures_in(person)
    ]
    people = tuple(name.split("/")[0] for name in pictures)
    if len(set(people)) < 2:
        raise InvalidInput(
            f"{root} must hold a folder of pictures for each of at least two people, it has "
            f"{len(set(people))}."
        )
    return FaceSet(root.name, layout, root, tuple(pictures), people)


def _lfw(root: Path, layout: str) -> FaceSet:
    pictures, pairs = read_lfw(root)
    return FaceSet(root.name, layout, root, pictures, _parents(pictures), pairs=pairs)


def _cfp(root: Path, layout: str) -> FaceSet:
    pictures, pairs = read_cfp(root, layout.split("-")[1].upper())
    people = tuple(name.split("/")[-3] for name in pictures)
    return FaceSet(root.name, layout, root, pictures, people, pairs=pairs)


def _listed(root: Path, layout: str) -> FaceSet:
    pictures, pairs = read_listed_pairs(root)
    return FaceSet(root.name, layout, root, pictures, pairs=pairs)


def _agedb(root: Path, layout: str) -> FaceSet:
    """AgeDB gives no pairs of its own in this layout; they are drawn by identity."""
    table = read_agedb_names(_pictures_in(root), strict=True)
    people = table.pop("identity")
    return FaceSet(root.name, layout, root, tuple(_pictures_in(root)), people, table)


def _utkface(root: Path, layout: str) -> FaceSet:
    table = read_utkface(_pictures_in(root), strict=True)
    return FaceSet(root.name, layout, root, tuple(_pictures_in(root)), attributes=table)


def _fairface(root: Path, layout: str) -> FaceSet:
    pictures, table = read_fairface(root)
    return FaceSet(root.name, layout, root, pictures, attributes=table)


_READERS: dict[str, Callable[[Path, str], FaceSet]] = {
    "lfw": _lfw,
    "cfp-ff": _cfp,
    "cfp-fp": _cfp,
    "listed": _listed,
    "agedb": _agedb,
    "utkface": _utkface,
    "fairface": _fairface,
    "identities": _identities,
}


def _parents(pictures: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(Path(name).parent.name for name in pictures)


def _pictures_in(folder: Path) -> list[str]:
    files = [file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES]
    return [file.name for file in sorted(files, key=_natural) if file.is_file()]


def _natural(path: Path) -> tuple[int, str]:
    """s2 before s10, and the same order everywhere."""
    digits = "".join(char for char in path.stem if char.isdigit())
    return (int(digits) if digits and len(digits) < 9 else -1, path.name)
