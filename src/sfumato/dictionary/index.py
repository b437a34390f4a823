"""How the nearest word is found: exactly, or by a graph over many words."""

from __future__ import annotations

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
from sfumato.dictionary.vectors import Space, nearest_exact

INDEX_KINDS = ("auto", "exact", "graph")
#: From this many words on, "auto" takes the graph.
AUTO_GRAPH = 32_768

# Measured on 256,000 SIFT words (benchmarks/dictionary.py): twice the links only cost speed;
# a breadth of 32, 64, 96, 192 finds .976, .992, .997, .999 of the nearest words.
_LINKS = 16
_BUILD_BREADTH = 80
_SEARCH_BREADTH = 96


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


def make_index(words: NDArray[Any], *, metric: str, kind: str) -> WordIndex:
    """Build the index of this kind over the words."""
    check_choice("index", kind, INDEX_KINDS)
    if kind == "exact" or (kind == "auto" and len(words) < AUTO_GRAPH):
        return ExactIndex(words, metric=metric)
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
