"""From public pictures to a space, from a picture to words and a vector, and to a pose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bag_spaces import bag_space
from commands import sfumato, sfumato_json
from sfumato.core.randomness import SeededRandom
from sfumato.device.global_descriptor import GlobalDescriptor
from sfumato.device.mechanisms import PrivUnit, SubsetMechanism
from support import photograph
from synthetic import CAMERA, DICTIONARY, MAPPING_POSES, make_map, make_room, pose_at

QUERY = pose_at(0.7, 0.1, 0.8, turn_deg=5)


@pytest.fixture
def space(tmp_path: Path, words: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    public = tmp_path / "public"
    public.mkdir()
    for number in range(6):
        crop = photograph()[60 * number : 60 * number + 128, 100:228]
        Image.fromarray(crop).save(public / f"{number}.png")
    path = tmp_path / "space.npz"
    told = sfumato_json(
        "dictionary", capsys, "space", public, "--dictionary", words, "--words", "256",
        "--dimension", "4", "-o", path,
    )  # fmt: skip
    assert (told["public_pictures"], told["words"], told["dimension"]) == (6, 256, 4)
    return path


def test_a_picture_sends_words_and_a_vector_and_pays_for_both_at_once(
    photo: Path, words: Path, space: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent, vector = tmp_path / "sent.sfr", tmp_path / "vector.sfr"
    common = (
        photo, "--epsilon", "6", "--dictionary", words, "--keep", "50",
        "--global-epsilon", "8", "--space", space,
    )  # fmt: skip
    kept = ("-o", sent, "--global-output", vector, "--ledger", tmp_path / "ledger.db")
    assert sfumato("protect", *common, *kept, "--cap", "307") == 2
    assert "the cap per session" in capsys.readouterr().err
    assert not sent.exists()
    assert not vector.exists()
    told = sfumato_json("protect", capsys, *common, *kept)
    assert told["ledger"]["charged"] == told["ledger"]["epsilon_spent"] == 50 * 6 + 8
    beside = told["global"]
    assert (beside["unit"], beside["epsilon"]) == ("the picture's global descriptor", 8)
    assert beside["epsilon_per_descriptor_together"] == 14
    assert beside["bytes"] == vector.stat().st_size
    assert sfumato("protect", *common, "--explain") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "ε = 8 for the picture's global descriptor" in shown
    assert "ε = 6 + 8 for one descriptor" in shown
    assert "that a global descriptor is sent" in shown


def test_what_cannot_be_sent_is_refused_in_one_sentence_and_nothing_is_written(
    photo: Path, words: Path, space: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.sfr"
    common = ("--epsilon", "6", "--global-epsilon", "8", "-o", out, "--no-ledger")
    own = ("--dictionary", words, "--space", space)
    beside = ("--global-output", tmp_path / "vector.sfr")
    for given, sentence in (
        ((photo, *common, *own), "give --global-output"),
        ((photo, *common, *own, "--global-output", out), "another name"),
        ((photo, *common, *own, "--global-output", photo), "exists already"),
        ((photo.parent / "public", *common, *own, *beside), "is for one picture"),
        ((photo, *common, "--space", space, *beside), "another dictionary"),
        ((photo, *common, "--dictionary", words, *beside), "--global-epsilon applies only with"),
        ((photo, "--raw", "--explain", "--space", space), "--space applies only with"),
    ):
        assert sfumato("protect", *given) == 2, given
        shown = capsys.readouterr().err.strip()
        assert sentence in shown, shown
        assert len(shown.splitlines()) == 1
    assert not out.exists()
    assert not (tmp_path / "vector.sfr").exists()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("global")
    room = make_room(1500)
    make_map(room, MAPPING_POSES[:8]).save(path / "map")
    DICTIONARY.save(path / "words")
    features, _ = room.look(QUERY, seed=0)
    space = bag_space(DICTIONARY)
    space.save(path / "space.npz")
    bag_space(DICTIONARY, seed=1).save(path / "other.npz")
    rng = SeededRandom(0)
    releases = {
        "query": SubsetMechanism(7.0, 1, DICTIONARY).release(features, rng=rng, camera=CAMERA),
        "vector": GlobalDescriptor(8.0, DICTIONARY, space).release(features, rng=rng),
        "face": PrivUnit(8.0, 32).send(np.ones((1, 32)), rng=rng, embedder="dlib"),
    }
    for name, release in releases.items():
        (path / f"{name}.sfr").write_bytes(release.to_bytes())
    return path


def test_a_release_is_localized_with_its_global_descriptor(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = sfumato_json(
        "localize", capsys, folder / "query.sfr", "--map", folder / "map",
        "--dictionary", folder / "words",
        "--global", folder / "vector.sfr", "--space", folder / "space.npz",
    )  # fmt: skip
    assert np.allclose(told["center"], QUERY.center, atol=0.05)
    assert told["global"] == str(folder / "vector.sfr")


def test_a_global_descriptor_that_does_not_fit_is_refused_in_one_sentence(
    folder: Path, photo: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, vector, space = folder / "query.sfr", folder / "vector.sfr", folder / "space.npz"
    fits = ("--dictionary", folder / "words")
    for source, given, sentence in (
        (query, (*fits, "--global", vector, "--space", folder / "other.npz"), "another space"),
        (query, (*fits, "--global", query, "--space", space), "one private unit vector"),
        (query, (*fits, "--global", folder / "face.sfr", "--space", space), "no global descr"),
        (query, (*fits, "--global", space, "--space", space), "is not a release"),
        (query, ("--dictionary", words, "--global", vector, "--space", space), "another dict"),
        (query, (*fits, "--global", vector), "--global applies only with"),
        (query, (*fits, "--space", space), "--space applies only with"),
        (folder, (*fits, "--global", vector, "--space", space), "goes with one release"),
        (photo, (*fits, "--global", vector, "--space", space), "goes with one release"),
        (vector, ("--camera", "auto"), "use one extractor"),
    ):
        assert sfumato("localize", source, "--map", folder / "map", *given) == 2, given
        shown = capsys.readouterr().err.strip()
        assert sentence in shown, shown
        assert len(shown.splitlines()) == 1
