"""Distances of subspaces: against least squares, under every symmetry, in tiles of any size."""

from __future__ import annotations

import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
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
    reference_distances,
    subspace_to_subspace,
)
from sfumato.matching.subspace_tiles import PARALLEL, Pairing
from support import one_of_each_release

Array = NDArray[Any]
Lifted = tuple[Array, Array]

ALLOWED = 1e-4
SEEDS = st.integers(0, 2**32 - 1)


def bases_of(generator: np.random.Generator, count: int, m: int, n: int) -> Array:
    return np.linalg.qr(generator.normal(size=(count, n, m)))[0].transpose(0, 2, 1)


def lift(
    seed: int, count: int, m: int, n: int, dtype: Any = np.float32, descriptors: Array | None = None
) -> Lifted:
    """Subspaces through descriptors of unit length, given by some other point of theirs."""
    generator = np.random.default_rng(seed)
    if descriptors is None:
        descriptors = generator.normal(size=(count, n))
        descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    bases = bases_of(generator, count, m, n)
    return moved(generator, descriptors, bases, dtype), bases.astype(dtype)


def moved(generator: np.random.Generator, offsets: Array, bases: Array, dtype: Any) -> Array:
    along = generator.normal(size=bases.shape[:2])
    return np.asarray(offsets + np.einsum("nm,nmd->nd", along, bases), dtype=dtype)


def by_lstsq(a: Lifted, b: Lifted) -> Array:
    """min ‖d0 + Dᵀx − e0 − Eᵀy‖ for each pair, one after the other."""
    (d0, d), (e0, e) = ([side.astype(np.float64) for side in sides] for sides in (a, b))
    truth = np.empty((len(d0), len(e0)))
    for i, j in np.ndindex(truth.shape):
        directions, r = np.concatenate([d[i], e[j]]).T, e0[j] - d0[i]
        # The singular values of a pair of directions θ apart are θ/√2 and √2.
        along = np.linalg.lstsq(directions, r, rcond=PARALLEL / 2)[0] if directions.size else 0
        truth[i, j] = np.linalg.norm(r - directions @ along if directions.size else r)
    return truth


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_fast_path_and_reference_equal_least_squares(data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([2, 3, 5, 8, 13, 32]))
    m_a, m_b = (data.draw(st.integers(0, n)) for _ in range(2))
    dtype = data.draw(st.sampled_from([np.float32, np.float64, np.float16]))
    a = lift(data.draw(SEEDS), data.draw(st.integers(1, 5)), m_a, n, dtype)
    b = lift(data.draw(SEEDS), data.draw(st.integers(1, 4)), m_b, n, dtype)
    truth, found = by_lstsq(a, b), subspace_to_subspace(a, b)
    assert np.abs(found - truth).max() < ALLOWED
    assert np.abs(reference_distances(a, b) - truth).max() < 1e-9
    assert found.dtype == (np.float64 if dtype == np.float64 else np.float32)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 0.0]), st.integers(1, 6))
def test_nearly_parallel_subspaces_equal_least_squares(seed: int, angle: float, m: int) -> None:
    generator = np.random.default_rng(seed)
    d0, d = lift(seed, 6, m, 16)
    # Directions turned by at most this angle, the first one kept.
    turned = d.astype(np.float64)
    turned[:, 1:] += angle * generator.normal(size=turned[:, 1:].shape)
    e = np.linalg.qr(turned.transpose(0, 2, 1))[0].transpose(0, 2, 1).astype(np.float32)
    e0 = (d0 + generator.normal(size=d0.shape) / 4).astype(np.float32)
    assert (
        np.abs(subspace_to_subspace((d0, d), (e0, e)) - by_lstsq((d0, d), (e0, e))).max() < ALLOWED
    )


@pytest.mark.parametrize("m", [1, 2, 8, 16, 30])
def test_real_dimensions_equal_least_squares(m: int) -> None:
    a, b = lift(m, 35, m, 128), lift(m + 1, 17, max(m // 2, 1), 128)
    for left, right in ((a, a), (a, b), (b, a)):
        assert np.abs(subspace_to_subspace(left, right) - by_lstsq(left, right)).max() < ALLOWED
    points = lift(3, 20, 0, 128)
    assert np.abs(point_to_subspace(points[0], a) - by_lstsq(points, a)).max() < ALLOWED


def test_parallel_subspaces_are_as_far_apart_as_their_shift() -> None:
    generator = np.random.default_rng(0)
    d0, d = lift(1, 10, 3, 12)
    shift = generator.normal(size=(10, 12))
    shift -= np.einsum("nm,nmd->nd", np.einsum("nmd,nd->nm", d, shift), d)
    turn = np.linalg.qr(generator.normal(size=(10, 3, 3)))[0]
    other = (d0 + shift).astype(np.float32), (turn @ d).astype(np.float32)
    found = np.diagonal(subspace_to_subspace((d0, d), other))
    assert np.allclose(found, np.linalg.norm(shift, axis=1), atol=ALLOWED)


def test_subspaces_that_meet_have_distance_zero_and_the_others_have_not() -> None:
    generator = np.random.default_rng(0)
    descriptors = generator.random((60, 64))
    descriptors /= np.linalg.norm(descriptors, axis=1, keepdims=True)
    a = lift(1, 60, 2, 64, descriptors=descriptors)
    b = lift(2, 60, 4, 64, descriptors=descriptors)
    for found in (
        subspace_to_subspace(a, b),
        point_to_subspace(descriptors.astype(np.float32), a),
        subspace_to_subspace(a, a),
    ):
        assert np.diagonal(found).max() < 1e-6
        assert found[~np.eye(60, dtype=bool)].min() > 0.05


def test_small_distances_keep_their_digits() -> None:
    # Squared, 1e-3 is 1e-6: single precision alone would be wrong by a third of that.
    d0, d = lift(1, 200, 2, 128, np.float64)
    generator = np.random.default_rng(2)
    away = generator.normal(size=d0.shape)
    away -= np.einsum("nm,nmd->nd", np.einsum("nmd,nd->nm", d, away), d)
    away *= 1e-3 / np.linalg.norm(away, axis=1, keepdims=True)
    points = moved(generator, d0, d, np.float64) + away
    given = points.astype(np.float32), (d0.astype(np.float32), d.astype(np.float32))
    assert np.abs(np.diagonal(point_to_subspace(*given)) - 1e-3).max() < 3e-6


def test_lines_that_come_close_far_away_keep_their_digits() -> None:
    # 0.02 apart 20 units from their offsets, .05 rad apart in direction: rounding grows 400 times.
    axes = bases_of(np.random.default_rng(0), 300, 3, 128)
    along, across, away = axes[:, 0], axes[:, 1], axes[:, 2]
    slanted = np.cos(0.05) * along + np.sin(0.05) * across
    a = np.zeros_like(along) + away, along[:, None]
    b = 20 * along + 1.02 * away - 20 * slanted, slanted[:, None]
    found = np.diagonal(
        subspace_to_subspace(*(Subspaces(*(x.astype(np.float32) for x in side)) for side in (a, b)))
    )
    assert np.abs(found - 0.02).max() < ALLOWED


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(0, 5), st.integers(0, 5))
def test_distance_is_that_of_the_subspace_and_not_of_its_description(
    seed: int, m_a: int, m_b: int
) -> None:
    generator = np.random.default_rng(seed)
    (d0, d), (e0, e) = lift(seed, 5, m_a, 12, np.float64), lift(seed + 1, 7, m_b, 12, np.float64)
    before = subspace_to_subspace((d0, d), (e0, e))
    turn = np.linalg.qr(generator.normal(size=(5, m_a, m_a)))[0]
    rotation = np.linalg.qr(generator.normal(size=(12, 12)))[0]
    shift = generator.normal(size=12)
    for what, a, b in (
        ("another point and basis", (moved(generator, d0, d, np.float64), turn @ d), (e0, e)),
        ("rotation", (d0 @ rotation, d @ rotation), (e0 @ rotation, e @ rotation)),
        ("translation", (d0 + shift, d), (e0 + shift, e)),
    ):
        single = [Subspaces(*(array.astype(np.float32) for array in side)) for side in (a, b)]
        assert np.abs(subspace_to_subspace(*single) - before).max() < 2 * ALLOWED, what
        assert np.abs(subspace_to_subspace(a, b) - before).max() < 1e-7, what
    assert np.abs(subspace_to_subspace((e0, e), (d0, d)).T - before).max() < 1e-7


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 6), st.integers(1, 6))
def test_no_two_points_are_closer_than_their_subspaces(seed: int, m_a: int, m_b: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = lift(seed, 6, m_a, 20), lift(seed + 1, 6, m_b, 20)
    found, to_point = subspace_to_subspace(a, b), point_to_subspace(a[0], b)
    assert (found <= np.linalg.norm(a[0][:, None] - b[0], axis=2) + ALLOWED).all()
    assert (found <= to_point + ALLOWED).all()
    for _ in range(10):
        x, y = (moved(generator, *side, np.float64) for side in (a, b))
        assert (found <= np.linalg.norm(x[:, None] - y, axis=2) + ALLOWED).all()


def test_points_alone_have_their_plain_distance() -> None:
    a, b = (np.random.default_rng(seed).random((30, 16)).astype(np.float32) for seed in (0, 1))
    plain = np.linalg.norm(a[:, None] - b, axis=2)
    assert np.allclose(subspace_to_subspace(a, b), plain, atol=1e-5)
    whole = np.broadcast_to(np.eye(16, dtype=np.float32), (30, 16, 16))
    assert point_to_subspace(a, (b, whole)).max() < 1e-6


def test_normals_give_the_same_as_directions() -> None:
    few, many = Subspaces(*lift(1, 20, 1, 16)), Subspaces(*lift(2, 25, 13, 16))
    dual, primal = Pairing(few, many), Pairing(few, many)
    assert dual._columns is many.normals
    assert Pairing(few, few)._columns is few.stacks
    primal._columns = many.stacks
    parts = slice(0, 20), slice(0, 25)
    assert np.allclose(dual.distances(*parts), primal.distances(*parts), atol=2e-5)
    assert np.allclose(subspace_to_subspace(many, few), dual.distances(*parts).T, atol=1e-6)


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
