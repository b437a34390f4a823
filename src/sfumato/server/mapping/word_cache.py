"""Word indices beside a stored map: made once per dictionary, then only mapped into memory."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.errors import SfumatoError
from sfumato.core.storage import load_array, load_manifest, save_arrays
from sfumato.matching.vocabulary import InvertedIndex

KIND = "word index"


def _folder(map_folder: Path, fingerprint: str) -> Path:
    return map_folder / f"words-{fingerprint}"


def load_index(
    map_folder: Path, map_checksum: str, fingerprint: str, *, verify: bool = True
) -> InvertedIndex | None:
    """The stored index, or None: absent, damaged and foreign ones are made anew."""
    folder = _folder(map_folder, fingerprint)
    try:
        manifest = load_manifest(folder, kind=KIND)
        if manifest.get("map") != map_checksum:
            return None
        return InvertedIndex(
            starts=load_array(folder, "starts", manifest, verify=verify),
            rows=load_array(folder, "rows", manifest, verify=verify),
        )
    except (SfumatoError, OSError):
        return None


def save_index(map_folder: Path, map_checksum: str, fingerprint: str, index: InvertedIndex) -> None:
    """Store an index; a map that cannot be written to works on without."""
    try:
        write_index(map_folder, map_checksum, fingerprint, index)
    except OSError:
        return


def write_index(
    map_folder: Path, map_checksum: str, fingerprint: str, index: InvertedIndex
) -> None:
    """Store an index, or raise OSError."""
    manifest = {"kind": KIND, "map": map_checksum, "dictionary": fingerprint}
    folder = _folder(map_folder, fingerprint)
    save_arrays(folder, index.arrays(), manifest, replace=True, make_parents=False)


def stored_indices(map_folder: Path) -> list[str]:
    """Fingerprints of the dictionaries a stored map is filed under."""
    return sorted(path.name.removeprefix("words-") for path in map_folder.glob("words-*"))
