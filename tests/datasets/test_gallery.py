"""The built-in scene: exact geometry, the same bytes every time, a visitor only in queries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.types import Camera, Pose
from sfumato.datasets import GallerySettings, Scene, View, gallery, load_gallery, point_at
from sfumato.datasets.gallery_light import lit_textures
from sfumato.datasets.gallery_room import DEPTH, HEIGHT, WIDTH, is_free, room
from sfumato.datasets.gallery_views import Shot, camera_of, mapping_shots, query_shots
from sfumato.datasets.rendering import Texture, cast, project

SMALL = GallerySettings(num_mapping=4, num_queries=4)


@pytest.fixture(scope="module")
def textures() -> list[Texture]:
    return lit_textures()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gallery")


@pytest.fixture(scope="module")
def scene(folder: Path) -> Scene:
    return load_gallery(folder, SMALL)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, textures: list[Texture]) -> None:
    """Light is baked once for the tests that render again."""
    monkeypatch.setattr(gallery, "lit_textures", lambda: textures)


def grid(camera: Camera, step: int) -> NDArray[np.float64]:
    y, x = np.mgrid[step // 2 : camera.height : step, step // 2 : camera.width : step]
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float64)


def without_picture(shot: Shot) -> View:
    """Geometry needs no pixels."""
    return View(shot.name, np.zeros((1, 1, 3), np.uint8), camera_of(640, 480), shot.pose, None)


def test_pictures_come_with_camera_and_pose(scene: Scene) -> None:
    assert (scene.name, len(scene.mapping), len(scene.queries)) == ("gallery", 4, 4)
    for view in scene.mapping + scene.queries:
        assert view.image.shape == (480, 640, 3)
        assert view.image.dtype == np.uint8
        assert not view.image.flags.writeable
        assert view.camera.params[2:] == (320.0, 240.0)
        assert 60 < view.image.mean() < 200


def test_names_and_poses_are_all_different_and_inside_the_room() -> None:
    shots = mapping_shots() + query_shots()
    assert (len(mapping_shots()), len(query_shots())) == (48, 20)
    assert len({shot.name for shot in shots}) == len(shots)
    assert len({shot.pose.center.tobytes() for shot in shots}) == len(shots)
    for shot in shots:
        x, y, z = shot.pose.center
        assert is_free(x, y, 0.25), shot.name
        assert 1.2 < z < 2.0
        assert shot.pose.rotation @ shot.pose.rotation.T == pytest.approx(np.eye(3), abs=1e-12)
        assert shot.pose.rotation[1, 2] < -0.9, "the camera's y must point down"


def test_corners_of_a_frame_are_found_where_they_project(scene: Scene) -> None:
    view = scene.mapping[3]
    (quad,) = (quad for quad in room() if quad.skin.startswith("picture:coins:"))
    sides = np.round(np.array(quad.size) * 440)
    near, far = 15 / sides, 1 - 15 / sides  # where the oak ends and the card begins
    corners = quad.at(
        np.array([near[0], far[0], far[0], near[0]]), np.array([near[1], near[1], far[1], far[1]])
    )
    expected = project(corners, view.camera, view.pose)
    gray = cv2.cvtColor(view.image, cv2.COLOR_RGB2GRAY)
    start = np.round(expected).astype(np.float32).reshape(-1, 1, 2).copy()
    found = cv2.cornerSubPix(gray, start, (4, 4), (-1, -1), (3, 50, 1e-3)).reshape(-1, 2)
    assert np.abs(found - expected).max() < 0.5
    # Blur draws every corner inwards; over the four of them that cancels.
    assert np.abs((found - expected).mean(axis=0)).max() < 0.12


def test_keypoints_and_points_are_each_others_inverse(scene: Scene) -> None:
    for view in scene.mapping:
        keypoints = grid(view.camera, 16)
        points = point_at(view, keypoints)
        assert project(points, view.camera, view.pose) == pytest.approx(keypoints, abs=1e-6)
        assert (points >= -1e-9).all()
        assert (points <= np.array([WIDTH, DEPTH, HEIGHT]) + 1e-9).all()


def test_matches_between_views_agree_with_the_known_points(scene: Scene) -> None:
    sift = cv2.SIFT_create(2000)  # type: ignore[attr-defined]
    first, second = scene.mapping[0], scene.mapping[3]
    (found, theirs), (others, ours) = (
        sift.detectAndCompute(view.image, None) for view in (first, second)
    )
    assert min(len(found), len(others)) > 400
    pairs = cv2.BFMatcher().knnMatch(theirs, ours, k=2)
    kept = [best for best, rival in pairs if best.distance < 0.7 * rival.distance]
    assert len(kept) > 60
    points = point_at(first, np.array([found[match.queryIdx].pt for match in kept]))
    there = np.array([others[match.trainIdx].pt for match in kept])
    error = np.linalg.norm(project(points, second.camera, second.pose) - there, axis=1)
    assert np.mean(error < 2) > 0.7
    assert np.median(error) < 0.6


def test_the_pillar_hides_what_is_behind_it() -> None:
    eye = np.array([4.0, 2.5, 1.5])
    pillar = np.array([5.25, 0.75, 1.5])
    forward = (pillar - eye) / np.linalg.norm(pillar - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(forward, right), forward])
    pose = Pose(rotation, -rotation @ eye)
    hit, _, inverse_depth = cast(room(), camera_of(640, 480), pose, np.array([[319.5, 239.5]]))
    assert room()[hit[0]].skin.startswith("block:brick")
    assert 1 / inverse_depth[0] < np.linalg.norm(pillar - eye)


def test_the_same_bytes_are_rendered_every_time(scene: Scene, tmp_path: Path) -> None:
    again = load_gallery(tmp_path, SMALL)
    assert again == scene


@pytest.mark.usefixtures("quick")
def test_a_picture_does_not_depend_on_how_many_are_taken(scene: Scene, tmp_path: Path) -> None:
    fewer = load_gallery(tmp_path, GallerySettings(num_mapping=1, num_queries=2))
    assert fewer.mapping == scene.mapping[:1]
    assert fewer.queries == scene.queries[:2]


def test_the_cache_is_read_and_not_rendered_again(
    scene: Scene, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(gallery, "lit_textures")
    assert load_gallery(folder, SMALL) == scene


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("damage", ["flipped", "cut", "manifest", "missing", "a file"])
def test_a_damaged_cache_is_rendered_again(tmp_path: Path, damage: str) -> None:
    settings = GallerySettings(width=64, height=48, num_mapping=1, num_queries=2)
    scene = load_gallery(tmp_path, settings)
    (folder,) = tmp_path.iterdir()
    images = folder / "images.npy"
    whole = images.read_bytes()
    if damage == "flipped":
        images.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    elif damage == "cut":
        images.write_bytes(whole[:1000])
    elif damage == "manifest":
        (folder / "manifest.json").write_text("{")
    elif damage == "missing":
        (folder / "poses.npy").unlink()
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.write_text("not a folder")
    assert load_gallery(tmp_path, settings) == scene
    if damage != "a file":
        assert images.read_bytes() == whole


@pytest.mark.usefixtures("quick")
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    settings = GallerySettings(width=64, height=48, num_mapping=1, num_queries=0)
    (tmp_path / "file").write_text("in the way")
    scene = load_gallery(tmp_path / "file", settings)
    assert scene == load_gallery(tmp_path / "folder", settings)


def test_the_cache_is_kept_in_the_users_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    load_gallery(settings=GallerySettings(num_mapping=0, num_queries=0))
    (folder,) = (tmp_path / "sfumato").iterdir()
    assert folder.name.startswith(f"gallery-v{gallery.VERSION}-")


def test_the_visitor_stands_in_two_of_five_queries_and_never_in_the_map(scene: Scene) -> None:
    assert all(shot.person is None for shot in mapping_shots())
    assert sum(shot.person is not None for shot in query_shots()) == 8
    assert [view.person_box is not None for view in scene.mapping] == [False] * 4
    assert [view.person_box is not None for view in scene.queries] == [False, True, False, True]


def test_the_visitor_covers_a_fair_part_of_her_queries() -> None:
    for shot in query_shots():
        hidden = np.isnan(point_at(without_picture(shot), grid(camera_of(640, 480), 8))[:, 0])
        assert hidden.mean() == 0 if shot.person is None else 0.08 < hidden.mean() < 0.25


def test_the_visitor_is_inside_her_box_and_changes_nothing_outside(
    scene: Scene, textures: list[Texture]
) -> None:
    view = scene.queries[1]
    assert view.person_box is not None
    left, top, right, bottom = view.person_box
    keypoints = grid(view.camera, 4)
    hers = keypoints[np.isnan(point_at(view, keypoints)[:, 0])]
    assert (hers >= (left, top)).all()
    assert (hers < (right, bottom)).all()

    empty = Shot(view.name, view.pose, None)
    image, _ = gallery._take(view.camera, textures, empty)
    changed = np.abs(view.image.astype(int) - image).max(axis=2) > 60
    changed[min(bottom, 480) - 60 :] = False  # her shadow on the floor is not she
    rows, columns = np.nonzero(changed)
    assert rows.size > 0.05 * changed.size
    assert left <= columns.min()
    assert columns.max() < right
    assert top <= rows.min()


def test_every_query_shares_what_it_sees_with_three_mapping_views() -> None:
    camera = camera_of(640, 480)
    seen = [point_at(without_picture(shot), grid(camera, 64)) for shot in query_shots()]
    points = np.concatenate(seen)
    owner = np.repeat(np.arange(len(seen)), [len(part) for part in seen])
    shared = np.zeros((len(mapping_shots()), len(seen)))
    for row, shot in enumerate(mapping_shots()):
        keypoints = project(points, camera, shot.pose)
        inside = ((keypoints >= 0) & (keypoints <= (639, 479))).all(axis=1)
        rows = np.flatnonzero(inside)
        there = point_at(without_picture(shot), keypoints[rows])
        visible = rows[np.linalg.norm(there - points[rows], axis=1) < 0.01]
        shared[row] = np.bincount(owner[visible], minlength=len(seen)) / len(seen[0])
    assert ((shared > 0.25).sum(axis=0) >= 3).all()


def test_points_are_known_for_the_gallerys_own_views_only(scene: Scene) -> None:
    view = scene.mapping[0]
    stranger = View("holiday", view.image, view.camera, view.pose, None)
    with pytest.raises(InvalidInput, match="must be one of the gallery's"):
        point_at(stranger, np.zeros((1, 2)))
    with pytest.raises(InvalidInput, match="keypoints must have shape"):
        point_at(view, np.zeros(3))
    assert point_at(view, np.zeros((0, 2))).shape == (0, 3)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidInput, match="num_queries must be between 0 and 20"):
        GallerySettings(num_queries=21)
    with pytest.raises(InvalidInput, match="width must be between"):
        GallerySettings(width=0)


def test_importing_the_gallery_loads_no_photographs() -> None:
    heavy = {"skimage", "sklearn", "cv2"}
    code = f"import sys, sfumato.datasets.gallery; print({heavy} & set(sys.modules))"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.strip() == "set()"
