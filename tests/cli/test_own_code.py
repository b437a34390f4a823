"""Mechanisms, attacks, extractors and detectors of somebody's own module, by module:name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from recoveries import lifted
from sfumato.core.releases import PlainRelease, Release
from sfumato.dictionary import Dictionary
from sfumato.features import read_features
from support import photograph

CODE = '''
import numpy as np

from sfumato.adversary.recover.base import Recovered
from sfumato.core.releases import PlainRelease
from sfumato.core.types import Features, PrivacyEvent
from sfumato.detectors import Boxes
from sfumato.device.mechanisms.base import release_fields


class Rounded:
    """Descriptors rounded to a grid."""

    def __init__(self, step, label="rounded", dictionary=None):
        self.step, self.label, self.dictionary = step, label, dictionary

    def event(self, features):
        return PrivacyEvent(self.label, None, len(features), "one descriptor", ("everything",))

    def release(self, features, *, rng, camera=None):
        rounded = (features.descriptors // self.step * self.step).astype(np.uint8)
        return PlainRelease(descriptors=rounded, **release_fields(features, camera))


def guess(release, *, database, seed=0):
    """Every descriptor is the first public one."""
    first = database.words[:1].astype(np.float32)
    first /= np.linalg.norm(first)
    return Recovered(np.repeat(first, len(release), axis=0), np.ones(len(release), np.float32))


class LeftHalf:
    """Everything on the left."""

    name = "left"

    def __call__(self, picture):
        return Boxes([[0, 0, picture.shape[1] / 2, picture.shape[0]]], ["left"], [1.0])


class Corners:
    """The four corners of a picture, with nothing to tell them apart."""

    name = "corners"

    def __call__(self, picture):
        height, width = picture.shape[:2]
        return Features(
            keypoints=np.array([[1, 1], [width - 2, 1], [1, height - 2]], dtype=np.float32),
            descriptors=np.eye(3, 128, dtype=np.float32),
            scores=np.ones(3, dtype=np.float32),
            scales=np.full(3, 4, dtype=np.float32),
            angles=np.full(3, -1, dtype=np.float32),
            image_size=(width, height),
            extractor=self.name,
        )


not_callable = 3
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_own_code.py").write_text(CODE, encoding="utf-8")
    Image.fromarray(photograph()[:160, :160]).save(tmp_path / "photo.png")
    words = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(words, extractor="sift").save(tmp_path / "words")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_photograph_is_protected_by_a_mechanism_of_ones_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("photo.png", "--dictionary", "words", "--mechanism", "my_own_code:Rounded")
    options = ("--mechanism-options", "step=64", "--mechanism-options", "label=coarse")
    shown = sfumato_json("protect", capsys, *common, *options, "-o", "out.sfr")
    assert (shown["mechanism"], shown["not_protected"]) == ("coarse", ["everything"])
    sent = Release.from_bytes(Path("out.sfr").read_bytes())
    assert isinstance(sent, PlainRelease)
    assert set(np.unique(sent.descriptors)) <= {0, 64, 128, 192}
    as_json = ("--mechanism-options", '{"step": 32}', "--explain")
    assert sfumato_json("protect", capsys, *common, *as_json)["mechanism"] == "rounded"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--mechanism", "my_own_code:Rounded"), "cannot be made of my_own_code:Rounded"),
        (("--mechanism", "my_own_code:Rounded", "--mechanism-options", "step"), "key=value"),
        (("--mechanism", "my_own_code:Rounded", "--mechanism-options", "{step}"), "JSON object"),
        (("--mechanism", "my_own_code:Square"), "'Square'"),
        (("--mechanism", "Rounded"), "module:name"),
        (("--mechanism", "my_own_code:Rounded", "--lift", "random"), "--lift does not apply with"),
        (("--epsilon", 8, "--detector", "my_own_code:Nobody"), "'Nobody'"),
        (("--epsilon", 8, "--detector", "my_own_code:LeftHalf", "--classes", "x"), "--classes"),
    ],
)
def test_what_is_wrong_with_it_is_one_sentence(
    folder: Path,
    words: tuple[object, ...],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sfumato("protect", "photo.png", "--dictionary", "words", *words, "--explain") == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert len(told.strip().splitlines()) == 1


def test_what_a_detector_of_ones_own_finds_is_not_sent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("photo.png", "--dictionary", "words", "--epsilon", 8, "--explain")
    everything = sfumato_json("protect", capsys, *common)
    shown = sfumato_json("protect", capsys, *common, "--detector", "my_own_code:LeftHalf")
    assert shown["hidden"]["regions"] == {"left": 1}
    assert shown["keypoints"] + shown["hidden"]["keypoints_removed"] == everything["keypoints"]
    assert shown["hidden"]["keypoints_removed"] > 10


def test_an_attack_of_ones_own_is_run_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.sfr").write_bytes(lifted(dimension=2, count=20).release.to_bytes())
    own = ("a.sfr", "--attack", "my_own_code:guess")
    shown = sfumato_json("attack release", capsys, *own, "-o", "found.npz")
    (row,) = shown["attacks"]
    assert (row["attack"], row["answered"]) == ("my_own_code:guess", 20)
    with np.load("found.npz") as found:
        assert found["my_own_code:guess/descriptors"].shape == (20, 128)
    assert sfumato("attack", "release", "a.sfr", "--attack", "my_own_code:not_callable") == 2
    assert "must be a function" in capsys.readouterr().err


def test_pictures_are_described_by_an_extractor_of_ones_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ("--extractor", "my_own_code:Corners")
    shown = sfumato_json("extract", capsys, "photo.png", *own, "-o", "one.h5")
    assert (shown["extractor"], shown["keypoints"]) == ("corners", 3)
    Path("pictures").mkdir()
    Path("photo.png").rename("pictures/photo.png")
    shown = sfumato_json("extract", capsys, "pictures", *own, "-o", "all.h5")
    assert (shown["extractor"], shown["keypoints"], shown["done"]) == ("corners", 3, 1)
    assert read_features(Path("all.h5"), "photo.png").extractor == "corners"
    values = np.eye(16, 128, dtype=np.float32)
    Dictionary.from_words(values, extractor="corners").save(folder / "corner-words")
    common = ("pictures/photo.png", "--dictionary", "corner-words", "--epsilon", 8, "--explain")
    assert sfumato_json("protect", capsys, *common, *own)["keypoints"] == 3
    assert sfumato("protect", *common) == 2
    assert "corners" in capsys.readouterr().err
    assert sfumato("extract", "pictures", "--extractor", "my_own_code:None", "-o", "x.h5") == 2
    assert "my_own_code" in capsys.readouterr().err
