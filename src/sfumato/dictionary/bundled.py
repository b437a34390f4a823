"""The dictionaries that come with sfumato, found by name."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.archive import PlainTar
from sfumato.core.errors import InvalidInput
from sfumato.core.storage import MANIFEST

_DATA = Path(__file__).parent / "data"


def bundled_names() -> tuple[str, ...]:
    """The names `Dictionary.load` knows without a path."""
    return tuple(sorted(file.parent.name for file in _DATA.glob(f"*/{MANIFEST}")))


def resolve(path: str | Path) -> Path:
    """The folder of a dictionary: a path that exists, or the name of a bundled one."""
    folder = Path(path)
    if folder.exists():
        return folder
    if str(path) in bundled_names():
        return _DATA / str(path)
    raise InvalidInput(
        f"there is no dictionary at {path}; give the folder of one, or a bundled name: "
        f"{', '.join(bundled_names()) or 'none is installed'}."
    )


def tar_of(folder: Path) -> PlainTar:
    """A dictionary's folder as it travels to devices that have none."""
    return PlainTar.of_files(
        folder, sorted(file.name for file in folder.iterdir() if file.is_file())
    )
