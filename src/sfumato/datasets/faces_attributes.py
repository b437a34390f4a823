"""What datasets say about faces: UTKFace and AgeDB in file names, FairFace in a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.core.errors import InvalidInput

Table = dict[str, tuple[str, ...]]

_UTK = re.compile(r"(\d{1,3})_([01])_([0-4])_(\d+)(?:\.jpg\.chip)?\.\w+")
_UTK_GENDER = ("male", "female")
_UTK_RACE = ("white", "black", "asian", "indian", "others")
_AGEDB = re.compile(r"\d+_(.+)_(\d{1,3})_([mf])\.\w+")
_MISNAMED = 0.01  # of a set: so many may have other names, and are left out
_FAIRFACE = {"gender": "gender", "race": "race", "age": "age"}


def read_utkface(names: Sequence[str], *, strict: bool) -> Table:
    """[age]_[gender]_[race]_[date].jpg → gender, race and age by decades.

    A file whose name says less (a few of the dataset do) is left out. Where these are more than one
    in a hundred it is another set: refused, or {} where not strict.
    """
    rows = _matches(_UTK, names, "age_gender_race_date", strict)
    if not rows:
        return {}
    return {
        "picture": tuple(row[0] for row in rows),
        "gender": tuple(_UTK_GENDER[int(row[2])] for row in rows),
        "race": tuple(_UTK_RACE[int(row[3])] for row in rows),
        "age": tuple(_decade(int(row[1])) for row in rows),
    }


def read_agedb_names(names: Sequence[str], *, strict: bool) -> Table:
    """[number]_[name]_[age]_[m or f].jpg → identity, gender and age by decades."""
    rows = _matches(_AGEDB, names, "number_name_age_gender", strict)
    if not rows:
        return {}
    return {
        "picture": tuple(row[0] for row in rows),
        "identity": tuple(row[1] for row in rows),
        "gender": tuple("male" if row[3] == "m" else "female" for row in rows),
        "age": tuple(_decade(int(row[2])) for row in rows),
    }


def read_fairface(root: Path) -> tuple[tuple[str, ...], Table]:
    """fairface_label_*.csv or labels.csv: columns file, age, gender, race."""
    pictures: list[str] = []
    values: dict[str, list[str]] = {name: [] for name in _FAIRFACE}
    for file in fairface_tables(root):
        try:
            with file.open(encoding="utf-8", newline="") as handle:
                rows = list(csv.DictReader(handle))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InvalidInput(f"{file} is not a readable table: {error}.") from None
        for row in rows:
            if not _is_whole(row):
                raise InvalidInput(f"{file} must have columns file, age, gender, race; restore it.")
            pictures.append(row["file"])
            for name, column in _FAIRFACE.items():
                values[name].append(row[column])
    if len(set(pictures)) != len(pictures):
        raise InvalidInput(f"{root} names a picture twice; restore its tables.")
    return tuple(pictures), {name: tuple(column) for name, column in values.items()}


def fairface_tables(root: Path) -> list[Path]:
    """The tables of a folder, named as FairFace names them, or labels.csv."""
    return sorted(root.glob("fairface_label*.csv")) or [*root.glob("labels.csv")]


def _decade(age: int) -> str:
    return f"{age // 10 * 10}-{age // 10 * 10 + 9}"


def _is_whole(row: Mapping[str, str | None]) -> bool:
    path = row.get("file") or ""
    inside = bool(path) and ".." not in Path(path).parts and not Path(path).is_absolute()
    return inside and all(row.get(column) for column in _FAIRFACE.values())


def _matches(
    pattern: re.Pattern[str], names: Sequence[str], form: str, strict: bool
) -> list[re.Match[str]]:
    """The parts of every name that fits; where many do not, a refusal, or none if not strict."""
    matches = [match for name in names if (match := pattern.fullmatch(name))]
    bad = len(names) - len(matches)
    if bad <= len(names) * _MISNAMED:
        return matches
    if strict:
        raise InvalidInput(
            f"files must be named {form}, {bad} of {len(names)} are not; rename them or leave "
            "them out."
        )
    return []
