"""The public words that descriptors are replaced by, and the map from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count, check_finite
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.frozen import check_extractor_name, read_only
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import save_arrays
from sfumato.dictionary.bundled import resolve
from sfumato.dictionary.index import OpenedIndex, WordIndex, make_index
from sfumato.dictionary.nested import (
    GroupIndex,
    coarse_words,
    default_sizes,
    level_fingerprint,
    make_levels,
)
from sfumato.dictionary.stored import FORMAT, INDEX_FILE, KIND, identity_of, read_dictionary
from sfumato.dictionary.words import (
    check_metric,
    check_provenance,
    check_words,
    fingerprint_of,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Dictionary:
    """Public words of one extractor; `nearest` maps every descriptor to one of them.

    words        (|K|, D) uint8 or float32, read-only, possibly memory-mapped; words of a
                 binary extractor are packed 8 bits to a byte
    metric       "l2", or "hamming" for packed bits
    fingerprint  SHA-256 of dtype, shape, extractor and word bytes: of the content only, so
                 a copy, another index or another manifest has the same fingerprint
    levels       number of coarse words → (|K|,) the coarse word of each word; see `at`

    Any fixed map from descriptors to words keeps the guarantee of a mechanism that follows
    it, so an approximate index costs utility and never privacy. Make one with `from_words`,
    `load` or `build_dictionary`.

    >>> words = sf.Dictionary.load("bsds-16k")
    >>> words.num_words, words.extractor
    (16384, 'sift')
    >>> words.nearest(words.words[:3]).tolist()
    [0, 1, 2]
    """

    words: NDArray[Any]
    extractor: str
    metric: str
    fingerprint: str
    _facts: Mapping[str, Any]
    _open_index: Callable[[], WordIndex]
    _index: list[WordIndex] = field(default_factory=list)
    levels: Mapping[int, NDArray[Any]] = field(default_factory=dict)

    @staticmethod
    def from_words(
        words: Any,
        *,
        extractor: str,
        provenance: str = "given words",
        metric: str | None = None,
        index: str = "exact",
        built_from_map: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> Dictionary:
        """Make a dictionary of these words; `facts` are further entries of its manifest.

        `metric` follows from the extractor where sfumato knows it. `index` is "exact",
        "graph" (approximate, for many words) or "auto".
        """
        name = check_extractor_name(extractor)
        kept = check_words(words)
        kind = check_metric(metric, name, kept)
        made = make_index(kept, metric=kind, kind=index)
        content: dict[str, Any] = {
            **(facts or {}),
            "provenance": check_provenance(provenance),
            "built_from_map": bool(built_from_map),
            "duplicate_words": len(kept) - len({row.tobytes() for row in kept}),
        }
        # An index that was measured while building keeps its figures; another has none yet.
        content.setdefault("index", {"kind": made.kind})
        return Dictionary(
            words=kept,
            extractor=name,
            metric=kind,
            fingerprint=fingerprint_of(kept, name),
            _facts=content,
            _open_index=OpenedIndex(made),
        )

    @staticmethod
    def load(path: str | Path) -> Dictionary:
        """Open a stored dictionary, or a bundled one by its name; words are memory-mapped.

        Every file is compared with its checksum first: damage raises DamagedFile.
        """
        return Dictionary(**read_dictionary(resolve(path)))

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Store the dictionary as a directory; it appears whole or not at all."""
        data = self.index.to_bytes()
        save_arrays(
            Path(path),
            {"words": self.words, **{f"level-{n}": level for n, level in self.levels.items()}},
            {"kind": KIND, "format": FORMAT, **self.manifest},
            files=None if data is None else {INDEX_FILE: data},
            replace=replace,
        )

    def nested(
        self, sizes: tuple[int, ...] | None = None, *, progress: Progress = silent
    ) -> Dictionary:
        """The same words with coarser levels, by default 1,024, 2,048, … below their number."""
        chosen = default_sizes(self.num_words) if sizes is None else sizes
        levels = make_levels(self.words, self.metric, chosen, progress=progress)
        return replace(self, levels=levels)

    def at(self, num_words: int) -> Dictionary:
        """This dictionary with `num_words` words: itself, or one of its levels."""
        if num_words == self.num_words:
            return self
        groups = self.levels.get(num_words)
        if groups is None:
            sizes = ", ".join(str(size) for size in sorted({*self.levels, self.num_words}))
            raise InvalidInput(
                f"this dictionary has levels of {sizes} words, none of {num_words}; choose one of "
                "these or build another dictionary."
            )
        return Dictionary(
            words=read_only(coarse_words(self.words, groups, num_words, self.metric)),
            extractor=self.extractor,
            metric=self.metric,
            fingerprint=self.fingerprint_at(num_words),
            _facts={**self._facts, "level_of": self.fingerprint},
            _open_index=lambda: GroupIndex(lambda: self.index, groups),
        )

    def fingerprint_at(self, num_words: int) -> str:
        """The fingerprint of `at(num_words)`, or of the whole where there is no such level."""
        groups = self.levels.get(num_words)
        if groups is None:
            return self.fingerprint
        return level_fingerprint(self.fingerprint, num_words, groups)

    @property
    def num_words(self) -> int:
        return int(self.words.shape[0])

    @property
    def dimension(self) -> int:
        """Columns of a word: values, or bytes of packed bits for a binary extractor."""
        return int(self.words.shape[1])

    @property
    def manifest(self) -> dict[str, Any]:
        """What travels with the words: where they come from and how they were made."""
        own = identity_of(self.words, self.extractor, self.metric, self.fingerprint)
        levels = {"levels": sorted(self.levels)} if self.levels else {}
        return {**deepcopy(dict(self._facts)), **own, **levels}

    @property
    def index(self) -> WordIndex:
        """How nearest words are found; opened when first needed."""
        if not self._index:
            self._index.append(self._open_index())
        return self._index[0]

    def with_facts(self, **facts: Any) -> Dictionary:
        """The same words and index, with further entries in the manifest."""
        return replace(self, _facts={**self._facts, **facts})

    def nearest(self, descriptors: Any) -> NDArray[np.uint32]:
        """The index of the nearest word of each of (N, D) descriptors, shape (N,).

        Deterministic for a given index. Of equally near words an exact index takes the first.
        """
        return self.index.nearest(self.check_descriptors(descriptors))

    def nearest_several(self, descriptors: Any, count: int) -> NDArray[np.uint32]:
        """The `count` nearest words of each of (N, D) descriptors, nearest first: (N, count).

        At a level, the groups of the nearest fine words: the same group may come twice.
        """
        check_count("count", count, low=1, high=self.num_words)
        queries = self.check_descriptors(descriptors)
        if not len(queries):
            return np.zeros((0, count), dtype=np.uint32)
        return self.index.nearest_several(queries, count)

    def check_descriptors(self, descriptors: Any) -> NDArray[Any]:
        """Return descriptors as an (N, D) array these words can be compared with."""
        array = np.asarray(descriptors)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise Mismatch(
                f"descriptors must have shape (any, {self.dimension}) for this dictionary of "
                f"{self.extractor}, got {array.shape}; use the extractor {self.extractor}."
            )
        wanted = self.words.dtype
        if array.dtype.kind != wanted.kind or (wanted == np.uint8 and array.dtype != np.uint8):
            raise Mismatch(
                f"descriptors must be {wanted} as the words of this dictionary are, got "
                f"{array.dtype}; use the extractor {self.extractor}, its values have that scale."
            )
        array = np.ascontiguousarray(array, dtype=wanted)
        check_finite("descriptors", array)
        return array

    def sub_databases(self, count: int = 16) -> list[NDArray[Any]]:
        """Split the words in `count` equal, disjoint parts; part i holds words i, i+count, …

        The sub-databases of `affine`. They are views: nothing is copied.
        """
        count = check_count("count", count, low=1, high=self.num_words)
        if self.num_words % count:
            raise InvalidInput(
                f"{self.num_words} words cannot be split in {count} equal parts; choose a count "
                "that divides the number of words."
            )
        return [self.words[part::count] for part in range(count)]

    def __getstate__(self) -> dict[str, Any]:
        """For a copy or another process: the words themselves, not the file they came from."""
        return {**vars(self), "_open_index": OpenedIndex(self.index), "_index": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: read_only(value) for name, value in state.items()})

    def __len__(self) -> int:
        return self.num_words

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dictionary):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"Dictionary({self.num_words} × {self.dimension} {self.words.dtype}, "
            f"{self.extractor}, {self.fingerprint[:12]}…)"
        )
