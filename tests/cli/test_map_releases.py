"""`sfumato map build --from-releases` as a person or a script meets it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from commands import sfumato, sfumato_json
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Camera
from sfumato.device.mechanisms import Plain, SubsetMechanism
from synthetic import CAMERA, DICTIONARY, make_room, pose_at

run = partial(sfumato, "map")
run_json = partial(sfumato_json, "map")


def write_releases(folder: Path, *, camera: Camera | None = CAMERA) -> Path:
    folder.mkdir()
    room, mechanism = make_room(900), SubsetMechanism(7.0, 1, DICTIONARY)
    for number, x in enumerate((-1.0, 0.0, 1.0)):
        features, _ = room.look(pose_at(x, 0.1 * number, 0.0), seed=number, clutter=60)
        release = mechanism.release(features, rng=SeededRandom(number), camera=camera)
        (folder / f"{number}.sfr").write_bytes(release.to_bytes())
    return folder


def test_releases_become_a_map_filed_under_their_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = write_releases(tmp_path / "releases")
    assert run("build", "--from-releases", folder, "-o", tmp_path / "map", "--json") == 0
    captured = capfd.readouterr()
    assert captured.err == ""  # COLMAP is not heard
    info = run_json(capfd, "info", tmp_path / "map")
    assert info["images"] == 3
    assert info["points"] > 300
    assert info["word_indices"] == [DICTIONARY.fingerprint]
    assert info["facts"]["releases"]["epsilons"] == [7.0]


def test_bad_folders_and_options_end_with_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_releases(tmp_path / "releases", camera=None)
    output = tmp_path / "map"

    def complaint(*words: object) -> str:
        assert run("build", *words, "-o", output) == 2
        text = capsys.readouterr().err.strip()
        assert len(text.splitlines()) == 1
        return text

    assert "3 of 3 releases carry no camera; give --focal" in complaint("--from-releases", folder)
    assert "leave out pictures" in complaint(folder, "--from-releases", folder)
    assert "--focal applies only with --from-releases" in complaint(folder, "--focal", 500)
    assert "or --from-releases with a folder of releases" in complaint()
    whole = (folder / "1.sfr").read_bytes()
    (folder / "1.sfr").write_bytes(whole[:-1])
    assert "1.sfr is not a whole release" in complaint("--from-releases", folder)
    features, _ = make_room(200).look(pose_at(0, 0, 0), seed=0)
    plain = Plain().release(features, rng=SeededRandom(0))
    (folder / "1.sfr").write_bytes(plain.to_bytes())
    said = complaint("--from-releases", folder, "--focal", 480)
    assert "one kind, got 1 of plain, 2 of words" in said
    assert not output.exists()
