"""docs/architecture.md is true: its files exist, and one descriptor really passes through them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from skimage import data

import sfumato
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import Release, WordRelease
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import Pipeline, protect
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

SOURCE = Path(sfumato.__file__).parent
PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\d+\. `([\w/]+\.py)`", PAGE, re.MULTILINE)
#: The two pages and the wire format between them: what they call is the main path.
PAGES = ("device/protect.py", "server/localize.py", "core/wire.py")

Call = tuple[str, str]  # file of the caller, file of the callee


@contextmanager
def calls_between_files() -> Iterator[set[Call]]:
    calls: set[Call] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_back is not None:
            pair = (_file_of(frame.f_back), _file_of(frame))
            if all(pair):
                calls.add(pair)

    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def _file_of(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    return path.removeprefix(f"{SOURCE}/") if path.startswith(str(SOURCE)) else ""


@pytest.fixture(scope="module")
def calls() -> set[Call]:
    """What happens between a picture and a pose."""
    pipeline = Pipeline(SubsetMechanism(8.0, 2, Dictionary.load("bsds-16k")), max_keypoints=100)
    room = make_room()
    world = make_map(room, MAPPING_POSES)
    seen, _ = room.look(pose_at(0.7, 0.1, 0.8, turn_deg=5, roll_deg=4), seed=0)
    mechanism = SubsetMechanism(6.0, 1, DICTIONARY)
    picture = data.astronaut()  # type: ignore[no-untyped-call]
    with calls_between_files() as found:
        protect(picture, pipeline)
        sent = mechanism.release(seen, rng=SeededRandom(0), camera=CAMERA).to_bytes()
        received = Release.from_bytes(sent)
        assert isinstance(received, WordRelease)
        result = localize(received, world, dictionary=DICTIONARY)
    assert result.localized
    return found


def test_at_most_twelve_files_are_listed_and_all_exist() -> None:
    assert 8 <= len(LISTED) <= 12
    assert [name for name in LISTED if not (SOURCE / name).is_file()] == []
    assert set(PAGES) <= set(LISTED)


def test_one_descriptor_passes_through_every_listed_file(calls: set[Call]) -> None:
    visited = {callee for _, callee in calls}
    assert [name for name in LISTED if name not in visited] == []


def test_what_the_main_path_calls_is_listed(calls: set[Call]) -> None:
    """But for helpers in core/, which everything uses."""
    called = {callee for caller, callee in calls if caller in PAGES}
    assert {name for name in called - set(LISTED) if not name.startswith("core/")} == set()


def test_the_tree_of_the_page_is_the_tree_of_the_package() -> None:
    folders = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    shown = set(re.findall(r"^  (\w+)/ ", PAGE, re.MULTILINE))
    assert shown == folders
