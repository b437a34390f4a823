"""Bounds skip words and never the nearest one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.dictionary import bounds
from sfumato.dictionary.bounds import MIN_QUERIES, MIN_WORDS, BoundedSearch
from sfumato.dictionary.index import ExactIndex
from sfumato.dictionary.vectors import Space, nearest_exact


def fully_compared(queries: NDArray[np.uint8], words: NDArray[np.uint8]) -> NDArray[np.uint32]:
    return nearest_exact(queries, words, Space())[0]


def test_bounded_search_finds_what_comparing_everything_finds(sift: NDArray[np.uint8]) -> None:
    words, queries = sift[::2], sift[1::2]
    found = BoundedSearch(words).nearest(queries)
    assert np.array_equal(found, fully_compared(queries, words))


def test_of_equal_words_the_first_wins(sift: NDArray[np.uint8]) -> None:
    words = np.concatenate([sift[:700], sift[:700], sift[:700]])
    assert BoundedSearch(words).nearest(sift[:700]).max() < 700


def test_queries_that_bounds_say_nothing_about_are_compared_in_full(
    sift: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = []

    def counted(queries: NDArray[np.uint8], *rest: object) -> object:
        full.append(len(queries))
        return nearest_exact(queries, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(bounds, "nearest_exact", counted)
    generator = np.random.default_rng(0)
    words = generator.integers(0, 256, (3000, 128), dtype=np.uint8)
    queries = generator.integers(0, 256, (200, 128), dtype=np.uint8)
    assert np.array_equal(BoundedSearch(words).nearest(queries), fully_compared(queries, words))
    assert full == [128, 72]
    full.clear()
    BoundedSearch(sift[::2]).nearest(sift[1:400:2])
    assert full == []


def test_few_words_floats_and_bits_are_compared_in_full(sift: NDArray[np.uint8]) -> None:
    many = np.resize(sift, (MIN_WORDS, 128))
    assert BoundedSearch.applies(many, "l2")
    assert not BoundedSearch.applies(many[:-1], "l2")
    assert not BoundedSearch.applies(many, "hamming")
    assert not BoundedSearch.applies(many.astype(np.float32), "l2")
    assert not BoundedSearch.applies(np.resize(many, (MIN_WORDS, 129)), "l2")


def test_the_index_answers_the_same_for_few_and_many_queries(sift: NDArray[np.uint8]) -> None:
    index = ExactIndex(sift[: 2 * MIN_WORDS : 2], metric="l2")
    queries = sift[1 : 2 * MIN_QUERIES : 2]
    one_by_one = np.concatenate([index.nearest(query[None]) for query in queries])
    assert np.array_equal(index.nearest(np.repeat(queries, 2, axis=0))[::2], one_by_one)
    assert BoundedSearch(sift).nearest(queries[:0]).shape == (0,)
