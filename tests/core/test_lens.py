"""Lenses, there and back, and against COLMAP's own."""

from __future__ import annotations

import numpy as np
import pycolmap
import pytest

from server.mapping.worlds import PINHOLE
from sfumato.core.lens import focal_lengths, project, unproject
from sfumato.core.types import CAMERA_MODELS, Camera

LENSES = {
    "SIMPLE_PINHOLE": (500.0, 320.0, 240.0),
    "PINHOLE": (500.0, 510.0, 321.0, 239.0),
    "SIMPLE_RADIAL": (500.0, 320.0, 240.0, -0.08),
    "RADIAL": (500.0, 320.0, 240.0, -0.08, 0.02),
    "OPENCV": (500.0, 510.0, 321.0, 239.0, -0.1, 0.02, 0.001, -0.002),
    "OPENCV_FISHEYE": (500.0, 510.0, 321.0, 239.0, 0.05, -0.01, 0.002, 0.001),
    "FULL_OPENCV": (500.0, 510.0, 321.0, 239.0, -0.1, 0.02, 0.001, -0.002, 0.01, 0.02, 0.01, 0.0),
}


def some_points() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(0)
    return np.asarray(rng.uniform([-1, -0.8, 2], [1, 0.8, 4], (200, 3)))


def test_every_camera_model_is_tested() -> None:
    assert set(LENSES) == set(CAMERA_MODELS)


@pytest.mark.parametrize("model", LENSES)
def test_project_and_unproject_undo_each_other(model: str) -> None:
    camera = Camera(model, 640, 480, LENSES[model])
    points = some_points()
    back = unproject(camera, project(camera, points))
    np.testing.assert_allclose(back, points[:, :2] / points[:, 2:], atol=1e-9)


@pytest.mark.parametrize("model", LENSES)
def test_pixels_are_colmaps_less_half_a_pixel(model: str) -> None:
    camera = Camera(model, 640, 480, LENSES[model])
    theirs = pycolmap.Camera(model=model, width=640, height=480, params=LENSES[model])
    points = some_points()
    pixels = np.asarray(theirs.img_from_cam(points), dtype=np.float64)
    np.testing.assert_allclose(project(camera, points), pixels - 0.5, atol=1e-9)


def test_the_axis_meets_the_principal_point() -> None:
    assert project(PINHOLE, np.array([[0.0, 0.0, 3.0]])).tolist() == [[321.5, 238.5]]
    assert focal_lengths(PINHOLE) == (500.0, 520.0)


def test_a_pixel_that_no_ray_reaches_is_nan() -> None:
    folded = Camera("SIMPLE_RADIAL", 640, 480, (100.0, 320.0, 240.0, -0.5))
    rays = unproject(folded, np.array([[320.0, 240.0], [639.0, 479.0]]))
    assert np.isfinite(rays[0]).all()
    assert np.isnan(rays[1]).all()
