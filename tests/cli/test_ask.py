"""`sfumato ask`, against a server that lives in the test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from PIL import Image

from commands import sfumato
from pretend_server import KEY, MAP_ID, PHOTO, WORDS, Pretend, answer
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import Release, WordRelease
from sfumato.core.types import Camera
from sfumato.device.ledger import Ledger
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.device.protect import Pipeline, protect

CAMERA = "SIMPLE_PINHOLE,500,256,256"


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("things")
    Image.fromarray(PHOTO).save(path / "photo.png")
    (path / "key").write_text(KEY + "\n")
    WORDS.save(path / "words")
    pipeline = Pipeline(SubsetMechanism(8.0, 2, WORDS), max_keypoints=40)
    camera = Camera("SIMPLE_PINHOLE", 512, 512, (500.0, 256.0, 256.0))
    (path / "out.sfr").write_bytes(protect(PHOTO, pipeline, camera=camera).to_bytes())
    (path / "bare.sfr").write_bytes(protect(PHOTO, pipeline).to_bytes())
    seeded = protect(PHOTO, pipeline, camera=camera, rng=SeededRandom(0))
    (path / "seeded.sfr").write_bytes(seeded.to_bytes())
    return path


def ask(things: Path, server: str, source: str, *more: object) -> int:
    common: list[object] = ["--server", server, "--map", "gallery", "--key-file", things / "key"]
    kind = "release" if source.endswith(".sfr") else "photo"
    return sfumato("ask", kind, things / source, *common, *more)


def drawn(things: Path, *more: object) -> tuple[object, ...]:
    return ("--epsilon", 8, "--dictionary", things / "words", "--camera", CAMERA, *more)


def test_a_photograph_is_protected_and_its_words_are_sent(
    things: Path, server: str, pretend: Pretend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = drawn(things, "--keep", 60, "--ledger", tmp_path / "ledger")
    assert ask(things, server, "photo.png", *options) == 0
    shown = capsys.readouterr().out
    sent = Release.from_bytes(pretend.asked[0])
    assert isinstance(sent, WordRelease)
    assert (sent.epsilon, sent.subset_size, len(sent)) == (8, 1, 60)
    assert f"{len(pretend.asked[0]):,} bytes for 60 keypoints" in shown
    assert "ε = 8 for one descriptor" in shown
    assert "N·ε = 480" in shown
    assert "the positions of the keypoints" in shown
    assert "has spent ε = 480" in shown
    assert "camera at" in shown
    limited = ("--object", "40x40", "--object-limit", 60, "--json")
    assert ask(things, server, "photo.png", *options, *limited) == 0
    facts = json.loads(capsys.readouterr().out)
    assert 0 < facts["sent"]["object_seen_by"] <= 60
    before = facts["ledger"]["epsilon_spent"]
    assert ask(things, server, "photo.png", *options, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["localized"] is True
    assert facts["center"] == answer()["center"]
    assert facts["sent"]["epsilon_per_picture"] == 480
    assert facts["sent"]["not_protected"]
    assert facts["ledger"]["epsilon_spent"] == before + 480
    assert KEY not in shown + json.dumps(facts)


def test_a_saved_release_is_sent_as_it_is(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(things, server, "out.sfr") == 0
    assert pretend.asked == [(things / "out.sfr").read_bytes()]
    assert "ε = 8 for one descriptor" in capsys.readouterr().out
    assert ask(things, server, "bare.sfr") == 2
    assert "intrinsics" in capsys.readouterr().err
    assert ask(things, server, "bare.sfr", "--camera", CAMERA) == 0
    with_camera, bare = (
        Release.from_bytes(pretend.asked[1]),
        Release.from_bytes((things / "bare.sfr").read_bytes()),
    )
    assert isinstance(with_camera, WordRelease)
    assert isinstance(bare, WordRelease)
    assert (with_camera.words == bare.words).all()
    capsys.readouterr()
    for wrong, sentence in (
        (("out.sfr", "--camera", CAMERA), "carries a camera already"),
        (("out.sfr", "--epsilon", 4), "No such option: --epsilon"),
        (("out.sfr", "--max-epsilon", 4), "at most ε = 4"),
        (("out.sfr", "--min-words", 4096), "at least 4,096"),
        (("seeded.sfr",), "known seed"),
    ):
        assert ask(things, server, *wrong) == 2
        error = capsys.readouterr().err
        assert sentence in error
        assert len(error.strip().splitlines()) == 1
    assert len(pretend.asked) == 2


def test_what_is_kept_is_sent_later_without_another_charge(
    things: Path, server: str, pretend: Pretend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "kept.sfr"
    options = drawn(things, "--keep", 30, "--ledger", tmp_path / "ledger", "--save", saved)
    nobody = "http://127.0.0.1:1"
    assert ask(things, nobody, "photo.png", *options, "--deadline", 5) == 2
    error = capsys.readouterr().err
    assert "is kept in" in error
    assert len(error.strip().splitlines()) == 1
    assert ask(things, server, "photo.png", *options) == 2
    assert "exists already" in capsys.readouterr().err
    assert sfumato("ask", "release", saved, "--server", server, "--map", MAP_ID,
                   "--key-file", things / "key") == 0  # fmt: skip
    assert pretend.asked == [saved.read_bytes()]
    assert Ledger(tmp_path / "ledger").spent().pictures == 1


def test_not_localized_ends_with_exit_code_one(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    no = answer(localized=False, cam_from_world=None, center=None, reason="too few")
    pretend.instead.append(httpx.Response(200, json=no))
    assert ask(things, server, "out.sfr") == 1
    assert "too few" in capsys.readouterr().out


def test_a_plan_is_followed_only_when_asked(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    advice = {
        "epsilon": 8.0, "epsilon_per_picture": 320.0, "num_words": WORDS.num_words,
        "subset_size": 1, "max_keypoints": 45, "dictionary": WORDS.fingerprint,
        "not_protected": ["positions"],
    }  # fmt: skip
    pretend.extra[f"/v1/maps/{MAP_ID}/plan"] = lambda request: httpx.Response(200, json=advice)
    assert ask(things, server, "photo.png", *drawn(things), "--follow-plan") == 0
    assert "the 45 strongest keypoints" in capsys.readouterr().err
    advice["epsilon"] = 20.0
    assert ask(things, server, "photo.png", *drawn(things), "--follow-plan") == 2
    assert "not taken" in capsys.readouterr().err


def test_keys_come_from_files_or_the_environment(
    things: Path, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SFUMATO_KEY", raising=False)
    common = ["ask", "release", things / "out.sfr", "--server", server, "--map", "gallery"]
    assert sfumato(*common) == 2
    assert "SFUMATO_KEY" in capsys.readouterr().err
    monkeypatch.setenv("SFUMATO_KEY", KEY)
    assert sfumato(*common) == 0
    assert sfumato(*common, "--key-file", things / "none") == 2
    assert sfumato(*common, "--key-file", things / "photo.png") == 2
    assert "cannot be read as a key file" in capsys.readouterr().err
    assert sfumato(*common, "--key", KEY) == 2


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ((), "Missing option '--epsilon'"),
        (("--epsilon", 8), "EXIF says nothing of the focal length"),
        (("--epsilon", 8, "--camera", CAMERA, "--cap", 5, "--no-ledger"), "not apply with --no-l"),
        (("--epsilon", 8, "--camera", CAMERA, "--pairs", "p"), "No such option: --pairs"),
        (("--epsilon", 8, "--camera", CAMERA, "--keep-by", "spread"), "applies only with --keep"),
        (("--epsilon", 8, "--camera", CAMERA, "--dictionary", "ab" * 32), "cache="),
        (("--epsilon", 8, "--camera", CAMERA, "--dictionary", "ab" * 32, "--constant-count", 9),
         "one that is here"),
        (("--epsilon", 8, "--camera", CAMERA, "--ca-file", "none.pem"), "no certificates"),
        (("--epsilon", 8, "--camera", "PINHOLE,1"), "4 parameters"),
    ],
)  # fmt: skip
def test_questions_that_cannot_be_are_told_first(
    things: Path, server: str, pretend: Pretend, more: tuple[object, ...], sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert ask(things, server, "photo.png", *more) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.strip().splitlines()) == 1
    assert not pretend.asked


def test_other_machines_are_not_asked_without_tls(
    things: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(things, "http://maps.example", "out.sfr") == 2
    assert "unencrypted" in capsys.readouterr().err


def test_each_kind_of_file_is_sent_to_its_own_command(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("--server", server, "--map", "gallery", "--key-file", things / "key")
    assert sfumato("ask", "photo", things / "out.sfr", *common, *drawn(things)) == 2
    assert "use `sfumato ask release`" in capsys.readouterr().err
    assert sfumato("ask", "release", things / "photo.png", *common) == 2
    assert "is not a release; `sfumato protect" in capsys.readouterr().err
    assert sfumato("localize", things / "photo.png", "--map", "m", "--cap", 8) == 2
    assert "give --epsilon for words with a guarantee" in capsys.readouterr().err
    assert sfumato("localize", things / "out.sfr", "--map", "m", "--cap", 8) == 2
    assert "--cap is for pictures, and this is a release" in capsys.readouterr().err
    assert not pretend.asked


def test_the_persons_own_ledger_is_charged_unless_someone_says_no(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    options = drawn(things, "--keep", 60)
    assert ask(things, server, "photo.png", *options) == 0
    account = Ledger.default()
    assert account.spent().epsilon == 480
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(f"ledger: {account.path}, session 'default'")
    assert "charged ε = 480: 60 × 8 for one descriptor" in shown
    assert ask(things, server, "photo.png", *options, "--no-ledger") == 0
    assert "none (--no-ledger): what leaves now is not counted" in capsys.readouterr().out
    assert ask(things, server, "photo.png", *options, "--no-ledger", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ledger"] is None
    assert account.spent().epsilon == 480
    assert ask(things, server, "out.sfr") == 0
    assert "nothing is charged now" in " ".join(capsys.readouterr().out.split())
    assert ask(things, server, "out.sfr", "--no-ledger") == 2


@pytest.mark.parametrize("mode", [(), ("--json",)])
def test_a_question_whose_answer_cannot_be_shown_or_kept_costs_nothing(
    things: Path, server: str, pretend: Pretend, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    words = [
        "ask", "photo", things / "photo.png", "--server", server, "--map", "gallery",
        "--key-file", things / "key", *drawn(things), *mode,
    ]  # fmt: skip
    program = [sys.executable, "-c", "from sfumato.cli.app import main; main()"]
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [*program, *map(str, words)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1
    assert sfumato(*words, "--save", tmp_path / "none" / "x.sfr") == 2
    assert sfumato(*words, "--save", "/sys/x.sfr") == 2
    assert Ledger.default().spent().pictures == 0
    assert not pretend.asked


def test_gravity_is_told_to_leave_and_not_protected(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(things, server, "out.sfr", "--gravity", "0,9.7,1.4") == 2
    assert "ask without gravity" in capsys.readouterr().err
    assert pretend.asked == []
    pretend.info["up"] = [0, 0, 1]
    assert ask(things, server, "out.sfr", "--gravity", "0,9.7,1.4") == 0
    assert "how the camera was tilted (gravity)" in " ".join(capsys.readouterr().out.split())
    assert pretend.headers[-1]["sfumato-gravity"] == "0,0.99,0.143,2"
    options = drawn(things, "--no-ledger", "--gravity", "0,1,0", "--gravity-error", 3)
    assert ask(things, server, "photo.png", *options, "--json") == 0
    sent = json.loads(capsys.readouterr().out)["sent"]
    assert sent["gravity"] == {"in_camera": [0, 1, 0], "error_deg": 3}
    assert "how the camera was tilted (gravity)" in sent["not_protected"]
    assert pretend.headers[-1]["sfumato-gravity"] == "0,1,0,3"
    assert ask(things, server, "out.sfr", "--gravity", "0,1,0", "--gravity-error", 90) == 2
    assert ask(things, server, "out.sfr") == 0
    assert "tilted" not in capsys.readouterr().out
    assert "sfumato-gravity" not in pretend.headers[-1]
