"""hloc's folder → map → releases from its features → poses.txt, all by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from hloc_files import make_hloc_folder, room, write_hloc_features
from sfumato.core.releases import Release, WordRelease
from sfumato.datasets.layouts.common import listed_poses
from sfumato.device.ledger import Ledger
from sfumato.features import extract
from sfumato.features.networks.extractor import NetworkExtractor
from sfumato.server.mapping import Map
from small_networks import edgepoint2_weights, save_weights

#: What the features are, and what they are called: hloc's float SIFT is not our whole-number SIFT.
KINDS = {"sift": "hloc-sift", "rootsift": "rootsift", "vgg": "vgg", "network": "edgepoint2-t32"}


def described_by(kind: str, folder: Path) -> str | NetworkExtractor:
    """A name, or a network: a small random one, exported by the command."""
    if kind != "network":
        return kind
    weights = save_weights(folder / "w.safetensors", edgepoint2_weights(0))
    assert sfumato("extractor", "export", weights, "-o", folder / "net.onnx") == 0
    return NetworkExtractor(folder / "net.onnx")


@pytest.fixture(scope="module", params=KINDS)
def hloc(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An hloc folder, its map and words, made by commands; and the extractor's name."""
    kind = str(request.param)
    folder = tmp_path_factory.mktemp("outputs") / kind
    by = described_by(kind, folder.parent)
    make_hloc_folder(folder, by, ask_map=kind == "network")
    name = KINDS[kind]
    words = ["--words", 2048, "--iterations", 4, "--built-from-map", "-o", folder / "words"]
    assert sfumato("dictionary", "build", folder / "feats.h5", "--extractor", name, *words) == 0
    features = ["--features", folder / "feats.h5", "--extractor", name]
    assert sfumato("map", "import", folder / "sfm", *features, "-o", folder / "map") == 0
    return folder, name


def test_the_import_says_what_can_be_asked_and_how(
    hloc: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = hloc
    facts = sfumato_json("map info", capsys, folder / "map")["asked_with"]
    assert facts["photographs"] is (name not in ("hloc-sift", "edgepoint2-t32"))
    assert facts["network"] is (name == "edgepoint2-t32")
    assert f"--extractor {name}" in facts["protect"]
    assert "dictionary build" in facts["make_words"]
    assert sfumato("map", "info", folder / "map") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "asked with" in shown
    assert ("vertex attack proves nothing" in shown) is (name != "rootsift")


def test_queries_of_a_features_file_are_localized_and_written_as_hloc_does(
    hloc: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = hloc
    queries = ["--list", folder / "queries_with_intrinsics.txt", "--extractor", name]
    common = ["--dictionary", folder / "words", "--ledger", tmp_path / "ledger.db"]
    sent = tmp_path / "sent"
    told = sfumato_json(
        "protect", capsys, folder / "feats.h5", *queries, "--epsilon", 12, *common, "-o", sent
    )
    assert told["pictures"] == 3
    files = sorted(path.name for path in sent.iterdir())
    assert files == ["0001.sfr", "0002.sfr", "0003.sfr", "names.txt"]
    for path in sent.glob("*.sfr"):
        assert b"query" not in path.read_bytes()
        release = Release.from_bytes(path.read_bytes())
        assert isinstance(release, WordRelease)
        assert release.extractor == name
        assert release.camera is not None
    spent = Ledger(tmp_path / "ledger.db").spent()
    assert spent.pictures == 3
    assert spent.epsilon == pytest.approx(told["epsilon_of_all"]) == 12 * told["keypoints"]

    poses = tmp_path / "poses.txt"
    where = ["--map", folder / "map", "--dictionary", folder / "words"]
    found = sfumato_json("localize", capsys, sent, *where, "-o", poses)
    assert found["localized"] >= 2
    assert Ledger(tmp_path / "ledger.db").spent().pictures == 3  # asking costs nothing more
    scene = room()
    views = scene.mapping if name == "edgepoint2-t32" else scene.queries
    truth = {view.name.split("/")[-1]: view.pose for view in views}
    listed = listed_poses(poses)
    assert len(listed) == found["localized"]
    before = poses.read_bytes()
    assert sfumato("localize", sent, *where, "-o", poses) == 2
    assert "exists already" in capsys.readouterr().err
    assert poses.read_bytes() == before
    for line, pose in listed.items():
        assert "/" not in line
        assert pose is not None
        assert np.linalg.norm(pose.center - truth[line].center) < 0.3


def test_one_query_of_the_file_is_asked_in_one_command(
    hloc: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = hloc
    query = (folder / "queries_with_intrinsics.txt").read_text().split()[0]
    camera = ",".join(
        np.array((folder / "queries_with_intrinsics.txt").read_text().split())[[1, 4, 5, 6, 7]]
    )
    common = ["--map", folder / "map", "--dictionary", folder / "words", "--extractor", name]
    code = sfumato(
        "localize", folder / "feats.h5", "--name", query, *common, "--epsilon", 12, "--camera",
        camera, "--ledger", tmp_path / "ledger.db", "--format", "full", "-o", tmp_path / "p.txt",
        "--json",
    )  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    assert code == (0 if told["localized"] else 1)
    assert told["sent"]["pictures"] == 1
    assert told["ledger"]["pictures"] == 1


def test_lifted_features_find_their_place_and_no_attack_proves_floats(
    hloc: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = hloc
    query = (folder / "queries_with_intrinsics.txt").read_text().split()[0]
    sent = tmp_path / "lifted.sfr"
    lift = ["--lift", "random", "--dimension", 2, "--keep", 200, "--ledger", tmp_path / "l.db"]
    source = [folder / "feats.h5", "--name", query, "--extractor", name]
    assert sfumato("protect", *source, *lift, "-o", sent) == 0
    capsys.readouterr()
    if name != "edgepoint2-t32":  # random weights find places by many keypoints only
        told = sfumato_json("localize", capsys, sent, "--map", folder / "map", "--camera", "auto")
        assert told["localized"]
    rows = sfumato_json("attack release", capsys, sent)["attacks"]
    vertex = next(row for row in rows if row["attack"] == "vertex")
    assert vertex["certified"] == 0


def test_a_photograph_asks_the_map_of_hlocs_features(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """RootSIFT is the same wherever it was made: a device needs no features file."""
    from PIL import Image

    folder = tmp_path / "outputs"
    make_hloc_folder(folder, "rootsift", as_half=False)
    words = ["--words", 2048, "--iterations", 4, "-o", folder / "words"]
    assert (
        sfumato("dictionary", "build", folder / "feats.h5", "--extractor", "rootsift", *words) == 0
    )
    features = ["--features", folder / "feats.h5", "--extractor", "rootsift", "-o", folder / "map"]
    assert sfumato("map", "import", folder / "sfm", *features) == 0
    photos = tmp_path / "photos"
    photos.mkdir()
    for view in room().queries:
        Image.fromarray(view.image).save(photos / Path(view.name).with_suffix(".png").name)
    capsys.readouterr()
    common = ["--map", folder / "map", "--dictionary", folder / "words", "--epsilon", 12]
    told = sfumato_json(
        "localize", capsys, photos, *common, "--extractor", "rootsift", "--camera", "auto",
        "--no-ledger", "-o", tmp_path / "poses.txt",
    )  # fmt: skip
    assert told["queries"] == 3
    assert told["localized"] >= 2
    assert told["sent"]["cameras"] == "the map's own camera"


def test_floats_are_not_imported_as_whole_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_hloc_folder(tmp_path / "outputs", "sift")
    features = ["--features", tmp_path / "outputs/feats.h5"]
    model = tmp_path / "outputs/sfm"
    out = ["-o", tmp_path / "map"]
    assert sfumato("map", "import", model, *features, *out) == 2
    assert "does not say which extractor" in capsys.readouterr().err
    assert sfumato("map", "import", model, *features, "--extractor", "sift", *out) == 2
    assert "hloc's SIFT is rootsift unless" in capsys.readouterr().err
    assert not (tmp_path / "map").exists()


def test_pictures_that_are_not_in_the_model_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_hloc_folder(tmp_path / "outputs", "rootsift")
    features = ["--features", tmp_path / "outputs/feats.h5", "--extractor", "rootsift"]
    assert sfumato("map", "import", tmp_path / "outputs/sfm", *features, "-o", tmp_path / "m") == 0
    told = capsys.readouterr().err
    assert "3 images of the features file are not in the model: left out" in told
    assert "could not be placed" not in told


def test_a_folder_without_a_model_is_refused_as_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stray.h5").write_bytes(b"not this one")
    (tmp_path / "empty").mkdir()
    assert sfumato("map", "import", tmp_path / "empty", "-o", tmp_path / "map") == 2
    assert "holds no COLMAP model" in capsys.readouterr().err


def test_a_file_without_a_name_takes_that_of_the_dictionary(
    hloc: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, name = hloc
    query = (folder / "queries_with_intrinsics.txt").read_text().split()[0]
    common = ["--epsilon", 8, "--ledger", tmp_path / "ledger.db", "-o", tmp_path / "out.sfr"]
    source = ["protect", folder / "feats.h5", "--name", query]
    assert sfumato(*source, *common) == 2
    assert "does not say which extractor" in capsys.readouterr().err
    assert sfumato(*source, *common, "--dictionary", folder / "words") == 0
    sent = Release.from_bytes((tmp_path / "out.sfr").read_bytes())
    assert isinstance(sent, WordRelease)
    assert sent.extractor == name


def test_a_map_keeps_what_was_given(hloc: tuple[Path, str]) -> None:
    folder, name = hloc
    world = Map.load(folder / "map")
    assert world.extractor == name
    assert world.descriptors.dtype == np.float32
    assert world.num_images == 8


def test_all_are_charged_or_none(
    tmp_path: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = room()
    features = {f"q/{i}.jpg": extract(v.image, "sift") for i, v in enumerate(scene.queries)}
    few = {name: item.take(np.arange(20)) for name, item in features.items()}
    write_hloc_features(tmp_path / "f.h5", few)
    common = ["--extractor", "hloc-sift", "--raw", "--ledger", tmp_path / "ledger.db"]
    source = ["protect", tmp_path / "f.h5"]
    # A cap cannot count raw releases: nothing is charged and nothing is written.
    assert sfumato(*source, *common, "--cap", 1000, "-o", tmp_path / "out") == 2
    assert "nothing was released" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert Ledger(tmp_path / "ledger.db").spent().pictures == 0
    assert sfumato(*source, *common, "-o", tmp_path / "out") == 0
    assert Ledger(tmp_path / "ledger.db").spent().unprotected == 3


def test_a_bad_picture_among_many_costs_nothing_and_is_not_named(
    tmp_path: Path, photo: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "anna-at-home.png").write_bytes(photo.read_bytes())
    (folder / "berta-secret.png").write_bytes(b"no picture")
    common = ["--epsilon", 8, "--dictionary", words, "--ledger", tmp_path / "ledger.db"]
    assert sfumato("protect", folder, *common, "-o", tmp_path / "out") == 2
    message = capsys.readouterr().err
    assert "picture 2 of 2" in message
    assert "berta" not in message
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "ledger.db").exists()


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (["--name", "nobody.jpg"], "holds no picture of the name"),
        (["--suppress", "person"], "must see the picture"),
        (["--keep", 5, "--keep-by", "stable"], "must see the picture"),
        (["--extractor", "sift"], "'sift' descriptors are 128-D uint8"),
        (["--extractor", "Bad Name"], "extractor must be a name"),
        (["--camera", "auto"], "nothing of the focal length"),
        (["--object", "20x20"], "does not apply with --raw"),
    ],
)
def test_what_features_alone_cannot_do_is_said(
    more: list[object], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    view = room().queries[0]
    write_hloc_features(tmp_path / "f.h5", {"q/1.jpg": extract(view.image, "sift")})
    named = [] if "--extractor" in more else ["--extractor", "hloc-sift"]
    out = ["-o", tmp_path / "out", "--ledger", tmp_path / "ledger.db"]
    assert sfumato("protect", tmp_path / "f.h5", *named, "--raw", *more, *out) == 2
    message = capsys.readouterr().err
    assert part in message
    assert "q/1.jpg" not in message
    assert (
        not (tmp_path / "ledger.db").exists() or not Ledger(tmp_path / "ledger.db").spent().pictures
    )
