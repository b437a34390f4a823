"""What is stored beside a map's own arrays: word indices and arrays that follow from the map.

A sidecar is a folder inside the map's, with arrays and a manifest that names the map's checksum. It
can be computed again at any time, so one that is absent, damaged or another map's counts as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sfumato.core.errors import SfumatoError
from sfumato.core.storage import load_array, load_manifest, save_arrays
from sfumato.matching.vocabulary import InvertedIndex

WORDS = "words-"  # and the fingerprint of a dictionary
DERIVED = "derived"
_WORDS_KIND = "word index"
_DERIVED_KIND = "derived arrays of a map"
_DERIVED_ARRAYS = ("image_of_feature", "observations_per_image", "point_starts", "point_rows")


@dataclass(frozen=True)
class Sidecars:
    """The sidecars of one stored map. Reading never writes; writing raises OSError.

    checksum  of the map's manifest
    verify    compare checksums of arrays; not needed where another process has just done so
    """

    folder: Path
    checksum: str
    verify: bool = True

    def word_index(self, name: str) -> InvertedIndex | None:
        """The index of a dictionary, or None."""
        arrays = self._load(f"{WORDS}{name}", _WORDS_KIND, ("starts", "rows"))
        return InvertedIndex(**arrays) if arrays else None

    def save_word_index(self, name: str, index: InvertedIndex) -> None:
        arrays = {"starts": index.starts, "rows": index.rows}
        self._save(f"{WORDS}{name}", _WORDS_KIND, arrays, {"dictionary": name})

    def word_indices(self) -> list[str]:
        """Fingerprints of the dictionaries that have an index."""
        return sorted(path.name.removeprefix(WORDS) for path in self.folder.glob(f"{WORDS}*"))

    def derived(self) -> dict[str, NDArray[Any]]:
        """The arrays that follow from the map, all of them or none."""
        return self._load(DERIVED, _DERIVED_KIND, _DERIVED_ARRAYS)

    def save_derived(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._save(DERIVED, _DERIVED_KIND, {name: arrays[name] for name in _DERIVED_ARRAYS}, {})

    def _load(self, name: str, kind: str, arrays: tuple[str, ...]) -> dict[str, NDArray[Any]]:
        folder = self.folder / name
        try:
            manifest = load_manifest(folder, kind=kind)
            if manifest.get("map") != self.checksum:
                return {}
            return {
                array: load_array(folder, array, manifest, verify=self.verify) for array in arrays
            }
        except (SfumatoError, OSError):
            return {}

    def _save(
        self, name: str, kind: str, arrays: Mapping[str, NDArray[Any]], more: Mapping[str, str]
    ) -> None:
        manifest = {"kind": kind, "map": self.checksum, **more}
        save_arrays(self.folder / name, arrays, manifest, replace=True, make_parents=False)
