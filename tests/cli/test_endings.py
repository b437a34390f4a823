"""However a command ends, it ends with one sentence: lost outputs, Ctrl-C, numbers, names."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sfumato as sf
from commands import sfumato
from sfumato.core.errors import InvalidInput
from sfumato.core.types import PrivacyEvent
from sfumato.dictionary import Dictionary
from support import photograph

PROGRAM = """
import os, signal
from sfumato.cli.app import main
real, told = signal.signal, []
def first_tell(*arguments):
    before = real(*arguments)
    if not told:  # from here on Ctrl-C is met
        told.append(os.write(1, b"ready"))
    return before
signal.signal = first_tell
main()
"""
HUGE = [10**400, 10**5000, -(10**400), float("nan")]


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("things")
    (folder / "pictures").mkdir()
    Image.fromarray(photograph()).save(folder / "pictures" / "photo.png")
    values = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(values, extractor="sift").save(folder / "words")
    np.save(folder / "codes.npy", np.zeros((30, 5), dtype=np.uint8))
    np.save(folder / "labels.npy", np.arange(30) % 2)
    made = ("--no-ledger", "-o")
    assert sfumato("protect", folder / "pictures" / "photo.png", "--epsilon", 8, "--keep", 20,
                   *made, folder / "photo.sfr") == 0  # fmt: skip
    assert sfumato("classify", "protect", folder / "codes.npy", "--values", 2, "--epsilon", 1,
                   "--labels", folder / "labels.npy", *made, folder / "codes.sfr") == 0  # fmt: skip
    assert sfumato("classify", "train", folder / "codes.sfr", "-o", folder / "model.npz") == 0
    assert sfumato("extract", folder / "pictures", "-o", folder / "features.h5") == 0
    return folder


@pytest.mark.parametrize(
    "words", [("--help",), ("audit", "--help"), ("dictionary", "info", "bsds-16k")]
)
@pytest.mark.parametrize("output", ["closed pipe", "full", "closed"])
def test_an_output_that_is_lost_is_told_in_one_sentence(
    words: tuple[str, ...], output: str
) -> None:
    program = [sys.executable, "-c", "from sfumato.cli.app import main; main()", *words]
    target = subprocess.DEVNULL
    if output == "closed":
        program = ["sh", "-c", 'exec "$@" >&-', "sh", *program]
    else:
        read, target = os.pipe()
        os.close(read)
        if output == "full":
            os.close(target)
            target = os.open("/dev/full", os.O_WRONLY)
    run = subprocess.run(program, stdout=target, stderr=subprocess.PIPE, text=True, check=False)
    if target != subprocess.DEVNULL:
        os.close(target)
    assert run.returncode == 2
    assert run.stderr.startswith("sfumato: the output ")
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.2, 0.6, 1.2, 2.5])
def test_ctrl_c_ends_at_any_moment_and_leaves_nothing_half_done(
    things: Path, tmp_path: Path, wait: float
) -> None:
    words = ("protect", things / "pictures" / "photo.png", "--epsilon", "8", "-o", tmp_path / "out")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.read(5) == b"ready"
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    if process.returncode == 0:  # it was faster
        assert (tmp_path / "out").exists()
        return
    assert process.returncode == 130, told
    assert told == b"sfumato: stopped\n"
    assert not [file for file in tmp_path.iterdir() if file.name != "out"]


def test_ctrl_c_in_a_long_work_stops_it(tmp_path: Path) -> None:
    words = ("audit", "--epsilon", "10", "--words", "64")
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.read(5) == b"ready"
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert (process.returncode, told) in ((130, b"sfumato: stopped\n"), (0, b""))


WRITERS = [
    "protect {photo} --epsilon 8 -o {out}.sfr",
    "classify protect {codes} --values 2 --epsilon 1 -o {out}.sfr",
    "extract {photo} -o {out}.h5",
    "extract {pictures} -o {out}.h5",
    "dictionary build {features} --words 16 -o {out}",
    "map build {pictures} -o {out}",
    "attack release {release} -o {out}.npz",
    "attack photo {photo} -o {out}.html",
    "invert picture {release} -o {out}.png",
    "classify train {sent} -o {out}.npz",
    "classify predict {model} {codes} -o {out}.npy",
    "demo --queries 1 -o {out}",
    "keys create --store {out} --tenant museum",
]


@pytest.mark.parametrize("words", WRITERS)
def test_an_output_that_cannot_be_written_is_told_in_one_sentence(
    things: Path, tmp_path: Path, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    names = {
        "photo": things / "pictures" / "photo.png",
        "pictures": things / "pictures",
        "codes": things / "codes.npy",
        "features": things / "features.h5",
        "release": things / "photo.sfr",
        "sent": things / "codes.sfr",
        "model": things / "model.npz",
    }
    for out in (tmp_path / "file" / "x", Path("/sys/x"), tmp_path / ("x" * 300)):
        assert sfumato(*(word.format(**names, out=out) for word in words.split())) == 2
        told = capsys.readouterr()
        assert len(told.err.strip().splitlines()) == 1, told.err
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1" + "0" * 400, "nan", "9" * 30])
def test_numbers_that_nothing_can_hold_are_refused_by_every_command(
    things: Path, number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    photo = things / "pictures" / "photo.png"
    for words in (
        ("protect", photo, "--explain", f"--epsilon={number}"),
        ("protect", photo, "--explain", "--epsilon", 8, f"--cap={number}"),
        ("protect", photo, "--explain", "--epsilon", 8, f"--keep={number}"),
        ("audit", f"--words={number}"),
        ("extract", photo, f"--max-keypoints={number}"),
    ):
        assert sfumato(*words) == 2
        told = capsys.readouterr().err
        assert len(told.strip().splitlines()) == 1, told


def test_infinity_must_be_written_as_such(things: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photo = things / "pictures" / "photo.png"
    assert sfumato("protect", photo, "--explain", "--epsilon", "1e400") == 2
    assert "write inf" in capsys.readouterr().err
    assert sfumato("protect", photo, "--explain", "--epsilon", "inf") == 0


@pytest.mark.parametrize("value", HUGE, ids=["400 digits", "5000 digits", "negative", "nan"])
def test_huge_numbers_are_refused_by_the_library(tmp_path: Path, value: float) -> None:
    words = Dictionary.from_words(np.zeros((300, 128), dtype=np.uint8), extractor="sift")
    ledger = sf.Ledger(tmp_path / "ledger")
    for use in (
        lambda: sf.SubsetMechanism(value, 2, words),
        lambda: sf.SubsetMechanism(1.0, value, words),  # type: ignore[arg-type]
        lambda: sf.classification.RandomizedResponse(value, 2),
        lambda: sf.Caps(session=value),
        lambda: PrivacyEvent("subset", value, 1, "one descriptor", ()),
        lambda: ledger.charge(PrivacyEvent("x", 1.0, 1, "x", ()), pictures=value),  # type: ignore[arg-type]
        lambda: sf.Client("https://x.example", "k" * 60, timeout=value),
    ):
        with pytest.raises(InvalidInput):
            use()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_letters_that_cannot_be_printed_are_spelled_out(encoding: str) -> None:
    program = [sys.executable, "-c", "from sfumato.cli.app import main; main()"]
    run = subprocess.run(
        [*program, "protect", "-h"],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )
    shown = run.stdout.decode(encoding)
    assert ("ε" if encoding == "utf-8" else "epsilon per") in shown
    assert "\\u03b5" not in shown


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    import sfumato as sf
    from sfumato.cli.app import main

    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"sfumato {sf.__version__}\n"
