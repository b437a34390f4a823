"""Which public words a client trusts: its own, or those whose fingerprint it was told.

A fingerprint names the words and nothing else. So words fetched from a server are taken
only if they have the fingerprint that was pinned, and the rest of what comes along is not
used: the search index is made anew here, because a file of it would be run, not read.
Whatever the words, a release keeps its ε: any fixed map from descriptors to words does.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfumato.client.archives import unpack
from sfumato.client.errors import BadAnswer
from sfumato.core.checks import check_fingerprint
from sfumato.core.errors import InvalidInput, Mismatch, SfumatoError
from sfumato.core.files import open_plain, parse_json, read_limited
from sfumato.core.npy_file import map_array
from sfumato.core.storage import MANIFEST, MAX_MANIFEST_BYTES
from sfumato.dictionary import Dictionary

_WANTED = re.compile(r"manifest\.json|(words|weights)\.npy|level-[1-9][0-9]{0,7}\.npy")
_PIN = re.compile(r"[0-9a-f]{64}")
REFUSAL = (
    "a client needs to know its words: give dictionary= a folder, a bundled name, or the "
    "fingerprint you trust; a server's own word for it is not taken unseen."
)


def own_words(given: Dictionary | str | os.PathLike[str] | None) -> Dictionary | str | None:
    """A dictionary that is here, or the fingerprint of one that is to be fetched."""
    if given is None or isinstance(given, Dictionary):
        return given
    text = os.fspath(given)
    if _PIN.fullmatch(text) and not Path(text).exists():
        return text
    return Dictionary.load(text)


def fingerprints_of(dictionary: Dictionary) -> frozenset[str]:
    """All fingerprints a release of this dictionary may carry: its own and its levels'."""
    return frozenset(
        dictionary.fingerprint_at(size) for size in (*dictionary.levels, dictionary.num_words)
    )


def family_of(dictionary: Dictionary) -> frozenset[str]:
    """The same and, for a level, the fingerprint of the whole it belongs to."""
    whole = dictionary.manifest.get("level_of")
    return fingerprints_of(dictionary) | ({whole} if isinstance(whole, str) else frozenset())


def cached_words(cache: Path, pin: str) -> Dictionary | None:
    """Words that were fetched before, checked again; None where they were not."""
    folder = cache / check_fingerprint(pin)
    if not folder.exists():
        return None
    try:
        return _as_pinned(Dictionary.load(folder), pin)
    except (SfumatoError, OSError) as error:
        raise Mismatch(
            f"the cached words in {folder} are not what was pinned ({error}); remove that folder "
            "and they are fetched again."
        ) from None


def keep_words(archive: BinaryIO, pin: str, cache: Path) -> Dictionary:
    """Check a fetched archive and keep its words in the cache, whole or not at all."""
    with tempfile.TemporaryDirectory(prefix="sfumato-words-") as scratch:
        folder = Path(scratch)
        unpack(archive, folder, _WANTED, "dictionary")
        fetched = _rebuild(folder)
        found = _as_pinned(fetched, pin)
        try:
            fetched.save(cache / pin)
        except (InvalidInput, OSError) as error:
            if not (cache / pin).exists():  # another program was not first: it is the disk
                raise InvalidInput(f"the words cannot be kept in {cache}: {error}") from None
    return found


def _as_pinned(dictionary: Dictionary, pin: str) -> Dictionary:
    if dictionary.fingerprint == pin:
        return dictionary
    for size in dictionary.levels:
        if dictionary.fingerprint_at(size) == pin:
            return dictionary.at(size)
    raise Mismatch(
        f"the words have the fingerprint {dictionary.fingerprint[:16]}…, {pin[:16]}… is pinned; "
        "they are not used and nothing was sent."
    )


def _rebuild(folder: Path) -> Dictionary:
    """A dictionary from words and levels alone, with an index of our own."""
    try:
        manifest = parse_json(read_limited(folder / MANIFEST, MAX_MANIFEST_BYTES, what="manifest"))
        extractor, metric = manifest["extractor"], manifest["metric"]
        words = _array(folder / "words.npy", "fu")
        levels = {
            int(path.stem.removeprefix("level-")): np.asarray(_array(path, "u"), dtype=np.uint32)
            for path in sorted(folder.glob("level-*.npy"))
        }
        file = folder / "weights.npy"
        weights = np.asarray(_array(file, "u"), dtype=np.uint32) if file.exists() else None
        told = manifest.get("index")
        kind = told.get("kind") if isinstance(told, dict) else None
        return Dictionary.from_words(
            words,
            extractor=extractor,
            metric=metric,
            # Words are looked up as where they are stored; a graph is not fetched.
            index=kind if kind in ("exact", "cells") else "auto",
            provenance="fetched from a server by its fingerprint",
            levels=levels,
            weights=weights,
        )
    except (InvalidInput, OSError, ValueError, KeyError, TypeError) as error:
        raise BadAnswer(f"the server's dictionary cannot be one ({error}).") from None


def _array(path: Path, kinds: str) -> NDArray[Any]:
    with open_plain(path) as file:
        array = np.asarray(map_array(file))
    if array.dtype.kind not in kinds:
        raise ValueError(f"{path.name} holds {array.dtype}")
    return array
