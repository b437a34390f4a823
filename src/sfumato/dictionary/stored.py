"""A dictionary on disk: what its folder must hold, and how it is read without trust."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.frozen import check_extractor_name
from sfumato.core.storage import check_file, load_array, load_manifest
from sfumato.dictionary.index import WordIndex, read_index
from sfumato.dictionary.levels import check_levels, open_index
from sfumato.dictionary.words import check_metric, check_stored_words, fingerprint_of

KIND = "dictionary"
FORMAT = 2
#: Without weights: a coarse word is the group of the nearest fine word.
FIRST_FORMAT = 1
INDEX_FILE = "index.faiss"


def read_dictionary(folder: Path) -> dict[str, Any]:
    """The fields of a stored `Dictionary`, every one checked."""
    manifest = load_manifest(folder, kind=KIND)
    if manifest.get("format") not in (FIRST_FORMAT, FORMAT):
        raise InvalidInput(
            f"{folder} has dictionary format {manifest.get('format')!r}, this sfumato reads "
            f"{FIRST_FORMAT} and {FORMAT}; update the older side."
        )
    words = load_array(folder, "words", manifest)
    extractor, metric = str(manifest.get("extractor")), str(manifest.get("metric"))
    sizes = manifest.get("levels", [])
    try:
        check_extractor_name(extractor)
        check_metric(metric, extractor, check_stored_words(words))
        if not isinstance(sizes, list):
            raise InvalidInput("levels must be a list of numbers of words.")
        for size in sizes:
            check_count("levels", size, low=1)
    except InvalidInput as error:
        raise DamagedFile(f"{folder} is damaged: {error}") from None
    if fingerprint_of(words, extractor) != manifest.get("fingerprint"):
        raise DamagedFile(
            f"{folder} is damaged: its words do not have the fingerprint of its manifest; "
            "restore it."
        )
    levels = {size: load_array(folder, f"level-{size}", manifest) for size in sizes}
    weights = load_array(folder, "weights", manifest) if manifest["format"] == FORMAT else None
    try:
        check_levels(levels, weights, len(words))
    except InvalidInput as error:
        raise DamagedFile(f"{folder} is damaged: {error}") from None
    opener: Callable[[], WordIndex]
    if INDEX_FILE in manifest["files"]:
        file = check_file(folder, INDEX_FILE, manifest)

        def opener() -> WordIndex:
            return read_index(file, words, metric=metric)
    else:
        said = manifest.get("index")
        has_cells = weights is not None and isinstance(said, dict) and said.get("kind") == "cells"
        kind = "cells" if has_cells and levels else "exact"

        def opener() -> WordIndex:
            return open_index(words, metric, kind, levels, weights)

    own = {"kind", "format", "checksum", "files", "levels"}
    own |= set(identity_of(words, extractor, metric, ""))
    return {
        "words": words,
        "extractor": extractor,
        "metric": metric,
        "fingerprint": manifest["fingerprint"],
        "_facts": {key: value for key, value in manifest.items() if key not in own},
        "_open_index": opener,
        "levels": levels,
        "weights": weights,
    }


def identity_of(
    words: NDArray[Any], extractor: str, metric: str, fingerprint: str
) -> dict[str, str | int]:
    """What a manifest says of the words themselves."""
    return {
        "extractor": extractor,
        "metric": metric,
        "num_words": int(words.shape[0]),
        "dimension": int(words.shape[1]),
        "dtype": str(words.dtype),
        "fingerprint": fingerprint,
    }
