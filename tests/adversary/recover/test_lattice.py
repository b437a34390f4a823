"""Lattice reduction: the lattice stays, its vectors get short, and every short one is found."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.adversary.recover.lattice import Precision, whole_vectors
from sfumato.adversary.recover.lattice_kernel import reduce_rows, short_combinations


def test_reduction_keeps_the_lattice_and_shortens_it() -> None:
    generator = np.random.default_rng(0)
    rows = generator.integers(-999, 999, (6, 6)).astype(np.float64)
    volume = abs(np.linalg.det(rows))
    longest = np.linalg.norm(rows, axis=1).max()
    square, mu = reduce_rows(rows, 0.99)
    assert abs(np.linalg.det(rows)) == pytest.approx(volume, rel=1e-6)
    assert np.sqrt(square.prod()) == pytest.approx(volume, rel=1e-6)
    assert np.abs(np.tril(mu, -1)).max() <= 0.51
    assert np.linalg.norm(rows, axis=1).max() < longest


def test_enumeration_finds_every_short_vector() -> None:
    """Against a box search that surely holds them all."""
    generator = np.random.default_rng(2)
    for _ in range(5):
        rows = generator.integers(-9, 9, (3, 4)).astype(np.float64)
        square, mu = reduce_rows(rows, 0.99)
        if square.min() < 1:
            continue
        found, ended = short_combinations(square, mu, 200.0, 10**6, 10**4)
        axis = np.arange(-30, 31)
        box = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
        short = ((box @ rows) ** 2).sum(axis=1) <= 200.0
        assert ended
        assert 2 * len(found) == short.sum() - 1
        assert (((found @ rows) ** 2).sum(axis=1) <= 200.0).all()


def test_whole_vectors_of_a_span_are_all_found() -> None:
    generator = np.random.default_rng(4)
    planted = generator.integers(0, 60, (2, 128)).astype(np.float64)
    span = np.linalg.qr(np.concatenate([planted, generator.normal(size=(3, 128))]).T)[0]
    found = whole_vectors(span, Precision(2e-5, 20), generator.permutation(128), 518.0)
    assert found.complete
    for vector in planted:
        assert (np.abs(found.vectors) == vector).all(axis=1).any()
    noise = np.linalg.qr(generator.normal(size=(128, 5)))[0]
    assert not len(whole_vectors(noise, Precision(2e-5, 20), np.arange(128), 518.0).vectors)
