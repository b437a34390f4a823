"""The graph against exact search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput
from sfumato.dictionary.index import (
    AUTO_APPROXIMATE,
    CellIndex,
    ExactIndex,
    GraphIndex,
    make_index,
    read_index,
)
from sfumato.dictionary.vectors import Space, nearest_exact


def test_the_graph_finds_nearly_always_the_nearest(sift: NDArray[np.uint8]) -> None:
    words, queries = sift[::2], sift[1::2]
    for values, asked in ((words, queries), (words / np.float32(512), queries / np.float32(512))):
        truth = ExactIndex(values, metric="l2").nearest(asked)
        graph = make_index(values, metric="l2", kind="graph")
        assert isinstance(graph, GraphIndex)
        assert (graph.nearest(asked) == truth).mean() > 0.97


def test_the_graph_finds_bits_too() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 256, (800, 64), dtype=np.uint8)
    noise = np.packbits(rng.random((800, 512)) < 0.15, axis=1)
    graph = make_index(words, metric="hamming", kind="graph")
    assert (graph.nearest(words ^ noise) == np.arange(800)).mean() > 0.97


def test_an_answer_of_the_graph_does_not_depend_on_the_batch(sift: NDArray[np.uint8]) -> None:
    graph = make_index(sift[::2], metric="l2", kind="graph")
    queries = sift[1:200:2]
    one_by_one = np.concatenate([graph.nearest(query[None]) for query in queries])
    assert np.array_equal(graph.nearest(queries), one_by_one)
    assert graph.nearest(queries[:0]).shape == (0,)


def test_cells_find_nearly_always_the_nearest(sift: NDArray[np.uint8]) -> None:
    words, queries = sift[::2], sift[1::2]
    cells = CellIndex(words, words[::10], metric="l2")
    truth = ExactIndex(words, metric="l2")
    assert (cells.nearest(queries) == truth.nearest(queries)).mean() > 0.95
    several, wanted = (one.nearest_several(queries, 3) for one in (cells, truth))
    assert (several == wanted).mean() > 0.9
    assert (several[:, 0] == cells.nearest(queries)).all()
    assert len(cells.nearest(queries[:0])) == 0


def test_in_all_cells_the_search_is_exact_and_the_batch_does_not_matter(
    sift: NDArray[np.uint8],
) -> None:
    words, queries = sift[:300], sift[300:400]
    cells = CellIndex(words, words[:20], metric="l2")
    assert (cells.nearest(queries) == ExactIndex(words, metric="l2").nearest(queries)).all()
    alone = [int(cells.nearest(queries[i : i + 1])[0]) for i in range(len(queries))]
    assert alone == cells.nearest(queries).tolist()


def test_of_equal_words_in_different_cells_the_first_is_taken() -> None:
    words = np.array([[9], [1], [1], [5]], dtype=np.uint8)
    cells = CellIndex(words, np.array([[1], [9]], dtype=np.uint8), metric="l2")
    assert cells.nearest(np.array([[1], [7]], dtype=np.uint8)).tolist() == [1, 0]


def test_cells_need_a_coarser_level(sift: NDArray[np.uint8]) -> None:
    with pytest.raises(InvalidInput, match="needs a coarser level"):
        make_index(sift[:50], metric="l2", kind="cells")


def test_auto_is_exact_for_few_words() -> None:
    few = np.zeros((AUTO_APPROXIMATE - 1, 1), dtype=np.uint8)
    assert make_index(few, metric="l2", kind="auto").kind == "exact"
    assert make_index(few[:50], metric="l2", kind="graph").kind == "graph"


def test_a_graph_over_other_words_is_refused(sift: NDArray[np.uint8], tmp_path: Path) -> None:
    data = make_index(sift[:100], metric="l2", kind="graph").to_bytes()
    file = tmp_path / "index"
    file.write_bytes(data or b"")
    with pytest.raises(DamagedFile, match="not the graph of these words"):
        read_index(file, sift[:99], metric="l2")
    file.write_bytes(b"nonsense")
    with pytest.raises(DamagedFile, match="not the graph of these words"):
        read_index(file, sift[:100], metric="l2")


def test_exact_distances_are_squared_distances(sift: NDArray[np.uint8]) -> None:
    found, distances = nearest_exact(sift[:50], sift[100:], Space())
    direct = np.square(sift[100:][found].astype(int) - sift[:50]).sum(axis=1)
    assert np.array_equal(distances, direct)
