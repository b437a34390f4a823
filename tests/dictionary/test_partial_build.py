"""A build that was stopped, killed or damaged goes on and ends with the same words."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.dictionary import build_dictionary


def test_a_partial_build_with_other_settings_is_refused(
    sift: NDArray[np.uint8], tmp_path: Path
) -> None:
    stop_after(2, sift, tmp_path / "d")
    with pytest.raises(InvalidInput, match="other settings"):
        build_dictionary(sift, num_words=31, output=tmp_path / "d")
    with pytest.raises(InvalidInput, match="other settings"):
        build_dictionary(sift[1:], num_words=30, output=tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_two_processes_do_not_build_the_same_output(
    sift: NDArray[np.uint8], tmp_path: Path
) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        with pytest.raises(InvalidInput, match="another process is building"):
            build_dictionary(sift, num_words=4, output=tmp_path / "d", iterations=1)

    build_dictionary(sift, num_words=4, output=tmp_path / "d", iterations=1, progress=progress)


def test_a_folder_that_only_looks_like_a_partial_build_is_left_alone(
    sift: NDArray[np.uint8], tmp_path: Path
) -> None:
    (tmp_path / "d.partial").mkdir()
    (tmp_path / "d.partial" / "diary.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="not an unfinished build"):
        build_dictionary(sift, num_words=4, output=tmp_path / "d")
    assert (tmp_path / "d.partial" / "diary.txt").read_text() == "mine"


class Stop(Exception):
    """Raised in the middle of a build."""


def stop_after(iterations: int, descriptors: NDArray[np.uint8], output: Path) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        if stage == "clustering" and done == iterations:
            raise Stop

    with pytest.raises(Stop):
        build_dictionary(descriptors, num_words=30, output=output, progress=progress)


@pytest.mark.parametrize("harm", ["none", "last state", "all states", "cells", "sample"])
def test_a_stopped_build_goes_on_even_when_part_of_it_is_damaged(
    sift: NDArray[np.uint8], tmp_path: Path, harm: str
) -> None:
    whole = build_dictionary(sift, num_words=30)
    stop_after(4, sift, tmp_path / "d")
    partial = tmp_path / "d.partial"
    states = sorted(partial.glob("state-*"))
    assert [state.name for state in states] == ["state-000003", "state-000004"]
    damaged = {
        "none": [],
        "last state": states[-1:],
        "all states": states,
        "cells": [partial / "cells"],
        "sample": [partial / "sample"],
    }[harm]
    for folder in damaged:
        file = max(folder.glob("*.npy"), key=lambda path: path.stat().st_size)
        file.write_bytes(file.read_bytes()[:-1])
    begun: list[int] = []
    again = build_dictionary(
        sift,
        num_words=30,
        output=tmp_path / "d",
        progress=lambda stage, done, total: begun.append(done) if stage == "clustering" else None,
    )
    assert begun[0] == {"none": 4, "last state": 3}.get(harm, 0)
    assert again == whole
    assert again.manifest == whole.manifest
    assert not partial.exists()


KILLED = """
import os, signal, sys, threading
from sfumato.dictionary import build_dictionary
def progress(stage, done, total):
    if f"{stage} {done}" == sys.argv[3]:
        # Somewhere inside one of the next steps, not between two of them.
        threading.Timer(0.004, os.kill, (os.getpid(), signal.SIGKILL)).start()
build_dictionary(sys.argv[1], num_words=40, output=sys.argv[2], iterations=120, progress=progress)
"""


def test_killed_at_any_moment_and_run_again_the_words_are_the_same(
    photos: Path, tmp_path: Path
) -> None:
    output = tmp_path / "words"
    whole = build_dictionary(photos, num_words=40, iterations=120)
    for moment in ("extracting 2", "clustering 5", "clustering 37"):
        command = [sys.executable, "-c", KILLED, str(photos), str(output), moment]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
        assert not output.exists()
        assert (tmp_path / "words.partial").exists()
    seen: list[tuple[str, int]] = []
    again = build_dictionary(
        photos,
        num_words=40,
        output=output,
        iterations=120,
        progress=lambda stage, done, total: seen.append((stage, done)),
    )
    assert seen[0][0] == "clustering"  # pictures were not opened again
    assert seen[0][1] >= 37
    assert again == whole
    assert again.manifest == whole.manifest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["photos", "words"]
