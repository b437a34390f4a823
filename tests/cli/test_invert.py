"""`sfumato invert` as a person uses it: what needs no torch, and what says that it does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from recoveries import WORDS, lifted, worded
from sfumato.adversary.invert.networks import find_network
from sfumato.core.randomness import SeededRandom
from sfumato.device.mechanisms import Plain
from sfumato.features import extract
from sfumato.features.image import load_image
from support import hide_packages, photograph


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    path = tmp_path / "pictures"
    path.mkdir()
    for number in range(3):
        left = 100 + 40 * number
        Image.fromarray(photograph()[60:140, left : left + 96]).save(path / f"{number}.png")
    return path


def test_a_plain_release_and_its_features_are_painted_alike(
    tmp_path: Path, pictures: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    features = extract(pictures / "0.png")
    release = Plain().release(features, rng=SeededRandom(0))
    (tmp_path / "a.sfr").write_bytes(release.to_bytes())
    stored = tmp_path / "features.h5"
    assert sfumato("extract", pictures, "-o", stored) == 0
    capsys.readouterr()
    made = {}
    for name, words in {
        "release": (tmp_path / "a.sfr",),
        "features": (stored, "--image", "0.png"),
    }.items():
        out = tmp_path / f"{name}.png"
        shown = sfumato_json("invert", capsys, "picture", *words, "-o", out, "--networks", networks)
        assert shown["keypoints"] == len(features)
        made[name] = load_image(out).astype(int)
    assert made["release"].shape == (80, 96, 3)
    assert np.ptp(made["release"]) > 5
    # Positions are rounded to an eighth of a pixel on the way.
    assert np.abs(made["release"] - made["features"]).mean() < 2


def test_hidden_descriptors_are_recovered_first(
    tmp_path: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    WORDS.save(tmp_path / "words")
    sent = {"subspaces": lifted(dimension=2, count=8).release, "words": worded(epsilon=9.0)[0]}
    for name, release in sent.items():
        file = tmp_path / f"{name}.sfr"
        file.write_bytes(release.to_bytes())
        shown = sfumato_json(
            "invert", capsys, "picture", file, "-o", tmp_path / "out.png",
            "--networks", networks, *(("--dictionary", tmp_path / "words") * (name == "words")),
        )  # fmt: skip
        assert shown["keypoints"] == len(release)
        width, height = release.image_size
        assert load_image(tmp_path / "out.png").shape == (height, width, 3)


def test_bad_input_ends_with_one_sentence(
    tmp_path: Path, pictures: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = tmp_path / "features.h5"
    assert sfumato("extract", pictures, "-o", stored) == 0
    capsys.readouterr()
    release = tmp_path / "a.sfr"
    release.write_bytes(worded(epsilon=9.0)[0].to_bytes())
    out = tmp_path / "out.png"
    for words, message in (
        (("picture", tmp_path / "none.sfr", "-o", out), "cannot be read"),
        (("picture", stored, "-o", out), "holds 3 pictures"),
        (("picture", stored, "-o", tmp_path / "x.jpg"), "must end in .png"),
        (("picture", release, "--image", "0.png", "-o", out), "a release holds one picture"),
        (("picture", release, "-o", out, "--kind", "words"), "no inversion network for sift words"),
        (("picture", release, "-o", out, "--kind", "dots"), "input kind must be one of"),
        (("picture", release, "-o", out, "--networks", networks), "another dictionary"),
        (("train", pictures, "-o", tmp_path / "run", "--kind", "dots"), "input kind"),
        (("train", pictures, "-o", tmp_path / "run", "--kind", "words"), "needs --epsilon"),
        (("train", pictures, "-o", tmp_path / "run", "--frames", "seen"), "frames must be one of"),
        (("train", pictures, "-o", tmp_path / "run", "--perceptual-weight", "0"),
         "--no-perceptual"),
        (("export", tmp_path, "-o", tmp_path / "net.bin"), "must end in .onnx"),
    ):  # fmt: skip
        assert sfumato("invert", *words) == 2
        told = capsys.readouterr().err.strip()
        assert message in told
        assert len(told.splitlines()) == 1
    assert not out.exists()


def test_training_and_exporting_say_that_they_need_torch(
    tmp_path: Path,
    pictures: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hide_packages(monkeypatch, "torch")
    for words in (
        ("train", pictures, "-o", tmp_path / "run"),
        ("export", tmp_path, "-o", tmp_path / "net.onnx"),
    ):
        assert sfumato("invert", *words) == 2
        assert "needs the train extra" in capsys.readouterr().err


@pytest.mark.needs("train")
@pytest.mark.parametrize(
    "kind",
    [("raw",), ("positions",), ("words", "--epsilon", "9"), ("subspace", "--dimension", "2")],
    ids=lambda words: words[0],
)
def test_a_network_is_trained_exported_and_paints(
    kind: tuple[str, ...], tmp_path: Path, pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = (
        "train", pictures, "-o", tmp_path / "run", "--kind", *kind, "--no-perceptual",
        "--width", "4", "--crop", "64", "--steps", "2", "--batch", "2", "--threads", "1",
    )  # fmt: skip
    shown = sfumato_json("invert", capsys, *command)
    assert shown["finished"]
    assert shown["losses"]["l1"] > 0
    file = tmp_path / f"sift-{kind[0]}.onnx"
    shown = sfumato_json("invert", capsys, "export", tmp_path / "run", "-o", file)
    assert (shown["kind"], shown["found as"]) == (kind[0], file.name)
    if kind[0] != "raw":
        return
    release = tmp_path / "a.sfr"
    release.write_bytes(
        Plain().release(extract(pictures / "0.png"), rng=SeededRandom(0)).to_bytes()
    )
    out = tmp_path / "out.png"
    assert sfumato("invert", "picture", release, "-o", out, "--networks", tmp_path) == 0
    assert load_image(out).shape == (80, 96, 3)


def test_networks_are_compared_on_the_same_photographs(
    tmp_path: Path, pictures: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, sheet = networks / "sift-raw.onnx", tmp_path / "sheet.png"
    words = ("compare", pictures, "--num-pictures", "2", "--one-look", "-o", sheet)
    files = ("--network", own, "--network", find_network())
    shown = sfumato_json("invert", capsys, *words, *files)
    assert shown["photographs"] == 2
    assert [score["network"] for score in shown["scores"]] == [str(own), str(find_network())]
    assert shown["scores"][0]["ssim"] != shown["scores"][1]["ssim"]
    assert (shown["lpips_missing"] is None) == (shown["scores"][0]["lpips"] is not None)
    assert load_image(sheet).shape == (3 * 256 + 8, 2 * 256 + 4, 3)
    assert sfumato("invert", *words, "--network", own, "--network", own) == 2
    assert "names one file twice" in capsys.readouterr().err
