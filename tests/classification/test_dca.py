"""Discriminant components, and the exact fit of DCAConv against patches that are really cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sfumato.classification.conv_scatter import Moments, fit_filters
from sfumato.classification.dca import discriminant_directions, fixed_signs
from sfumato.classification.dcaconv import DCAConv
from sfumato.core.errors import InvalidInput

ROWS, LABELS = load_digits(return_X_y=True)
PICTURES = ROWS.reshape(-1, 8, 8)[:300]


def test_directions_are_those_of_linear_discriminant_analysis() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    rows = rng.normal(size=(600, 5)) @ rng.normal(size=(5, 5)) + np.eye(5)[labels] * 4
    between, within = scatters(rows[:, None], labels, "position")
    ours = discriminant_directions(between, within, 2, ridge=1e-9, signal_ridge=0.0)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(rows, labels).scalings_[:, :2].T
    expected = fixed_signs(theirs / np.linalg.norm(theirs, axis=1, keepdims=True))
    np.testing.assert_allclose(ours.vectors, expected, atol=1e-6)


def test_eigenvalues_solve_the_generalised_problem_and_end_at_one() -> None:
    rng = np.random.default_rng(1)
    a, means = rng.normal(size=(6, 40)), rng.normal(size=(6, 2))
    within, between = a @ a.T, means @ means.T
    found = discriminant_directions(between, within, 6, ridge=1e-6, signal_ridge=0.0)
    for value, vector in zip(found.eigenvalues, found.vectors, strict=True):
        np.testing.assert_allclose(
            (between + within) @ vector, value * within @ vector, rtol=1e-3, atol=1e-3
        )
    np.testing.assert_allclose(found.eigenvalues[2:], 1, atol=1e-9)  # rank 2: classes − 1
    assert found.gap == pytest.approx(0, abs=1e-9)
    two = discriminant_directions(between, within, 2, ridge=1e-6, signal_ridge=0.0)
    assert two.gap > 1e-3


def test_the_sign_of_a_direction_does_not_depend_on_the_solver() -> None:
    rows = np.array([[0.2, -0.9, 0.1], [0.5, 0.5 - 1e-12, -0.5]])
    np.testing.assert_allclose(fixed_signs(rows), fixed_signs(-rows))
    assert fixed_signs(rows)[0, 1] > 0
    assert fixed_signs(-rows)[1, 0] > 0


def cut_patches(pictures: Any, size: int) -> Any:
    """(N, positions, size²), each patch without its mean; the long way round."""
    half = size // 2
    padded = np.pad(pictures, ((0, 0), (half, half), (half, half)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))
    patches = windows.reshape(len(pictures), -1, size * size)
    return patches - patches.mean(axis=2, keepdims=True)


def scatters(patches: Any, labels: Any, scatter: str) -> tuple[Any, Any]:
    within = between = 0
    axis = (0, 1) if scatter == "paper" else 0
    overall = patches.mean(axis=axis)
    for label in np.unique(labels):
        mine = patches[labels == label]
        mean = mine.mean(axis=axis)
        inner = (mine - mean).reshape(-1, patches.shape[2])
        outer = np.broadcast_to(mean - overall, mine.shape).reshape(-1, patches.shape[2])
        within, between = within + inner.T @ inner, between + outer.T @ outer
    return between, within


@pytest.mark.parametrize("scatter", ["paper", "position"])
def test_filters_from_moments_are_those_from_patches(scatter: str) -> None:
    labels = LABELS[:300]
    _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    moments = Moments.of(PICTURES, index, counts)
    options: dict[str, Any] = {"scatter": scatter, "ridge": 1e-3, "signal_ridge": 0.0}
    found = fit_filters([moments], 3, 2, **options)
    np.testing.assert_allclose(found.vectors.sum(axis=1), 0, atol=1e-12)
    between, within = scatters(cut_patches(PICTURES, 3), labels, scatter)
    noise = within + 1e-3 * np.trace(within) / 8 * np.eye(9)
    for value, vector in zip(found.eigenvalues, found.vectors, strict=False):
        left, right = (between + noise) @ vector, value * noise @ vector
        np.testing.assert_allclose(left - left.mean(), right - right.mean(), rtol=1e-6)


@pytest.mark.parametrize("scatter", ["paper", "position"])
def test_the_second_stage_sees_the_filtered_maps(scatter: str) -> None:
    """Moments of maps equal the moments of pictures that were really filtered."""
    from scipy.ndimage import correlate

    _, index, counts = np.unique(LABELS[:300], return_inverse=True, return_counts=True)
    kernel = np.random.default_rng(2).normal(size=(3, 3))
    maps = np.stack([correlate(picture, kernel, mode="constant") for picture in PICTURES])
    direct = Moments.of(maps, index, counts)
    derived = Moments.of(PICTURES, index, counts).filtered(kernel)
    np.testing.assert_allclose(derived.second, direct.second, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(derived.means, direct.means, atol=1e-9)


@pytest.mark.parametrize("ridge", [0, -1.0, float("nan"), float("inf"), "much"])
def test_useless_ridges_are_refused(ridge: Any) -> None:
    with pytest.raises(InvalidInput, match="ridge"):
        DCAConv((1, 1), filter_size=3, ridge=ridge).fit(PICTURES, LABELS[:300])


def test_what_has_no_scatter_is_refused() -> None:
    none = np.zeros((3, 3))
    with pytest.raises(InvalidInput, match="scatter"):
        discriminant_directions(none, none, 1, ridge=1e-3, signal_ridge=0.0)
