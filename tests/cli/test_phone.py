"""From photographs to a served map and back, as a newcomer does it."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from hloc_files import room
from pretend_server import KEY, MAP_ID, WORDS, Pretend, answer
from server.mapping.worlds import write_scene
from sfumato.core.archive import PlainTar
from sfumato.core.releases import Release, WordRelease
from sfumato.device.ledger import Ledger
from sfumato.server.mapping import Map
from synthetic import MAPPING_POSES, make_map, make_room

OF_MAP = {"model": "SIMPLE_PINHOLE", "width": 640, "height": 480, "params": [500.0, 320.0, 240.0]}


@pytest.fixture
def things(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text(KEY)
    WORDS.save(tmp_path / "words")
    photos = tmp_path / "photos"
    photos.mkdir()
    for number, view in enumerate(room().queries[:2]):
        Image.fromarray(view.image).save(photos / f"secret-name-{number}.png")
    return tmp_path


def asking(things: Path, server: str, *more: object) -> list[object]:
    common: list[object] = ["--server", server, "--key-file", things / "key", "--map", "gallery"]
    words = ["--epsilon", 8, "--dictionary", things / "words", "--keep", 40]
    return [*common, *words, "--ledger", things / "ledger.db", *more]


def test_many_photographs_are_asked_with_one_charge(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend.info["camera"] = OF_MAP
    poses = things / "poses.txt"
    told = sfumato_json(
        "localize", capsys, things / "photos", *asking(things, server, "--camera", "auto"),
        "-o", poses, "--save", things / "sent",
    )  # fmt: skip
    assert (told["queries"], told["localized"]) == (2, 2)
    assert told["sent"]["cameras"] == "the map's own camera"
    assert Ledger(things / "ledger.db").spent().epsilon == 2 * 40 * 8
    assert [line.split()[0] for line in poses.read_text().splitlines()] == [
        "secret-name-0.png",
        "secret-name-1.png",
    ]
    for body in pretend.asked:
        assert b"secret" not in body
        release = Release.from_bytes(body)
        assert isinstance(release, WordRelease)
        assert release.camera is not None
        assert release.camera.params[0] == 250  # the map's 500 at half the size
    # The same releases again cost nothing more.
    common = ["--server", server, "--key-file", things / "key", "--map", "gallery"]
    again = sfumato_json("localize", capsys, things / "sent", *common)
    assert again["localized"] == 2
    assert [row["name"] for row in again["results"]] == ["secret-name-0.png", "secret-name-1.png"]
    assert Ledger(things / "ledger.db").spent().pictures == 2


def test_a_guessed_camera_is_tried_larger_and_smaller(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend.info["camera"] = OF_MAP
    none = answer(
        localized=False, cam_from_world=None, center=None, reason="not here", num_inliers=3,
        expected_error=None,
    )  # fmt: skip
    pretend.instead = [httpx.Response(200, json=none)] * 2
    photo = things / "photos/secret-name-0.png"
    told = sfumato_json("localize", capsys, photo, *asking(things, server))
    assert told["localized"]
    focals = [Release.from_bytes(body).camera.params[0] for body in pretend.asked]  # type: ignore[attr-defined]
    assert focals == pytest.approx([250, 200, 312.5])
    words = {Release.from_bytes(body).words.tobytes() for body in pretend.asked}  # type: ignore[attr-defined]
    assert len(words) == 1  # nothing was drawn again
    assert Ledger(things / "ledger.db").spent().pictures == 1


def test_a_server_that_fails_in_the_middle_loses_no_answer(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    pretend.info["camera"] = OF_MAP
    refusal = httpx.Response(409, json={"error": "no", "detail": "another dictionary."})
    pretend.instead = [httpx.Response(200, json=answer()), refusal]
    code = sfumato("localize", things / "photos", *asking(things, server), "-o", things / "p.txt")
    assert code == 2
    captured = capsys.readouterr()
    assert "1 of 2 were answered, then" in captured.err
    assert "secret" not in captured.err
    assert len((things / "p.txt").read_text().splitlines()) == 1


def test_maps_of_a_server_are_listed_and_erased(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["--server", server, "--key-file", things / "key"]
    assert sfumato("map", "list", *common) == 0
    assert "gallery" in capsys.readouterr().out
    told = sfumato_json("map delete", capsys, "gallery", *common)
    assert told["deleted"] is False
    assert not [one for one in pretend.requests if one[0] == "DELETE"]
    told = sfumato_json("map delete", capsys, "gallery", *common, "--yes")
    assert told["deleted"] is True
    assert ("DELETE", f"/v1/maps/{MAP_ID}", b"") in pretend.requests
    assert sfumato("map", "delete", "nowhere", *common, "--yes") == 2
    assert "no map 'nowhere'" in capsys.readouterr().err


def test_a_map_of_a_server_is_exported_with_its_owners_key(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    make_map(make_room(300), MAPPING_POSES[:3]).save(things / "map")
    tar = b"".join(PlainTar.of_map(things / "map"))
    place = f"/v1/maps/{MAP_ID}/archive"
    pretend.extra[place] = lambda _: httpx.Response(200, content=tar)
    common = ["--server", server, "--key-file", things / "key"]
    before = set(things.iterdir())
    told = sfumato_json("map export", capsys, "gallery", *common, "-o", things / "colmap")
    assert (told["images"], told["format"]) == (3, "colmap")
    assert {path.name for path in (things / "colmap").iterdir()} == {
        "cameras.bin",
        "images.bin",
        "points3D.bin",
    }
    own = ["--format", "sfumato", "-o", things / "own"]
    assert sfumato("map", "export", "gallery", *common, *own) == 0
    assert repr(Map.load(things / "own")) == repr(Map.load(things / "map"))
    refusal = {"error": "owner-needed", "detail": "this needs a key of the role owner."}
    pretend.extra[place] = lambda _: httpx.Response(403, json=refusal)
    capsys.readouterr()
    assert sfumato("map", "export", "gallery", *common, "-o", things / "not") == 2
    assert "role owner" in capsys.readouterr().err
    assert set(things.iterdir()) == before | {things / "colmap", things / "own"}
    assert sfumato("map", "export", things / "map", *common[2:], "-o", things / "not") == 2
    assert "--key-file" in capsys.readouterr().err


def test_a_map_of_a_server_is_drawn_from_what_it_tells(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"points": [[0, 0, 5], [1, 0.5, 6], [-1, 1, 7]], "up": [0, -1, 0]}
    pretend.extra[f"/v1/maps/{MAP_ID}/points"] = lambda _: httpx.Response(200, json=told)
    common = ["--server", server, "--key-file", things / "key"]
    assert sfumato("map", "show", "gallery", *common, "-o", things / "a.png") == 0
    assert "3, gray" in capsys.readouterr().out
    assert (things / "a.png").is_file()
    told["points"] = []
    assert sfumato("map", "show", "gallery", *common, "-o", things / "b.png") == 2
    assert "hides the points" in capsys.readouterr().err
    assert not (things / "b.png").exists()


def test_photographs_without_poses_become_a_map_a_newcomer_can_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photos = write_scene(tmp_path / "wall", num_images=4) / "images"
    Image.new("RGB", (320, 240)).save(photos / "blank.png")
    assert sfumato("map", "build", photos, "-o", tmp_path / "map", "--json") == 0
    trust = json.loads(capsys.readouterr().out)["trust"]
    assert (trust["registered"], trust["not_registered"]) == (4, 1)
    assert trust["verdict"] == "doubtful"  # four of five were placed
    assert "images were left out" in trust["advice"][0]
    assert trust["focal_lengths_from"]["guess"] == 5
    assert sfumato("map", "info", tmp_path / "map") == 0
    shown = capsys.readouterr().out
    for word in ("verdict", "to do", "placed", "they see", "focal length", "not known"):
        assert word in shown
    picture = tmp_path / "map.png"
    assert sfumato("map", "show", tmp_path / "map", "-o", picture) == 0
    with Image.open(picture) as image:
        assert image.format == "PNG"
        assert np.asarray(image).min() < 150  # something is drawn
    assert sfumato("map", "show", tmp_path / "map", "-o", picture) == 2
    assert "exists already" in capsys.readouterr().err


def test_heic_says_what_to_install(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import importlib.util

    if importlib.util.find_spec("pillow_heif") is not None:
        pytest.skip("pillow-heif is installed here")
    (tmp_path / "IMG_1.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
    assert sfumato("extract", tmp_path / "IMG_1.heic") == 2
    assert "sfumato[heic]" in capsys.readouterr().err
