"""A folder of pictures: in order, resumable after a kill, unreadable ones named."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from sfumato.core.errors import InvalidInput, Mismatch, Missing, UnreadableImage
from sfumato.core.types import Features
from sfumato.features import (
    extract,
    extract_folder,
    iter_folder_features,
    list_feature_names,
    list_images,
    read_features,
)

NAMES = ("0.png", "1.png", "2.png", "3.png", "blank.png", "db/below.PNG")

#: Extract a folder, and kill this very process when `stage` has done `count` pictures.
KILLED = """
import os, signal, sys
from sfumato.features import extract_folder
folder, output, stage, count = sys.argv[1:]
def progress(name, done, total):
    if name == stage and done == int(count):
        os.kill(os.getpid(), signal.SIGKILL)
extract_folder(folder, output, max_keypoints=60, progress=progress)
"""


def content(path: Path) -> dict[str, Features]:
    return {name: read_features(path, name) for name in list_feature_names(path)}


def spoil(gallery: Path) -> None:
    data = (gallery / "0.png").read_bytes()
    (gallery / "1a.png").write_bytes(data[: len(data) // 2])
    (gallery / "zero.jpg").touch()


def test_pictures_are_listed_by_suffix_in_order(gallery: Path) -> None:
    (gallery / ".hidden.png").touch()
    (gallery / ".cache").mkdir()
    (gallery / ".cache" / "thumb.png").touch()
    (gallery / "folder.png").mkdir()
    assert list_images(gallery) == NAMES


def test_a_folder_without_pictures_is_refused(tmp_path: Path) -> None:
    for path, words in ((tmp_path, "holds no picture"), (tmp_path / "absent", "no folder")):
        with pytest.raises(InvalidInput, match=words):
            list_images(path)
        with pytest.raises(InvalidInput, match=words):
            extract_folder(path, tmp_path / "f.h5")
    assert not (tmp_path / "f.h5").exists()


def test_every_picture_is_extracted_as_it_would_be_alone(gallery: Path, tmp_path: Path) -> None:
    output = tmp_path / "f.h5"
    told: list[tuple[str, int, int]] = []
    report = extract_folder(
        gallery, output, extractor="freak", progress=lambda *news: told.append(news)
    )
    stored = content(output)
    assert tuple(stored) == NAMES
    assert all(stored[name] == extract(gallery / name, "freak") for name in NAMES)
    assert report.done == 6
    assert report.skipped_existing == 0
    assert report.unreadable == ()
    assert report.keypoints == sum(len(features) for features in stored.values())
    assert told[:6] == [("extracting", done, 6) for done in range(1, 7)]


def test_complete_pictures_are_skipped_and_new_ones_added(gallery: Path, tmp_path: Path) -> None:
    output = tmp_path / "f.h5"
    extract_folder(gallery, output, max_keypoints=20)
    before = content(output)
    report = extract_folder(gallery, output, max_keypoints=20)
    assert (report.done, report.skipped_existing, report.keypoints) == (0, 6, 0)
    Image.new("RGB", (30, 30)).save(gallery / "new.png")
    report = extract_folder(gallery, output, max_keypoints=20)
    assert (report.done, report.skipped_existing) == (1, 6)
    assert content(output).items() >= before.items()
    for options in ({"max_keypoints": 21}, {"extractor": "rootsift", "max_keypoints": 20}):
        with pytest.raises(Mismatch, match="was begun with sift, 20 keypoints"):
            extract_folder(gallery, output, **options)


def test_unreadable_pictures_are_named_and_left_out(gallery: Path, tmp_path: Path) -> None:
    spoil(gallery)
    report = extract_folder(gallery, tmp_path / "f.h5", max_keypoints=20)
    assert [name for name, _ in report.unreadable] == ["1a.png", "zero.jpg"]
    assert report.unreadable[1][1] == "the file is empty."
    assert list_feature_names(tmp_path / "f.h5") == NAMES


def test_strict_stops_at_the_first_and_leaves_no_file(gallery: Path, tmp_path: Path) -> None:
    spoil(gallery)
    output = tmp_path / "f.h5"
    with pytest.raises(UnreadableImage, match=r"^1a\.png: .*truncated"):
        extract_folder(gallery, output, max_keypoints=20, strict=True)
    assert not output.exists()
    (gallery / "1a.png").unlink()
    (gallery / "zero.jpg").unlink()
    report = extract_folder(gallery, output, max_keypoints=20, strict=True)
    assert report.done + report.skipped_existing == 6
    assert report.skipped_existing >= 2  # those before the bad one, and what was under way
    assert list_feature_names(output) == NAMES


def test_a_folder_of_which_nothing_can_be_read_is_refused(tmp_path: Path) -> None:
    for name in ("a.png", "b.jpg"):
        (tmp_path / name).touch()
    with pytest.raises(InvalidInput, match=r"none of the 2 pictures .* a\.png: the file is empty"):
        extract_folder(tmp_path, tmp_path / "f.h5")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "b.jpg"]


def test_a_name_that_is_no_text_is_reported_not_fatal(gallery: Path, tmp_path: Path) -> None:
    bad = bytes(gallery) + b"/\xff.png"
    Path(bad.decode("utf-8", "surrogateescape")).write_bytes((gallery / "0.png").read_bytes())
    report = extract_folder(gallery, tmp_path / "f.h5", max_keypoints=5)
    ((name, reason),) = report.unreadable
    assert name == "\\udcff.png"
    assert "UTF-8" in reason


def test_features_come_one_by_one_in_order(gallery: Path) -> None:
    spoil(gallery)
    unreadable: list[tuple[str, str]] = []
    pairs = iter_folder_features(gallery, max_keypoints=10, unreadable=unreadable)
    assert next(pairs) == ("0.png", extract(gallery / "0.png", max_keypoints=10))
    assert tuple(name for name, _ in pairs) == NAMES[1:]
    assert [name for name, _ in unreadable] == ["1a.png", "zero.jpg"]
    strict = iter_folder_features(gallery, max_keypoints=10, strict=True)
    with pytest.raises(UnreadableImage, match=r"1a\.png"):
        list(strict)


def test_whoever_stops_early_leaves_no_work_behind(gallery: Path) -> None:
    pairs = iter_folder_features(gallery, max_keypoints=10)
    next(pairs)
    pairs.close()  # type: ignore[attr-defined]
    with pytest.raises(StopIteration):
        next(pairs)


def test_requests_are_checked_before_any_picture_is_opened(gallery: Path, tmp_path: Path) -> None:
    output = tmp_path / "f.h5"
    with pytest.raises(InvalidInput, match="extractor"):
        extract_folder(gallery, output, extractor="surf")
    with pytest.raises(InvalidInput, match="max_keypoints"):
        extract_folder(gallery, output, max_keypoints=0)
    with pytest.raises(Missing):
        extract_folder(gallery, output, extractor="hardnet")
    assert not output.exists()


@pytest.mark.parametrize(
    ("stage", "count"), [("extracting", 1), ("extracting", 4), ("joining", 1), ("joining", 6)]
)
def test_killed_in_the_middle_the_next_run_gives_the_same_file(
    gallery: Path, tmp_path: Path, stage: str, count: int
) -> None:
    whole, resumed = tmp_path / "whole.h5", tmp_path / "resumed.h5"
    extract_folder(gallery, whole, max_keypoints=60)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, gallery, resumed, stage, str(count)], capture_output=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not resumed.exists()
    report = extract_folder(gallery, resumed, max_keypoints=60)
    # Others that were under way may have been written as well.
    assert report.skipped_existing >= (count if stage == "extracting" else 6)
    assert report.done + report.skipped_existing == 6
    assert content(resumed) == content(whole)
    assert not (tmp_path / "resumed.h5.parts").exists()


def test_killed_while_adding_to_a_file_the_file_stays_whole(gallery: Path, tmp_path: Path) -> None:
    output = tmp_path / "f.h5"
    moved = tmp_path / "3.png"
    (gallery / "3.png").rename(moved)
    extract_folder(gallery, output, max_keypoints=60)
    before = output.read_bytes()
    moved.rename(gallery / "3.png")
    for stage in ("extracting", "joining"):
        subprocess.run([sys.executable, "-c", KILLED, gallery, output, stage, "1"])
        assert output.read_bytes() == before
    extract_folder(gallery, output, max_keypoints=60)
    assert content(output)["3.png"] == extract(gallery / "3.png", max_keypoints=60)
    assert list_feature_names(output) == NAMES
