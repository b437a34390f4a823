"""All files of the studio: the built pages, and what lies beside them under one address.

pages/     built from web/studio; a test builds them again and compares every byte
words/     the public dictionary, as one tar
networks/  the shipped networks, as they are
runtime/   onnxruntime for the browser, packed; npm's own file, see scripts/studio

The studio is static: `write_studio` puts the same files into a folder that any file server shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sfumato.core.errors import InvalidInput
from sfumato.core.storage import write_file
from sfumato.dictionary.bundled import resolve, tar_of

PAGES = Path(__file__).parent / "pages"
RUNTIME = Path(__file__).parent / "runtime"
#: Part of another package of the tree, read as files: nothing of the adversary is imported.
NETWORKS = Path(__file__).parents[1] / "adversary" / "invert" / "shipped"
DICTIONARY = "open-64k"
WORDS = f"words/{DICTIONARY}.tar"


def file_names() -> list[str]:
    """Every address of the studio, `index.html` among them."""
    return sorted([*_paths(), WORDS])


def read_file(name: str) -> bytes | None:
    """A file of the studio, or None: no name becomes a path."""
    if name == WORDS:
        return b"".join(tar_of(resolve(DICTIONARY)))
    path = _paths().get(name)
    return None if path is None else path.read_bytes()


def has_runtime() -> bool:
    """Whether networks can run in the page; without it everything else works."""
    return any(name.startswith("runtime/") for name in _paths())


def write_studio(folder: Path) -> int:
    """All files, into a folder for any file server; their number."""
    names = file_names()
    for name in names:
        place = folder / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"output must be a folder that can be made, {folder} cannot ({error.strerror}); "
                "choose another one."
            ) from None
        write_file(place, read_file(name) or b"")
    return len(names)


def _paths() -> dict[str, Path]:
    return dict(_found())


def _found() -> Iterator[tuple[str, Path]]:
    for path in PAGES.rglob("*"):
        if path.is_file():
            yield path.relative_to(PAGES).as_posix(), path
    for folder, pattern in ((NETWORKS, "*.onnx"), (RUNTIME, "*.gz")):
        place = "networks" if folder == NETWORKS else "runtime"
        for path in folder.glob(pattern):
            yield f"{place}/{path.name}", path
