"""What leaves a device is counted unless someone says no, and only after it can be kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import sfumato
from sfumato.device.ledger import Ledger
from sfumato.dictionary import Dictionary
from support import photograph


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("things")
    Image.fromarray(photograph()[:256, :256]).save(folder / "photo.png")
    values = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(values, extractor="sift").save(folder / "words")
    np.save(folder / "codes.npy", np.zeros((3, 5), dtype=np.uint8))
    return folder


def photo(things: Path) -> tuple[object, ...]:
    return ("protect", things / "photo.png", "--epsilon", 10, "--dictionary", things / "words",
            "--keep", 20)  # fmt: skip


def codes(things: Path) -> tuple[object, ...]:
    return ("classify", "protect", things / "codes.npy", "--values", 2, "--epsilon", 1)


WAYS = pytest.mark.parametrize(("way", "cost"), [(photo, 200), (codes, 15)])


@WAYS
def test_the_persons_own_ledger_is_charged_and_shown(
    things: Path, tmp_path: Path, way: object, cost: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(way)
    assert sfumato(*way(things), "-o", tmp_path / "a.sfr") == 0
    account = Ledger.default()
    assert account.spent().epsilon == cost
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(f"ledger: {account.path}, session 'default'")
    assert f"charged ε = {cost}" in shown
    assert f"has spent ε = {cost}" in shown
    assert "not protected" in shown
    assert sfumato(*way(things), "-o", tmp_path / "b.sfr", "--json") == 0
    facts = json.loads(capsys.readouterr().out)["ledger"]
    assert (facts["path"], facts["charged"]) == (str(account.path), cost)
    assert facts["epsilon_spent"] == 2 * cost
    assert facts["pictures"] == account.spent().pictures


@WAYS
def test_no_ledger_is_a_choice_that_is_printed(
    things: Path, tmp_path: Path, way: object, cost: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(way)
    assert sfumato(*way(things), "-o", tmp_path / "a.sfr", "--no-ledger") == 0
    assert "none (--no-ledger): what leaves now is not counted" in capsys.readouterr().out
    assert sfumato(*way(things), "-o", tmp_path / "b.sfr", "--no-ledger", "--json") == 0
    assert json.loads(capsys.readouterr().out)["ledger"] is None
    assert Ledger.default().spent().pictures == 0


@pytest.mark.parametrize("also", [("--ledger", "l"), ("--cap", 5)])
def test_no_ledger_contradicts_a_ledger(
    things: Path, tmp_path: Path, also: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato(*photo(things), "-o", tmp_path / "a.sfr", "--no-ledger", *also) == 2
    assert "does not apply with --no-ledger" in capsys.readouterr().err


def test_a_cap_holds_in_the_persons_own_ledger(things: Path, tmp_path: Path) -> None:
    assert sfumato(*photo(things), "-o", tmp_path / "a.sfr", "--cap", 300) == 0
    assert sfumato(*photo(things), "-o", tmp_path / "b.sfr") == 2
    assert not (tmp_path / "b.sfr").exists()


def test_looking_costs_nothing_and_makes_no_ledger(
    things: Path, persons_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato(*photo(things), "--explain") == 0
    assert not Path(os.environ["XDG_DATA_HOME"]).exists()


def bad_outputs(folder: Path) -> list[Path]:
    (folder / "file").write_text("")
    (folder / "folder").mkdir()
    return [
        folder / "none" / "out.sfr",
        folder / "file" / "out.sfr",
        folder / "folder",
        folder / ("x" * 300),
        Path("/dev/null"),
        Path("/sys/out.sfr"),
    ]


@WAYS
def test_an_output_that_cannot_be_written_costs_nothing(
    things: Path, tmp_path: Path, way: object, cost: float, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(way)
    for output in bad_outputs(tmp_path):
        assert sfumato(*way(things), "-o", output) == 2
        told = capsys.readouterr()
        assert len(told.err.strip().splitlines()) == 1
        assert not told.out
    assert Ledger.default().spent().pictures == 0
    assert not list(tmp_path.glob(".tmp-*"))
    assert Path("/dev/null").is_char_device()


@WAYS
@pytest.mark.parametrize("mode", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("output", ["closed pipe", "full", "closed"])
def test_a_release_is_not_charged_when_its_cost_cannot_be_shown(
    things: Path, tmp_path: Path, way: object, cost: float, mode: tuple[str, ...], output: str
) -> None:
    assert callable(way)
    words = [str(word) for word in (*way(things), "-o", tmp_path / "a.sfr", *mode)]
    run = run_with_output(output, words)
    assert run.returncode == 2, run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
    assert "output" in run.stderr
    assert Ledger.default().spent().pictures == 0
    assert not list(tmp_path.iterdir())


def run_with_output(output: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, whose stdout is lost in one of three ways."""
    program = [sys.executable, "-c", "from sfumato.cli.app import main; main()", *words]
    if output == "closed":
        program = ["sh", "-c", 'exec "$@" >&-', "sh", *program]
        return subprocess.run(program, stderr=subprocess.PIPE, text=True, check=False)
    if output == "full":
        with Path("/dev/full").open("w") as full:
            return subprocess.run(
                program, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
    read, write = os.pipe()
    os.close(read)
    try:
        return subprocess.run(program, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(write)
