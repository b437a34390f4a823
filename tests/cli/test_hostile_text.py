"""What a server or a file name says is shown as text, in text and in JSON."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from commands import sfumato
from pretend_server import KEY, PHOTO, WORDS, Pretend, answer, map_info
from synthetic import MAPPING_POSES, make_map, make_room

#: Markup that rich would obey or stumble over, an escape code, a bell, a bidi override, an emoji.
EVIL = "[link=https://evil.example]x[/link][/nothing][red] \x1b]8;;http://e\x07\x9b2J\u202e:boom:"
SHOWN = r"[link=https://evil.example]x[/link][/nothing][red] \x1b]8;;http://e\x07\x9b2J\u202e:boom:"


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("things")
    Image.fromarray(PHOTO).save(path / "photo.png")
    (path / "key").write_text(KEY + "\n")
    WORDS.save(path / "words")
    return path


def ask(things: Path, server: str, *more: object) -> int:
    return sfumato(
        "ask", "photo", things / "photo.png", "--server", server, "--map", "gallery",
        "--epsilon", 8,
        "--key-file", things / "key", "--dictionary", things / "words", "--keep", 40,
        "--camera", "SIMPLE_PINHOLE,500,256,256", *more,
    )  # fmt: skip


def joined(text: str) -> str:
    """What was printed, without the line breaks and blanks of a table."""
    return "".join(text.split())


def harmless(text: str) -> bool:
    return all(letter.isprintable() or letter == "\n" for letter in text)


def test_the_reason_of_a_server_is_text(
    things: Path, server: str, pretend: Pretend, capsys: pytest.CaptureFixture[str]
) -> None:
    no = answer(localized=False, cam_from_world=None, center=None, reason=EVIL)
    pretend.instead = [httpx.Response(200, json=no)] * 2
    assert ask(things, server) == 1
    shown = capsys.readouterr().out
    assert joined(SHOWN) in joined(shown)
    assert harmless(shown)
    assert ask(things, server, "--json") == 1
    shown = capsys.readouterr().out
    assert harmless(shown)
    assert json.loads(shown)["reason"] == SHOWN


@pytest.mark.parametrize("mode", [(), ("--json",)])
def test_the_refusal_of_a_server_is_text(
    things: Path,
    server: str,
    pretend: Pretend,
    mode: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pretend.instead = [httpx.Response(422, json={"error": EVIL, "detail": EVIL})]
    assert ask(things, server, *mode) == 2
    shown = capsys.readouterr().err
    assert SHOWN in shown
    assert harmless(shown)
    assert len(shown.splitlines()) == 1


def test_the_name_of_a_map_is_text(
    things: Path, server: str, pretend: Pretend, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_map(make_room(), MAPPING_POSES).save(tmp_path / "map")
    evil = map_info(name=EVIL, notice=EVIL, accepts=[EVIL])
    pretend.extra["/v1/maps"] = lambda request: httpx.Response(201, json=evil)
    push = ("map", "push", tmp_path / "map", "--server", server, "--key-file", things / "key")
    assert sfumato(*push) == 0
    shown = capsys.readouterr().out
    assert joined(shown).count(joined(SHOWN)) == 3
    assert harmless(shown)
    assert sfumato(*push, "--json") == 0
    shown = capsys.readouterr().out
    assert harmless(shown)
    assert json.loads(shown)["name"] == EVIL  # for machines: the same value, written harmlessly


#: Markup, an escape code, bytes that are no UTF-8, a bidi override, a line break.
NAME = b"[red]x[/no] \x1b[31m \xff\xfe \xe2\x80\xae two\nlines"


@pytest.mark.parametrize("mode", [(), ("--json",)])
def test_file_names_are_text(things: Path, tmp_path: Path, mode: tuple[str, ...]) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + NAME))
    folder.mkdir(parents=True)
    Image.fromarray(PHOTO[:128, :128]).save(folder / "photo.png")
    (folder / "broken.png").write_bytes(b"no picture")
    common = ("--epsilon", "8", "--dictionary", things / "words", *mode)
    for words in (
        ("protect", folder / "photo.png", *common, "-o", folder / "out.sfr",
         "--ledger", folder / "ledger", "--session", "[/x]\x1b"),
        ("protect", folder / "broken.png", *common, "-o", folder / "no.sfr"),
        ("attack", "release", folder / "out.sfr", "--dictionary", things / "words", *mode),
        ("extract", folder, "-o", folder / "features.h5", *mode),
        ("localize", folder / "none.sfr", "--map", folder, *mode),
    ):  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-c", "from sfumato.cli.app import main; main()", *map(str, words)],
            capture_output=True,
            check=False,
        )
        shown = (run.stdout + run.stderr).decode()
        assert run.returncode == (2 if "broken" in str(words[1]) or "none" in str(words[1]) else 0)
        assert harmless(shown), shown
        assert "Traceback" not in shown
        if mode and run.returncode == 0:
            assert isinstance(json.loads(run.stdout), dict)
    assert (folder / "out.sfr").exists()


def test_only_one_module_prints() -> None:
    """Everything else goes through `cli/output.py`, which knows what may be shown."""
    import sfumato.cli

    folder = Path(sfumato.cli.__file__).parent
    for file in sorted(folder.glob("*.py")):
        if file.name in ("output.py", "app.py"):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        written = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert not written & {"print", "sys.stdout.write", "sys.stderr.write", "Console"}, file.name
        assert not any(name.startswith("typer.echo") for name in written), file.name


def test_letters_that_the_terminal_lacks_are_no_reason_to_stop(tmp_path: Path) -> None:
    np.save(tmp_path / "codes.npy", np.zeros((3, 5), dtype=np.uint8))
    run = subprocess.run(
        [sys.executable, "-c", "from sfumato.cli.app import main; main()", "classify", "protect",
         tmp_path / "codes.npy", "--values", "2", "--epsilon", "1", "--explain"],
        capture_output=True, check=True, env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert b"epsilon = 1 for one code" in run.stdout
