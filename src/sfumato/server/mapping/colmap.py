"""The one place that calls pycolmap: structure from motion, and bundle adjustment.

zlib and numpy come first: pycolmap imported before them makes later PNG writing abort the
process. Bad options abort it too, so everything is checked on this side, and arrays come back,
never pycolmap's objects.
"""

from __future__ import annotations

import tempfile
import zlib  # noqa: F401 - see above
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2  # noqa: F401 - see above
import numpy as np
import pycolmap
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.geometry import cross_matrix
from sfumato.core.lens import from_corner
from sfumato.core.progress import Progress, silent
from sfumato.core.types import CAMERA_MODELS, Camera, Pose
from sfumato.server.mapping.assemble import SparseModel
from sfumato.server.mapping.sfm_input import Matches, check_views

# glog writes to stderr, where our progress bar is; only what ends the process may still speak.
pycolmap.logging.minloglevel = 3

MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class CameraStart:
    """A camera as reconstruction begins with it.

    trusted  the focal length is measured (EXIF, given), not guessed
    fixed    given by the caller and not to be changed
    """

    camera: Camera
    trusted: bool
    fixed: bool


def version() -> str:
    """Which COLMAP does the work."""
    return str(pycolmap.__version__)


def reconstruct(
    names: Sequence[str],
    keypoints: Sequence[NDArray[np.float32]],
    matches: Matches,
    cameras: Sequence[CameraStart],
    camera_of_image: Sequence[int],
    *,
    motions: Mapping[tuple[int, int], Pose] | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> list[SparseModel]:
    """Verify matches and reconstruct; all models found, the largest first.

    matches maps (i, j), i < j, to (M, 2) keypoint rows. Images of a model are in the order of
    `names`. No model at all is an empty list. With motions, j_from_i of every pair, the matches
    were verified before and COLMAP takes them as they are.
    """
    check_views(names, keypoints, matches, len(cameras), camera_of_image)
    check_count("seed", seed, low=0, high=MAX_SEED)
    with tempfile.TemporaryDirectory(prefix="sfumato-sfm-") as folder:
        database = Path(folder) / "database.db"
        output = Path(folder) / "models"
        output.mkdir()
        try:
            _fill_database(database, names, keypoints, matches, cameras, camera_of_image)
            if motions is None:
                _verify(database, seed)
            else:
                _write_motions(database, matches, motions)
            registered = 0

            def another() -> None:
                nonlocal registered
                registered = min(registered + 1, len(names))
                progress("placing images", registered, len(names))

            found = pycolmap.incremental_mapping(
                database,
                Path(folder),
                output,
                _mapping_options(cameras, seed),
                initial_image_pair_callback=another,
                next_image_callback=another,
            )
        except (ValueError, RuntimeError, IndexError) as error:
            raise SfumatoError(f"pycolmap could not reconstruct: {error}.") from error
        models = [_read(model, keypoints) for model in found.values()]
    return sorted(models, key=lambda m: (-len(m.image_names), -len(m.points)))


def write_database(
    path: Path,
    names: Sequence[str],
    keypoints: Sequence[NDArray[np.float32]],
    matches: Matches,
    motions: Mapping[tuple[int, int], Pose],
    cameras: Sequence[CameraStart],
    camera_of_image: Sequence[int],
) -> None:
    """A COLMAP database of images, keypoints and pairs that were matched and verified here."""
    check_views(names, keypoints, matches, len(cameras), camera_of_image)
    _fill_database(path, names, keypoints, matches, cameras, camera_of_image)
    _write_motions(path, matches, motions)


def _fill_database(
    path: Path,
    names: Sequence[str],
    keypoints: Sequence[NDArray[np.float32]],
    matches: Matches,
    cameras: Sequence[CameraStart],
    camera_of_image: Sequence[int],
) -> None:
    """Ids are index + 1, as COLMAP reserves none for zero. Each camera is a rig of its own."""
    database = pycolmap.Database.open(path)
    try:
        for row, start in enumerate(cameras):
            camera = pycolmap.Camera(**start.camera.as_dict(), camera_id=row + 1)
            camera.has_prior_focal_length = start.trusted
            database.write_camera(camera, use_camera_id=True)
            rig = pycolmap.Rig(rig_id=row + 1)
            rig.add_ref_sensor(camera.sensor_id)
            database.write_rig(rig, use_rig_id=True)
        for row, name in enumerate(names):
            owner = camera_of_image[row] + 1
            image = pycolmap.Image(name=name, camera_id=owner, image_id=row + 1)
            database.write_image(image, use_image_id=True)
            frame = pycolmap.Frame(frame_id=row + 1, rig_id=owner)
            frame.add_data_id(image.data_id)
            database.write_frame(frame, use_frame_id=True)
            positions = from_corner(keypoints[row]).astype(np.float32)
            database.write_keypoints(row + 1, positions)
        for (first, second), rows in matches.items():
            if len(rows):
                database.write_matches(first + 1, second + 1, rows.astype(np.uint32))
    finally:
        database.close()


def _verify(path: Path, seed: int) -> None:
    options = pycolmap.TwoViewGeometryOptions()
    options.ransac.random_seed = seed
    # Borders that never move are a video's watermark; a map's pictures have none.
    options.detect_watermark = False
    pycolmap.geometric_verification(path, two_view_geometry_options=options)


def _write_motions(path: Path, matches: Matches, motions: Mapping[tuple[int, int], Pose]) -> None:
    """Two-view geometries of calibrated pairs, estimated by the caller."""
    database = pycolmap.Database.open(path)
    try:
        for (first, second), rows in matches.items():
            motion = motions[first, second]
            geometry = pycolmap.TwoViewGeometry()
            geometry.config = pycolmap.TwoViewGeometryConfiguration.CALIBRATED
            geometry.inlier_matches = rows.astype(np.uint32)
            geometry.cam2_from_cam1 = _rigid(motion)
            geometry.E = cross_matrix(motion.translation) @ motion.rotation
            database.write_two_view_geometry(first + 1, second + 1, geometry)
    finally:
        database.close()


def _rigid(pose: Pose) -> Any:
    return pycolmap.Rigid3d(pycolmap.Rotation3d(pose.rotation), pose.translation)


def adjust(
    model: SparseModel,
    keypoints: Sequence[NDArray[np.float32]],
    *,
    refine_cameras: bool,
    min_track: int = 3,
    loss_scale: float = 1.0,
) -> SparseModel:
    """The model with poses (and focal lengths, lenses) that fit its longer tracks best.

    Points seen by fewer than min_track images have no say: nothing would contradict them.
    Residuals beyond loss_scale pixels pull linearly (soft L1). Points are left where they were,
    to be triangulated again.
    """
    world = pycolmap.Reconstruction()
    for row, camera in enumerate(model.cameras):
        world.add_camera_with_trivial_rig(pycolmap.Camera(**camera.as_dict(), camera_id=row + 1))
    for row, name in enumerate(model.image_names):
        image = pycolmap.Image(
            name=name,
            keypoints=from_corner(keypoints[row]),
            camera_id=model.camera_of_image[row] + 1,
            image_id=row + 1,
        )
        world.add_image_with_trivial_frame(image, _rigid(model.poses[row]))
    elements: list[list[tuple[int, int]]] = [[] for _ in range(len(model.points))]
    for image_row, seen in enumerate(model.point_of_feature):
        for feature in np.flatnonzero(seen >= 0).tolist():
            elements[seen[feature]].append((image_row + 1, feature))
    long = [row for row, track in enumerate(elements) if len(track) >= min_track]
    if not long:
        return model
    for row in long:
        track = pycolmap.Track()
        for element in elements[row]:
            track.add_element(*element)
        world.add_point3D(model.points[row], track)
    options = pycolmap.BundleAdjustmentOptions()
    options.refine_focal_length = options.refine_extra_params = refine_cameras
    options.print_summary = False
    options.ceres.loss_function_type = pycolmap.LossFunctionType.SOFT_L1
    options.ceres.loss_function_scale = loss_scale
    config = pycolmap.BundleAdjustmentConfig()
    for row in range(len(model.image_names)):
        config.add_image(row + 1)
    config.fix_gauge(pycolmap.BundleAdjustmentGauge.TWO_CAMS_FROM_WORLD)
    try:
        # Not pycolmap.bundle_adjustment: it turns all of COLMAP's logging on again.
        pycolmap.create_default_bundle_adjuster(options, config, world).solve()
    except (ValueError, RuntimeError, IndexError) as error:
        raise SfumatoError(f"pycolmap could not adjust the poses: {error}.") from error
    found = [world.images[row + 1].cam_from_world() for row in range(len(model.image_names))]
    return replace(
        model,
        cameras=tuple(_camera(world.cameras[row + 1]) for row in range(len(model.cameras))),
        poses=tuple(Pose(pose.rotation.matrix(), pose.translation) for pose in found),
    )


def _mapping_options(cameras: Sequence[CameraStart], seed: int) -> Any:
    options = pycolmap.IncrementalPipelineOptions()
    options.random_seed = seed
    options.mapper.random_seed = seed
    options.triangulation.random_seed = seed
    options.extract_colors = False  # no pictures are given
    options.min_model_size = 2
    options.constant_cameras = {row + 1 for row, start in enumerate(cameras) if start.fixed}
    return options


def _read(model: Any, keypoints: Sequence[NDArray[np.float32]]) -> SparseModel:
    ids = sorted(model.reg_image_ids())
    images = [model.images[number] for number in ids]
    camera_ids = sorted({image.camera_id for image in images})
    row_of_image = {number: row for row, number in enumerate(ids)}
    seen = [np.full(len(keypoints[number - 1]), -1, dtype=np.int32) for number in ids]
    points = np.empty((model.num_points3D(), 3))
    for row, number in enumerate(sorted(model.point3D_ids())):
        point = model.points3D[number]
        points[row] = point.xyz
        for element in point.track.elements:
            if element.image_id in row_of_image:
                seen[row_of_image[element.image_id]][element.point2D_idx] = row
    poses = [image.cam_from_world() for image in images]
    return SparseModel(
        image_names=tuple(image.name for image in images),
        cameras=tuple(_camera(model.cameras[number]) for number in camera_ids),
        camera_of_image=tuple(camera_ids.index(image.camera_id) for image in images),
        poses=tuple(Pose(pose.rotation.matrix(), pose.translation) for pose in poses),
        points=points,
        point_of_feature=tuple(seen),
    )


def _camera(camera: Any) -> Camera:
    model = str(camera.model.name)
    if model not in CAMERA_MODELS:
        raise InvalidInput(f"pycolmap gave a camera of the model {model}, which is not known.")
    return Camera(model, camera.width, camera.height, tuple(float(p) for p in camera.params))
