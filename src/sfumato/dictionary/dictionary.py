"""The public words that descriptors are replaced by, and the map from one to the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import check_extractor_name, read_only
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import save_arrays
from sfumato.dictionary.bundled import resolve
from sfumato.dictionary.index import OpenedIndex, WordIndex, make_index
from sfumato.dictionary.levels import (
    GroupIndex,
    cell_level,
    check_levels,
    coarse_words,
    default_sizes,
    level_fingerprint,
    level_for,
    make_levels,
    open_index,
)
from sfumato.dictionary.stored import (
    FIRST_FORMAT,
    FORMAT,
    INDEX_FILE,
    KIND,
    identity_of,
    read_dictionary,
)
from sfumato.dictionary.words import (
    check_descriptors,
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
    weights      (|K|,) how many descriptors each word stood for when the levels were made, or
                 None where a coarse word is the group of the nearest word

    Any fixed map from descriptors to words keeps the guarantee of a mechanism that follows
    it, so an approximate index costs utility and never privacy. Make one with `from_words`,
    `load` or `build_dictionary`.

    >>> words = sf.Dictionary.load("open-64k")
    >>> words.num_words, words.extractor
    (65536, 'sift')
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
    weights: NDArray[Any] | None = None
    _made: dict[int, Dictionary] = field(default_factory=dict)

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
        levels: Mapping[int, NDArray[Any]] | None = None,
        weights: NDArray[Any] | None = None,
    ) -> Dictionary:
        """Make a dictionary of these words; `facts` are further entries of its manifest.

        `metric` follows from the extractor where sfumato knows it. `index` is "exact", "cells"
        or "graph" (approximate, for many words) or "auto". Levels are made by `with_levels`.
        """
        name = check_extractor_name(extractor)
        kept = check_words(words)
        kind = check_metric(metric, name, kept)
        check_levels(levels or {}, weights, len(kept))
        made = open_index(kept, kind, index, levels or {}, weights)
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
            levels=dict(levels or {}),
            weights=weights,
        )

    @staticmethod
    def load(path: str | Path) -> Dictionary:
        """Open a stored dictionary, or a bundled one by name; damage raises DamagedFile."""
        return Dictionary(**read_dictionary(resolve(path)))

    def save(self, path: str | Path, *, replace: bool = False) -> None:
        """Store the dictionary as a directory; it appears whole or not at all."""
        if "level_of" in self._facts:
            raise InvalidInput("a level is stored with the whole dictionary; save that one.")
        data = self.index.to_bytes()
        arrays = {"words": self.words}
        arrays |= {f"level-{n}": level for n, level in self.levels.items()}
        arrays |= {} if self.weights is None else {"weights": self.weights}
        own_format = FIRST_FORMAT if self.weights is None else FORMAT
        save_arrays(
            Path(path),
            arrays,
            {"kind": KIND, "format": own_format, **self.manifest},
            files=None if data is None else {INDEX_FILE: data},
            replace=replace,
        )

    def with_levels(
        self, sizes: tuple[int, ...] | None = None, *, progress: Progress = silent
    ) -> Dictionary:
        """The same words with coarser levels, by default 1,024, 2,048, … below their number."""
        chosen = default_sizes(self.num_words) if sizes is None else sizes
        weights = np.ones(self.num_words, np.uint32) if self.weights is None else self.weights
        levels = make_levels(self.words, self.metric, chosen, weights, progress=progress)
        kept = read_only(weights) if levels else None
        return replace(self, levels=levels, weights=kept, _made={})

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
        if num_words not in self._made:
            self._made[num_words] = self._level(num_words, groups)
        return self._made[num_words]

    def at_epsilon(self, epsilon: float, subset_size: int = 1) -> Dictionary:
        """The level to send at this ε per descriptor, where no plan says better.

        The largest whose true word is sent at least one time in five: how often it is sent
        decides how many pictures are found, and more words cost less over a whole picture.

        >>> sf.Dictionary.load("open-64k").at_epsilon(8).num_words
        8192
        """
        return self.at(level_for({*self.levels, self.num_words}, epsilon, subset_size))

    def _level(self, num_words: int, groups: NDArray[Any]) -> Dictionary:
        words = coarse_words(self.words, groups, num_words, self.metric, self.weights)

        def opener() -> WordIndex:
            if self.weights is None:
                return GroupIndex(lambda: self.index, groups)
            size = cell_level(num_words, self.levels)
            centres = None if size is None else self.at(size).words
            return make_index(words, metric=self.metric, kind="auto", centres=centres)

        return Dictionary(
            words=read_only(words),
            extractor=self.extractor,
            metric=self.metric,
            fingerprint=self.fingerprint_at(num_words),
            _facts={**self._facts, "level_of": self.fingerprint},
            _open_index=opener,
        )

    def fingerprint_at(self, num_words: int) -> str:
        """The fingerprint of `at(num_words)`, or of the whole where there is no such level."""
        groups = self.levels.get(num_words)
        if groups is None:
            return self.fingerprint
        return level_fingerprint(self.fingerprint, num_words, groups, self.weights)

    def nearest_at_levels(self, descriptors: Any) -> dict[int, NDArray[np.uint32]]:
        """Number of words → the nearest of them, for this dictionary and all its levels."""
        fine = self.nearest(descriptors)
        found = {self.num_words: fine}
        for size, groups in self.levels.items():
            coarse = groups[fine] if self.weights is None else self.at(size).nearest(descriptors)
            found[size] = np.asarray(coarse, dtype=np.uint32)
        return found

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
        return replace(self, _facts={**self._facts, **facts}, _made={})

    def nearest(self, descriptors: Any) -> NDArray[np.uint32]:
        """The index of the nearest word of each of (N, D) descriptors, shape (N,).

        Deterministic for a given index. Of equally near words an exact index takes the first.
        """
        return self.index.nearest(self.check_descriptors(descriptors))

    def nearest_several(self, descriptors: Any, count: int) -> NDArray[np.uint32]:
        """The `count` nearest words of each of (N, D) descriptors, nearest first: (N, count)."""
        check_count("count", count, low=1, high=self.num_words)
        queries = self.check_descriptors(descriptors)
        if not len(queries):
            return np.zeros((0, count), dtype=np.uint32)
        return self.index.nearest_several(queries, count)

    def check_descriptors(self, descriptors: Any) -> NDArray[Any]:
        """Return descriptors as an (N, D) array these words can be compared with."""
        return check_descriptors(descriptors, self.words, self.extractor)

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
        return {**vars(self), "_open_index": OpenedIndex(self.index), "_index": [], "_made": {}}

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
