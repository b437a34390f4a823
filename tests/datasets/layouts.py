"""Seven small pictures with known poses, written as each public data set would have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.core.types import Camera, Pose
from synthetic import pose_at

SIZE = (64, 48)
CAMERA = Camera("PINHOLE", *SIZE, (60.0, 61.0, 32.5, 24.5))
#: K as calibrations write it: from pixel centres.
FOCALS, CENTER = (60.0, 61.0), (32.0, 24.0)
POSES = [pose_at(0.3 * i, 0.1 * i, -0.2 * i, turn_deg=7 * i, roll_deg=3 * i) for i in range(7)]
NAN_POSE = "nan nan nan nan\n" * 4


def write_picture(path: Path, size: tuple[int, int] = SIZE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (90, 120, 150)).save(path)


def to_world(pose: Pose) -> NDArray[np.float64]:
    """The (4, 4) matrix from camera to world."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = pose.rotation.T, pose.center
    return matrix


def matrix_text(matrix: Any) -> str:
    return "\n".join("\t ".join(f"{value:.7e}" for value in row) for row in matrix) + "\n"


def wxyz(pose: Pose) -> str:
    return " ".join(f"{value:.9f}" for value in pose.quaternion)


def seven_scenes(root: Path) -> Path:
    """Sequences 1 and 2 of three frames and a broken one, sequence 3 of one; 2 is the test."""
    size = (640, 480)
    for index, pose in enumerate(POSES):
        folder, frame = root / f"seq-{1 + index // 3:02}", f"frame-{index % 3:06}"
        write_picture(folder / f"{frame}.color.png", size)
        write_picture(folder / f"{frame}.depth.png", size)
        (folder / f"{frame}.pose.txt").write_text(matrix_text(to_world(pose)))
    write_picture(root / "seq-01" / "frame-000003.color.png", size)
    (root / "seq-01" / "frame-000003.pose.txt").write_text(NAN_POSE)
    write_picture(root / "seq-02" / "frame-000003.color.png", size)
    (root / "TrainSplit.txt").write_text("sequence1\nsequence3\n")
    (root / "TestSplit.txt").write_text("sequence2\n\n")
    return root


def twelve_scenes(root: Path) -> Path:
    """Frames 0 to 2 are the first sequence, which is the test; frame 7 was not tracked."""
    for index, pose in enumerate(POSES):
        write_picture(root / "data" / f"frame-{index:06}.color.jpg")
        text = matrix_text(to_world(pose))
        (root / "data" / f"frame-{index:06}.pose.txt").write_text(text)
    write_picture(root / "data" / "frame-000007.color.jpg")
    lost = "-1.#INF 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n"
    (root / "data" / "frame-000007.pose.txt").write_text(lost)
    (root / "split.txt").write_text(
        "sequence0 [frames=3]  [start=0 ; end=2]\nsequence1 [frames=5]  [start=3 ; end=7]\n"
    )
    matrix = f"{FOCALS[0]} 0 {CENTER[0]} 0 0 {FOCALS[1]} {CENTER[1]} 0 0 0 1 0 0 0 0 1"
    (root / "info.txt").write_text(
        f"m_versionNumber = 4\nm_colorWidth = {SIZE[0]}\nm_colorHeight = {SIZE[1]}\n"
        f"m_calibrationColorIntrinsic = {matrix}\nm_frames.size = 8\n"
    )
    return root


def cambridge(root: Path) -> Path:
    """The last two are the test. The NVM says .jpg, and a lens for the first only."""
    lines: dict[str, list[str]] = {"train": [], "test": []}
    model = []
    for index, pose in enumerate(POSES):
        name = f"seq{1 + index // 5}/frame{index:05}"
        write_picture(root / f"{name}.png")
        center = " ".join(f"{value:.6f}" for value in pose.center)
        lines["test" if index >= 5 else "train"].append(f"{name}.png {center} {wxyz(pose)}")
        radial = -0.05 if index == 0 else 0
        model.append(f"{name}.jpg\t60.0 {wxyz(pose)} {center} {radial} 0")
    head = "Visual Landmark Dataset V1\nImageFile, Camera Position [X Y Z W P Q R]\n\n"
    for part, rows in lines.items():
        (root / f"dataset_{part}.txt").write_text(head + "\n".join(rows) + "\n")
    text = f"NVM_V3 \n\n{len(model)}\n" + "\n".join(model) + "\n\n1\n0 0 6 9 9 9 1 0 7 1.5 2.5\n"
    (root / "reconstruction.nvm").write_text(text)
    return root


def tum(root: Path) -> Path:
    """Poses every 10 ms that move evenly; the picture at 9 s comes after the last."""
    rows, pictures = ["# time tx ty tz qx qy qz qw"], ["# time file"]
    for index, pose in enumerate(POSES):
        center = pose.center
        w, x, y, z = Pose(pose.rotation.T, np.zeros(3)).quaternion
        for late in (-0.01, 0.01):
            place = " ".join(f"{value:.6f}" for value in center + late)
            sign = 1 if late < 0 else -1  # −q is the same rotation
            turn = " ".join(f"{sign * value:.7f}" for value in (x, y, z, w))
            rows.append(f"{index + 1 + late:.4f} {place} {turn}")
        write_picture(root / "rgb" / f"{index + 1}.000000.png", (640, 480))
        pictures.append(f"{index + 1}.000000 rgb/{index + 1}.000000.png")
    pictures.append("9.000000 rgb/9.000000.png")
    write_picture(root / "rgb" / "9.000000.png", (640, 480))
    (root / "groundtruth.txt").write_text("\n".join(rows) + "\n")
    (root / "rgb.txt").write_text("\n".join(pictures) + "\n")
    return root


def nerf(root: Path, size: tuple[int, int] = SIZE, **more: Any) -> Path:
    """transforms.json for pictures of 64×48, and a frame whose picture is not there."""
    frames = []
    for index, pose in enumerate(POSES):
        write_picture(root / "images" / f"{index:04}.jpg", size)
        matrix = to_world(pose) @ np.diag([1.0, -1.0, -1.0, 1.0])
        frames.append(
            {"file_path": f"./images/{index:04}.jpg", "transform_matrix": matrix.tolist()}
        )
    frames.append({**frames[0], "file_path": "images/0099.jpg"})
    facts = {"fl_x": 60.0, "fl_y": 61.0, "cx": 32.5, "cy": 24.5, "w": 64.0, "h": 48.0}
    (root / "transforms.json").write_text(json.dumps({**facts, "frames": frames, **more}))
    return root


def hloc(root: Path) -> Path:
    """Five pictures in a COLMAP model, two queries: of one the pose is in a file."""
    params = " ".join(map(str, CAMERA.params))
    camera = f"PINHOLE {SIZE[0]} {SIZE[1]} {params}"
    lines = []
    for index, pose in enumerate(POSES):
        name = f"db/{index}.png" if index < 5 else f"query/{index}.png"
        write_picture(root / "images" / name)
        place = " ".join(f"{value:.9f}" for value in pose.translation)
        if index < 5:
            lines += [f"{index + 1} {wxyz(pose)} {place} 1 {name}", ""]
        elif index == 5:
            (root / "query_poses.txt").write_text(f"5.png {wxyz(pose)} {place}\n")
    (root / "sfm" / "model").mkdir(parents=True)
    (root / "sfm" / "model" / "cameras.txt").write_text(f"1 {camera}\n")
    (root / "sfm" / "model" / "images.txt").write_text("\n".join(lines) + "\n")
    (root / "sfm" / "model" / "points3D.txt").write_text("# none\n")
    listed = f"query/5.png {camera}\nquery/6.png {camera}\n"
    (root / "queries_with_intrinsics.txt").write_text(listed)
    return root


def kapture(root: Path) -> Path:
    """Five pictures of a rig's camera below mapping/, two queries: of one the pose is there."""
    params = ", ".join(map(str, CAMERA.params))
    side = pose_at(0.1, -0.2, 0.05, turn_deg=20)  # camera from rig
    for part, numbers in (("mapping", range(5)), ("query", range(5, 7))):
        sensors = root / part / "sensors"
        records, poses = ["# timestamp, device_id, image_path"], ["# timestamp, device_id, pose"]
        for index in numbers:
            write_picture(sensors / "records_data" / f"cam/{index}.png")
            records.append(f"{index}, cam0, cam/{index}.png")
            pose = POSES[index]
            if part == "mapping":  # of the rig: side⁻¹ ∘ pose
                turn = side.rotation.T @ pose.rotation
                shift = side.rotation.T @ (pose.translation - side.translation)
                rig = Pose(turn, shift)
                poses.append(f"{index}, rig0, {_commas(rig)}")
            elif index == 5:
                poses.append(f"{index}, cam0, {_commas(pose)}")
        sensor = f"cam0, front, camera, PINHOLE, {SIZE[0]}, {SIZE[1]}, {params}\n"
        (sensors / "sensors.txt").write_text(f"# id, name, type\n{sensor}l0, roof, lidar, 3\n")
        (sensors / "records_camera.txt").write_text("\n".join(records) + "\n")
        (sensors / "trajectories.txt").write_text("\n".join(poses) + "\n")
        (sensors / "rigs.txt").write_text(f"rig0, cam0, {_commas(side)}\n")
    return root


def _commas(pose: Pose) -> str:
    return ", ".join(f"{value:.9f}" for value in (*pose.quaternion, *pose.translation))
