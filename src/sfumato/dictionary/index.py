"""How the nearest word is found: exactly, in cells of near words, or by a graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice
from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.core.files import open_plain
from sfumato.dictionary.bounds import MIN_QUERIES, BoundedSearch
from sfumato.dictionary.graph_file import check_graph
from sfumato.dictionary.vectors import (
    Floats,
    Space,
    best_words,
    nearest_exact,
    query_side,
    word_side,
)

INDEX_KINDS = ("auto", "exact", "cells", "graph")
#: From this many words on, "auto" takes cells, or the graph where there are no cells.
AUTO_APPROXIMATE = 32_768

# Measured on 256,000 SIFT words (benchmarks/dictionary.py): twice the links only cost speed;
# a breadth of 32, 64, 96, 192 finds .976, .992, .997, .999 of the nearest words.
_LINKS = 16
_BUILD_BREADTH = 80
_SEARCH_BREADTH = 96
# Measured on 65,536 SIFT words in 1,024 cells: 16, 32, 64 of them find .965, .993, .998 of the
# nearest words, in a ninth to a quarter of the time of an exact search.
_CELLS_SEARCHED = 64


class WordIndex(Protocol):
    """Finds the nearest word of each query; queries were checked by the dictionary."""

    @property
    def kind(self) -> str: ...

    def nearest(self, queries: NDArray[Any]) -> NDArray[np.uint32]: ...

    def nearest_several(self, queries: NDArray[Any], count: int) -> NDArray[np.uint32]: ...

    def to_bytes(self) -> bytes | None:
        """What is stored beside the words; None when the words alone are enough."""
        ...


class ExactIndex:
    """Compares with every word; the words themselves are the index."""

    kind = "exact"

    def __init__(self, words: NDArray[Any], *, metric: str) -> None:
        self._words, self._space = words, Space(metric)

    def nearest(self, queries: NDArray[Any]) -> NDArray[np.uint32]:
        if len(queries) >= MIN_QUERIES and BoundedSearch.applies(self._words, self._space.metric):
            return self._bounded.nearest(queries)
        return nearest_exact(queries, self._words, self._space)[0]

    @cached_property
    def _bounded(self) -> BoundedSearch:
        return BoundedSearch(self._words)

    def nearest_several(self, queries: NDArray[Any], count: int) -> NDArray[np.uint32]:
        import faiss

        vectors = self._space.vectors
        found = faiss.knn(vectors(queries), vectors(self._words), count)[1]
        return np.asarray(found, dtype=np.uint32)

    def to_bytes(self) -> bytes | None:
        return None


class CellIndex:
    """Compares with the words of the nearest cells only, whose centres are coarser words.

    The same words and centres give the same answers on every machine: nothing is stored.
    """

    kind = "cells"

    def __init__(self, words: NDArray[Any], centres: NDArray[Any], *, metric: str) -> None:
        self._space = Space(metric)
        cell = nearest_exact(words, centres, self._space)[0]
        self._order = np.argsort(cell, kind="stable").astype(np.uint32)
        self._starts = np.searchsorted(cell[self._order], np.arange(len(centres) + 1))
        self._sides = word_side(self._space.vectors(words[self._order]))
        self._centres = word_side(self._space.vectors(centres))

    def nearest(self, queries: NDArray[Any]) -> NDArray[np.uint32]:
        sides = query_side(self._space.vectors(queries))
        best = np.full(len(sides), -np.inf, dtype=np.float32)
        found = np.zeros(len(sides), dtype=np.uint32)
        for query, words in self._visits(sides):
            top, score = best_words(sides[query], self._sides[words])
            name = self._order[words][top]
            better = (score > best[query]) | ((score == best[query]) & (name < found[query]))
            best[query[better]], found[query[better]] = score[better], name[better]
        return found

    def nearest_several(self, queries: NDArray[Any], count: int) -> NDArray[np.uint32]:
        sides = query_side(self._space.vectors(queries))
        scores = np.full((len(sides), count), -np.inf, dtype=np.float32)
        names = np.full((len(sides), count), len(self._order), dtype=np.uint32)
        for query, words in self._visits(sides, at_least=count):
            seen = np.hstack([scores[query], sides[query] @ self._sides[words].T])
            own = np.broadcast_to(self._order[words], (len(query), words.stop - words.start))
            named = np.hstack([names[query], own])
            top = np.lexsort((named, -seen))[:, :count]
            scores[query] = np.take_along_axis(seen, top, axis=1)
            names[query] = np.take_along_axis(named, top, axis=1)
        return names

    def _visits(
        self, sides: Floats, *, at_least: int = 1
    ) -> Iterator[tuple[NDArray[np.intp], slice]]:
        """Cells with the queries that look into them: rows of the queries, place of the words."""
        if not len(sides):
            return
        near = sides @ self._centres.T
        filled = np.diff(self._starts) > 0
        near[:, ~filled] = -np.inf
        count = min(max(_CELLS_SEARCHED, at_least), int(filled.sum()))
        cells = np.argpartition(-near, count - 1, axis=1)[:, :count].reshape(-1)
        order = np.argsort(cells, kind="stable")
        bounds = np.searchsorted(cells[order], np.arange(len(filled) + 1))
        for cell in np.flatnonzero(np.diff(bounds)):
            query = order[bounds[cell] : bounds[cell + 1]] // count
            yield query, slice(int(self._starts[cell]), int(self._starts[cell + 1]))

    def to_bytes(self) -> bytes | None:
        return None


class GraphIndex:
    """A navigable small world over the words (faiss HNSW): approximate and fast.

    A query's answer depends on the query and the graph alone, not on its batch. Building
    the same graph twice is not promised: threads meet words in any order. So the graph is
    stored with the dictionary.
    """

    kind = "graph"

    def __init__(self, graph: Any, *, binary: bool) -> None:
        self._graph, self._binary = graph, binary
        graph.hnsw.efSearch = _SEARCH_BREADTH

    def nearest(self, queries: NDArray[Any]) -> NDArray[np.uint32]:
        if not len(queries):
            return np.empty(0, dtype=np.uint32)
        return self.nearest_several(queries, 1)[:, 0]

    def nearest_several(self, queries: NDArray[Any], count: int) -> NDArray[np.uint32]:
        asked = queries if self._binary else queries.astype(np.float32, copy=False)
        return np.asarray(self._graph.search(asked, count)[1], dtype=np.uint32)

    def to_bytes(self) -> bytes:
        import faiss

        write = faiss.serialize_index_binary if self._binary else faiss.serialize_index
        return bytes(write(self._graph).data)

    def __reduce__(self) -> Any:
        return _graph_of, (self.to_bytes(), self._binary)


def _graph_of(data: bytes, binary: bool) -> GraphIndex:
    import faiss

    read = faiss.deserialize_index_binary if binary else faiss.deserialize_index
    return GraphIndex(read(np.frombuffer(data, dtype=np.uint8)), binary=binary)


@dataclass(frozen=True)
class OpenedIndex:
    """Hands out an index that is open already."""

    index: WordIndex

    def __call__(self) -> WordIndex:
        return self.index


def takes_cells(kind: str, num_words: int) -> bool:
    """Whether an index of this kind has cells, where there are middles for them."""
    return kind == "cells" or (kind == "auto" and num_words >= AUTO_APPROXIMATE)


def make_index(
    words: NDArray[Any], *, metric: str, kind: str, centres: NDArray[Any] | None = None
) -> WordIndex:
    """Build the index of this kind over the words; `centres` are those of the cells."""
    check_choice("index", kind, INDEX_KINDS)
    if kind == "exact" or (kind == "auto" and len(words) < AUTO_APPROXIMATE):
        return ExactIndex(words, metric=metric)
    if centres is not None and takes_cells(kind, len(words)):
        return CellIndex(words, centres, metric=metric)
    if kind == "cells":
        raise InvalidInput(
            "an index of cells needs a coarser level whose words are the cells' middles; make "
            "levels first, or take the index 'exact'."
        )
    binary = metric == "hamming"
    graph = _empty_graph(words.shape[1], "bits" if binary else str(words.dtype))
    graph.hnsw.efConstruction = _BUILD_BREADTH
    values = np.ascontiguousarray(words)
    graph.add(values if binary else values.astype(np.float32, copy=False))
    return GraphIndex(graph, binary=binary)


def _empty_graph(dimension: int, values: str) -> Any:
    import faiss  # late, and only here: exact dictionaries do without it

    if values == "bits":
        return faiss.IndexBinaryHNSW(8 * dimension, _LINKS)
    if values == "float32":
        return faiss.IndexHNSWFlat(dimension, _LINKS)
    # Bytes are compared as bytes: a quarter of the memory, and faster.
    kind: Any = faiss.ScalarQuantizer.QT_8bit_direct
    graph = faiss.IndexHNSWSQ(dimension, kind, _LINKS)
    graph.is_trained = True
    return graph


def read_index(file: Path, words: NDArray[Any], *, metric: str) -> WordIndex:
    """Read the graph stored over these words."""
    binary = metric == "hamming"
    try:
        with open_plain(file, follow_links=False) as stream:
            data = stream.read()
        check_graph(data, *words.shape, binary=binary)
        return _graph_of(data, binary)
    except InvalidInput:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise DamagedFile(
            f"{file} is damaged or not the graph of these words ({reason}); restore it."
        ) from None
