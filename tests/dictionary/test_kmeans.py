"""k-means against exact Lloyd iterations written out plainly."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.dictionary import kmeans
from sfumato.dictionary.cells import Cells, make_cells
from sfumato.dictionary.kmeans import Clustering, cluster, first_words, iterate
from sfumato.dictionary.seeding import allot, start_rows
from sfumato.dictionary.vectors import Space, nearest_exact


def clouds(count: int = 6000, dimension: int = 16, seed: int = 0) -> NDArray[np.float32]:
    """Points in 150 clouds of different width."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(150, dimension)) * 4
    width = rng.uniform(0.2, 1.5, 150)
    chosen = rng.integers(0, 150, count)
    noise = rng.normal(size=(count, dimension))
    return (centres[chosen] + noise * width[chosen, None]).astype(np.float32)


def exact_error(points: NDArray[np.float32], words: NDArray[np.float32]) -> float:
    return float(nearest_exact(points, words, Space())[1].mean())


def lloyd(
    points: NDArray[np.float32], words: NDArray[np.float32], iterations: int
) -> NDArray[np.float32]:
    moved = words.copy()
    for _ in range(iterations):
        nearest = nearest_exact(points, moved, Space())[0]
        for word in np.unique(nearest):
            moved[word] = points[nearest == word].mean(axis=0)
    return moved


def test_from_the_same_start_the_error_is_that_of_exact_lloyd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kmeans, "CANDIDATES", 100)
    points = clouds()
    space, rng = Space(), np.random.default_rng(0)
    cells = make_cells(points, 600, space, rng)
    state = first_words(cells, start_rows(cells, 600, "random", space, rng), space)
    reference = exact_error(points, lloyd(points, state.words, 6))
    for _ in range(6):
        state = iterate(cells, state, space)
    assert exact_error(points, state.words) < 1.01 * reference


def test_with_few_words_it_is_exact_lloyd() -> None:
    points = clouds()
    space, rng = Space(), np.random.default_rng(0)
    cells = make_cells(points, 60, space, rng)
    state = first_words(cells, start_rows(cells, 60, "kmeans++", space, rng), space)
    reference = lloyd(cells.rows, state.words, 3)
    for _ in range(3):
        state = iterate(cells, state, space)
    assert state.words == pytest.approx(reference, abs=1e-3)


def test_the_error_never_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans, "CANDIDATES", 5)  # a very poor approximation
    errors = cluster(clouds(), 300, iterations=12).errors
    assert len(errors) == 12
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(errors))


def test_kmeans_plus_plus_starts_better_than_chance() -> None:
    points = clouds()
    random, spread = (
        cluster(points, 200, start=start, iterations=1).errors[0]
        for start in ("random", "kmeans++")
    )
    assert spread < 0.8 * random


def test_the_same_seed_gives_the_same_words_and_another_does_not() -> None:
    points = clouds()
    one, two = (cluster(points, 300, iterations=3, seed=5) for _ in range(2))
    assert np.array_equal(one.words, two.words)
    assert np.array_equal(one.assignment, two.assignment)
    assert not np.array_equal(one.words, cluster(points, 300, iterations=3, seed=6).words)


def test_assignment_is_in_the_order_of_the_descriptors() -> None:
    points = clouds()
    found = cluster(points, 50, iterations=30)
    means = np.stack([points[found.assignment == word].mean(axis=0) for word in range(50)])
    assert found.words == pytest.approx(means, abs=1e-4)


def test_taken_up_again_it_gives_the_same_words() -> None:
    points = clouds()
    whole = cluster(points, 300, iterations=6)
    kept: list[tuple[Cells, Clustering]] = []
    cluster(points, 300, iterations=3, keep=lambda cells, state: kept.append((cells, state)))
    assert [state.iteration for _, state in kept] == [1, 2, 3]
    continued = cluster(points, 300, iterations=6, resume=kept[1])
    assert np.array_equal(continued.words, whole.words)
    assert np.array_equal(continued.assignment, whole.assignment)
    assert continued.errors == whole.errors


def test_empty_words_move_to_where_the_cost_is() -> None:
    points = clouds()
    space, rng = Space(), np.random.default_rng(0)
    cells = make_cells(points, 100, space, rng)
    state = first_words(cells, start_rows(cells, 100, "random", space, rng), space)
    words = state.words.copy()
    words[:30] = 1000  # far from everything: they will be empty
    state = iterate(cells, replace(state, words=words), space)
    assert state.reseeded == 30
    assert np.abs(state.words).max() < 100
    before = state.errors[0]
    for _ in range(5):
        state = iterate(cells, state, space)
    assert np.bincount(state.assignment, minlength=100).min() > 0
    assert state.errors[-1] < 0.8 * before


def test_fewer_different_descriptors_than_words_is_no_endless_loop() -> None:
    points = np.repeat(clouds(10), 20, axis=0)
    for start in ("random", "kmeans++"):
        found = cluster(points, 40, start=start, iterations=4)
        assert np.isfinite(found.words).all()
        assert found.errors[-1] == pytest.approx(0, abs=1e-3)


def test_all_descriptors_equal_is_no_division_by_zero() -> None:
    found = cluster(np.full((600, 4), 7, dtype=np.uint8), 5, iterations=2)
    assert np.array_equal(found.words, np.full((5, 4), 7))


def test_as_many_words_as_descriptors_gives_each_its_own() -> None:
    points = clouds(64)
    found = cluster(points, 64, iterations=2)
    assert sorted(map(tuple, found.words)) == sorted(map(tuple, points))


def test_spherical_words_have_unit_length_and_fit_directions() -> None:
    points = clouds() * np.random.default_rng(1).uniform(0.1, 10, (6000, 1)).astype(np.float32)
    found = cluster(points, 100, space=Space(spherical=True), iterations=8)
    assert np.linalg.norm(found.words, axis=1) == pytest.approx(np.ones(100), abs=1e-5)
    assert found.errors[-1] < found.errors[0]
    directions = points / np.linalg.norm(points, axis=1, keepdims=True)
    assert exact_error(directions, found.words) <= found.errors[-1] + 1e-6


def test_bits_are_clustered_as_zeros_and_ones() -> None:
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 256, (20, 8), dtype=np.uint8)
    flips = np.packbits(rng.random((2000, 64)) < 0.03, axis=1)
    found = cluster(centres[rng.integers(0, 20, 2000)] ^ flips, 20, space=Space("hamming"))
    words = np.packbits(found.words >= 0.5, axis=1)
    assert {row.tobytes() for row in words} == {row.tobytes() for row in centres}


def test_impossible_requests_are_refused() -> None:
    points = clouds(50)
    with pytest.raises(InvalidInput, match="51 words need at least as many descriptors, got 50"):
        cluster(points, 51)
    with pytest.raises(InvalidInput, match="start"):
        cluster(points, 5, start="best")
    with pytest.raises(InvalidInput, match="iterations"):
        cluster(points, 5, iterations=0)


def test_shares_are_proportional_whole_and_within_room() -> None:
    shares = allot(np.array([3.0, 1.0, 0.0, 6.0]), np.array([50, 50, 50, 2]), 20)
    assert shares.sum() == 20
    assert shares[3] == 2
    assert shares[0] > shares[1]
    assert allot(np.zeros(3), np.array([4, 4, 4]), 12).tolist() == [4, 4, 4]
