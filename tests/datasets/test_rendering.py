"""The renderer against small worlds whose pictures can be computed by hand."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera, Pose
from sfumato.datasets.rendering import Layer, Quad, Texture, cast, project, render

CAMERA = Camera("PINHOLE", 160, 120, (130.0, 128.0, 80.0, 60.0))
STRAIGHT = Pose(np.eye(3), np.zeros(3))
RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def plain(*colour: float) -> Texture:
    return Texture.of(np.full((4, 4, len(colour)), colour, dtype=np.float32))


def facing(depth: float, *, left: float = -1.0, width: float = 2.0) -> Quad:
    """An upright rectangle across the line of sight."""
    corner = np.array([left, -1.0, depth])
    return Quad(corner, np.array([width, 0, 0]), np.array([0, 2.0, 0]))


def tilted_board() -> Quad:
    turn = np.asarray(cv2.Rodrigues(np.array([0.5, -0.6, 0.1]))[0], dtype=np.float64)
    right, down = 1.4 * turn[:, 0], 1.0 * turn[:, 1]
    return Quad(np.array([0.1, -0.05, 2.0]) - right / 2 - down / 2, right, down)


def test_corners_of_a_chessboard_are_found_where_they_project() -> None:
    squares = np.indices((6, 8)).sum(axis=0) % 2
    pixels = np.kron(squares, np.ones((40, 40)))[:, :, None].repeat(3, axis=2)
    board = tilted_board()
    camera = Camera("PINHOLE", 480, 360, (390.0, 384.0, 240.0, 180.0))
    image, _ = render([board], [Texture.of(pixels.astype(np.float32))], camera, STRAIGHT)
    v, u = (line.ravel() for line in np.mgrid[1:6, 1:8] / np.array([6.0, 8.0])[:, None, None])
    expected = project(board.at(u, v), camera, STRAIGHT)
    assert ((expected > 15) & (expected < (464, 344))).all()
    # The search for corners wants soft edges.
    gray = np.rint(255 * cv2.GaussianBlur(image[:, :, 0], (0, 0), 1.0)).astype(np.uint8)
    start = np.round(expected).astype(np.float32).reshape(-1, 1, 2)
    found = cv2.cornerSubPix(gray, start, (5, 5), (-1, -1), (3, 60, 1e-4)).reshape(-1, 2)
    assert np.abs(found - expected).max() < 0.1
    assert np.abs((found - expected).mean(axis=0)).max() < 0.02


def test_every_pixel_shows_the_texture_at_the_place_its_ray_hits() -> None:
    v, u = (np.mgrid[:256, :256] + 0.5) / 256
    texture = Texture.of(np.stack([u, v, np.ones_like(u)], axis=2).astype(np.float32))
    image, _ = render([tilted_board()], [texture], CAMERA, STRAIGHT)
    rows, columns = np.nonzero(image[:, :, 2] == 1)
    keypoints = np.stack([columns, rows], axis=1).astype(np.float64)
    _, place, _ = cast([tilted_board()], CAMERA, STRAIGHT, keypoints)
    inside = ((place > 0.03) & (place < 0.97)).all(axis=1)
    assert inside.sum() > 2000
    shown = image[rows, columns, :2]
    # A hundredth of a pixel: one pixel is about 1/90 of the board.
    assert np.abs(shown - place)[inside].max() < 0.01 / 90


def test_the_centre_of_the_first_pixel_is_zero() -> None:
    points = np.array([[0.0, 0.0, 2.0], [-79.5 / 130, -59.5 / 128, 1.0], [0.0, 0.0, -1.0]])
    keypoints = project(points, CAMERA, STRAIGHT)
    assert keypoints[:2] == pytest.approx(np.array([[79.5, 59.5], [0.0, 0.0]]))
    assert np.isnan(keypoints[2]).all()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_nearer_rectangle_is_seen_whatever_the_order(order: tuple[int, int]) -> None:
    quads = [facing(2.0, width=1.0), facing(3.0)]
    textures = [plain(*RED), plain(*BLUE)]
    image, _ = render([quads[i] for i in order], [textures[i] for i in order], CAMERA, STRAIGHT)
    assert image[60, 70] == pytest.approx(RED)
    assert image[60, 90] == pytest.approx(BLUE)
    hit, _, inverse_depth = cast(quads, CAMERA, STRAIGHT, np.array([[70.0, 60], [90, 60], [0, 60]]))
    assert hit.tolist() == [0, 1, -1]
    assert inverse_depth == pytest.approx(np.array([1 / 2, 1 / 3, 0]))


def test_an_edge_inside_a_pixel_is_blended() -> None:
    edge = (80.5 - 80) / 130 * 2  # through the middle of pixel 80, which spans 80 to 81
    image, _ = render([facing(2.0, left=edge - 3, width=3)], [plain(1, 1, 1)], CAMERA, STRAIGHT)
    assert image[60, 79:82, 0] == pytest.approx([1, 0.5, 0])


def test_a_rectangle_has_no_back() -> None:
    front = facing(2.0)
    back = Quad(front.corner + front.right, -front.right, front.down)
    assert cast([back], CAMERA, STRAIGHT, np.array([[80.0, 60.0]]))[0].tolist() == [-1]


def test_a_floor_that_passes_under_the_camera_is_drawn_up_to_the_lens() -> None:
    corner, right, down = np.array([-5.0, 1, 10]), np.array([10.0, 0, 0]), np.array([0.0, 0, -20])
    image, _ = render([Quad(corner, right, down)], [plain(*RED)], CAMERA, STRAIGHT)
    assert image[119, :, 0] == pytest.approx(1.0)
    assert image[:59].max() == 0


def test_far_away_a_fine_pattern_becomes_its_mean() -> None:
    stripes = (np.arange(512) % 2).astype(np.float32)
    texture = Texture.of(np.tile(stripes[None, :, None], (512, 1, 3)))
    image, _ = render([facing(4.0)], [texture], CAMERA, STRAIGHT)
    inside = image[45:75, 60:100]
    assert inside == pytest.approx(np.full(inside.shape, 0.5), abs=0.02)


def test_a_layer_is_laid_over_what_is_behind_and_hidden_by_what_is_in_front() -> None:
    layer = Layer(facing(2.5), plain(0.0, 0.5, 0.0, 0.5), solid=True)
    quads, textures = [facing(2.0, width=1.0), facing(3.0)], [plain(*RED), plain(*BLUE)]
    image, covered = render(quads, textures, CAMERA, STRAIGHT, [layer])
    assert image[60, 70] == pytest.approx(RED)
    assert image[60, 90] == pytest.approx((0.0, 0.5, 0.5))
    assert (covered[60, 70], covered[60, 90]) == (0.0, 0.5)


def test_cameras_with_distortion_are_refused() -> None:
    camera = Camera("SIMPLE_RADIAL", 64, 48, (50.0, 32.0, 24.0, 0.1))
    with pytest.raises(InvalidInput, match="PINHOLE camera is needed"):
        project(np.zeros((1, 3)), camera, STRAIGHT)
