"""Distances of subspaces: against least squares, and under every symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.matching.subspace import (
    Subspaces,
    point_to_subspace,
    reference_distances,
    subspace_to_subspace,
)
from sfumato.matching.subspace_tiles import Pairing
from subspaces import ALLOWED, SEEDS, bases_of, by_lstsq, lift, moved


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
