"""Frames of a video become pictures; what is no video is told."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from sfumato.core.errors import InvalidInput, UnreadableImage
from sfumato.features import load_image
from sfumato.features.video import save_frames


@pytest.fixture
def video(tmp_path: Path) -> Path:
    path = tmp_path / "walk.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 30, (64, 48))
    if not writer.isOpened():
        pytest.skip("this OpenCV writes no video")
    for number in range(20):
        writer.write(np.full((48, 64, 3), 10 * number, dtype=np.uint8))
    writer.release()
    return path


def test_every_step_is_one_picture_in_order(video: Path, tmp_path: Path) -> None:
    made = save_frames(video, tmp_path / "photos", step=6)
    names = sorted(path.name for path in (tmp_path / "photos").iterdir())
    assert names == ["000000.jpg", "000006.jpg", "000012.jpg", "000018.jpg"]
    assert (made.pictures, made.seen, made.size) == (4, 20, (64, 48))
    gray = [load_image(tmp_path / "photos" / name).mean() for name in names]
    assert np.allclose(gray, [0, 60, 120, 180], atol=4)


def test_a_limit_ends_it(video: Path, tmp_path: Path) -> None:
    assert save_frames(video, tmp_path / "photos", step=1, most=3).pictures == 3


def test_what_is_no_video_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "no.mp4").write_bytes(b"no video at all")
    with pytest.raises(UnreadableImage, match="holds no frame"):
        save_frames(tmp_path / "no.mp4", tmp_path / "photos")
    with pytest.raises(UnreadableImage, match="cannot be read"):
        save_frames(tmp_path / "absent.mp4", tmp_path / "photos")
    with pytest.raises(InvalidInput, match="plain file"):
        save_frames(tmp_path, tmp_path / "photos")
    assert not (tmp_path / "photos").exists()
