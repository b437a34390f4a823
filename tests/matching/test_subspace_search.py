"""Searches among subspaces: in tiles of any size, on all cores, and what is refused."""

from __future__ import annotations

import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import sfumato as sf
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import SubspaceRelease
from sfumato.matching import subspace_pack
from sfumato.matching.subspace import (
    Subspaces,
    closer_than,
    k_nearest,
    mutual_nearest,
    nearest,
    point_to_subspace,
    subspace_to_subspace,
)
from sfumato.matching.subspace_tiles import Pairing
from subspaces import ALLOWED, Array, by_lstsq, lift
from support import one_of_each_release


def test_tiles_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = lift(1, 350, 2, 32), lift(2, 230, 3, 32)
    found = []
    for rows in (1, 200, 512, 1 << 20):
        monkeypatch.setattr(subspace_pack, "TILE_ROWS", rows)
        found.append((subspace_to_subspace(a, b), mutual_nearest(a, b), k_nearest(a, b, 7)))
    monkeypatch.undo()
    assert len(Pairing(Subspaces(*a), Subspaces(*b)).parts(of_a=True)) > 1
    for matrix, mutual, near in found[1:]:
        assert np.allclose(matrix, found[0][0], atol=1e-5)
        assert np.array_equal(mutual, found[0][1])
        assert np.array_equal(near[0], found[0][2][0])


@pytest.mark.parametrize(("m_a", "m_b"), [(2, 2), (3, 1), (0, 2), (2, 0)])
def test_searches_agree_with_the_whole_matrix(m_a: int, m_b: int) -> None:
    a, b = lift(1, 300, m_a, 24), lift(2, 410, m_b, 24)
    # Copies make ties, of which the first counts, and distances of zero.
    a[0][:20], a[1][:20] = a[0][280:], a[1][280:]
    if m_a == m_b:
        b[0][50:70], b[1][50:70] = a[0][:20], a[1][:20]
    matrix = subspace_to_subspace(a, b)
    index, distance = nearest(a, b)
    assert np.array_equal(index, matrix.argmin(axis=1))
    assert np.array_equal(distance, matrix.min(axis=1))
    back = matrix.argmin(axis=0)
    rows, columns = mutual_nearest(a, b)
    assert np.array_equal(rows, np.flatnonzero(back[index] == np.arange(300)))
    assert np.array_equal(columns, index[rows])
    assert len(rows) > 20
    order = np.argsort(matrix, axis=1, kind="stable")[:, :64]
    many, distances = k_nearest(a, b, 64)
    assert np.array_equal(many, order)
    assert np.array_equal(distances, np.take_along_axis(matrix, order, axis=1))
    tolerance = float(np.quantile(matrix, 0.01))
    i, j, close = closer_than(a, b, tolerance)
    assert np.array_equal((i, j), np.nonzero(matrix <= tolerance))
    assert np.array_equal(close, matrix[i, j])


def test_all_neighbours_of_a_small_set_can_be_asked_for() -> None:
    a, b = lift(1, 3, 2, 8), lift(2, 4, 2, 8)
    index, distance = k_nearest(a, b, 4)
    assert np.array_equal(np.sort(index, axis=1), np.tile(np.arange(4), (3, 1)))
    assert (np.diff(distance, axis=1) >= 0).all()


def test_nothing_has_no_distances() -> None:
    none, some = lift(1, 0, 2, 8), lift(1, 5, 2, 8)
    assert subspace_to_subspace(none, some).shape == (0, 5)
    assert subspace_to_subspace(some, none).shape == (5, 0)
    assert point_to_subspace(none[0], some).shape == (0, 5)
    assert [part.shape for part in mutual_nearest(some, none)] == [(0,), (0,)]
    assert [part.shape for part in closer_than(none, some, 1.0)] == [(0,)] * 3
    assert [part.shape for part in k_nearest(none, some, 2)] == [(0, 2)] * 2
    with pytest.raises(InvalidInput, match="at least one member"):
        nearest(some, none)


def test_one_of_each_has_a_distance() -> None:
    a, b = lift(1, 1, 2, 8), lift(2, 1, 1, 8)
    assert np.allclose(subspace_to_subspace(a, b), by_lstsq(a, b), atol=ALLOWED)
    assert [part.tolist() for part in mutual_nearest(a, b)] == [[0], [0]]


@pytest.mark.parametrize("kind", ["subspaces", "subspaces-half"])
def test_releases_can_be_given_as_they_are(kind: str) -> None:
    release = one_of_each_release()[kind]
    assert isinstance(release, SubspaceRelease)
    plain = release.offsets, release.bases
    assert np.array_equal(
        sf.distances.subspace_to_subspace(release, release), subspace_to_subspace(plain, plain)
    )
    found = sf.distances.point_to_subspace(release.offsets, release)
    assert np.abs(found - by_lstsq((release.offsets, release.bases[:, :0]), plain)).max() < 1e-4 * 4


def test_whole_tiles_of_small_distances_are_right() -> None:
    d0, d = lift(1, 1, 2, 32)
    a = np.repeat(d0, 100, axis=0), np.repeat(d, 100, axis=0)
    b = lift(2, 100, 3, 32, descriptors=np.repeat(d0.astype(np.float64), 100, axis=0))
    assert subspace_to_subspace(a, b).max() < 1e-6
    assert subspace_to_subspace(a, a).max() < 1e-6


def test_search_never_holds_the_whole_matrix() -> None:
    a, b = lift(1, 2500, 2, 16), lift(2, 2500, 2, 16)
    mutual_nearest((a[0][:50], a[1][:50]), b)
    prepared = Subspaces(*a), Subspaces(*b)
    tracemalloc.start()
    try:
        mutual_nearest(*prepared)
        k_nearest(*prepared, 5)
        peak = tracemalloc.get_traced_memory()[1]
        matrix = 4 * 2500 * 2500
        assert peak < matrix / 2
        tracemalloc.reset_peak()
        subspace_to_subspace(*prepared)
        assert tracemalloc.get_traced_memory()[1] > matrix  # so the measure can see it
    finally:
        tracemalloc.stop()


def test_threads_of_products_are_left_as_they_were() -> None:
    a, b = lift(1, 200, 2, 32), lift(2, 200, 2, 32)

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before, expected = threads(), subspace_to_subspace(a, b)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: subspace_to_subspace(a, b), range(16)):
                assert np.array_equal(found, expected)
        assert threads() == before


GOOD = lift(0, 5, 2, 8)


@pytest.mark.parametrize(
    ("offsets", "bases", "says"),
    [
        (GOOD[0][0], GOOD[1], "offsets must have shape (any, any), got (8,)"),
        (GOOD[0], GOOD[1][:4], "bases must have shape (5, any, 8), got (4, 2, 8)"),
        (GOOD[0], GOOD[1][:, :, :7], "bases must have shape (5, any, 8), got (5, 2, 7)"),
        (GOOD[0], 2 * GOOD[1], "every basis must have orthonormal rows, 5 of 5 have not"),
        (GOOD[0], 0 * GOOD[1], "every basis must have orthonormal rows, 5 of 5 have not"),
        (GOOD[0], GOOD[1][:, [0, 0]], "every basis must have orthonormal rows, 5 of 5 have not"),
        (GOOD[0], GOOD[1] * np.nan, "bases must be finite, 80 of 80"),
        (GOOD[0] * np.inf, GOOD[1], "offsets must be finite, 40 of 40"),
        (GOOD[0].astype(complex), GOOD[1], "offsets must be numbers, got an array of complex128"),
        (GOOD[0], np.zeros((5, 9, 8)), "at most 8 directions, got 9"),
        (GOOD[0][:, :0], GOOD[1][:, :, :0], "offsets must have at least one dimension"),
    ],
)
def test_bad_subspaces_are_refused_in_one_sentence(offsets: Array, bases: Array, says: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(says)) as refusal:
        subspace_to_subspace((offsets, bases), GOOD)
    assert str(refusal.value).endswith(".")


def test_bad_questions_are_refused_in_one_sentence() -> None:
    with pytest.raises(Mismatch, match="of 8 and 9 dimensions have no distance"):
        subspace_to_subspace(GOOD, lift(0, 5, 2, 9))
    with pytest.raises(Mismatch, match="of 9 and 8 dimensions have no distance"):
        point_to_subspace(np.zeros((3, 9)), GOOD)
    with pytest.raises(InvalidInput, match="points must be finite, 1 of 16"):
        point_to_subspace(np.array([[np.nan] + [0.0] * 7, [0.0] * 8]), GOOD)
    with pytest.raises(InvalidInput, match="k must be between 1 and 5, got 6"):
        k_nearest(GOOD, GOOD, 6)
    with pytest.raises(InvalidInput, match="k must be between 1 and 5, got 0"):
        k_nearest(GOOD, GOOD, 0)
    with pytest.raises(InvalidInput, match="tolerance must be at least 0, got -1"):
        closer_than(GOOD, GOOD, -1.0)
    with pytest.raises(InvalidInput, match="Subspaces, got list"):
        nearest([[1.0]], GOOD)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="squares are finite"):
        point_to_subspace(np.full((1, 8), 1e30, dtype=np.float32), GOOD)
