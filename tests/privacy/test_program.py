"""Programs of other devices under audit: the door for them, and the device in the browser."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from commands import sfumato
from sfumato.core.errors import InvalidInput
from sfumato.privacy.audit import audit
from sfumato.privacy.program import ProgramSubject

WEB = Path(__file__).parents[2] / "web" / "device"
BUILT = shutil.which("node") is not None and (WEB / "dist" / "index.js").exists()

#: A program that answers as the mechanism does; {} takes what a test breaks.
_SCRIPT = """
import sys
import numpy as np
from sfumato.core.odds import subset_coin
from sfumato.core.randomness import SecureRandom, SeededRandom, draw_distinct
from sfumato.core.releases import WordRelease
epsilon, num_words, size, value, count = (float(word) for word in sys.argv[1:])
num_words, size, value, count = int(num_words), int(size), int(value), int(count)
source, claimed = SecureRandom(), epsilon
{}
rows = np.stack(draw_distinct(num_words - 1, size, count, source), axis=1)
rows += rows >= value
kept = source.coin(subset_coin(epsilon, num_words, size), count)
rows[kept, source.below(size, count)[kept]] = value
rows.sort(axis=1)
release = WordRelease(
    keypoints=np.zeros((count, 2)), image_size=(1, 1), extractor="audit", words=rows,
    num_words=num_words, dictionary="0" * 64, epsilon=claimed,
    reproducible=source.reproducible,
)
sys.stdout.buffer.write(release.to_bytes())
"""


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgramSubject, "histogram_draws", 40_000)


def program(folder: Path, broken: str = "") -> str:
    file = folder / "draw.py"
    file.write_text(_SCRIPT.format(broken), encoding="utf-8")
    return f"{sys.executable} {file}"


def test_a_program_that_keeps_its_epsilon_is_consistent(tmp_path: Path) -> None:
    report = audit(ProgramSubject(program(tmp_path), 1.0, 6, 2), draws=40_000)
    assert report.verdict == "consistent"
    assert [check.name for check in report.checks] == [
        "target event",
        "truth share",
        "histogram",
        "forks",
    ]


def test_a_program_with_more_than_its_epsilon_is_broken(tmp_path: Path) -> None:
    louder = program(tmp_path, "epsilon = 1.2 * epsilon")
    report = audit(ProgramSubject(louder, 2.0, 8, 1), draws=40_000)
    assert report.verdict == "broken"


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("source = SeededRandom(1)", "known seed"),
        ("num_words += 1", "of 9"),
        ("count -= 1", "got 999"),
        ("claimed = 1.5", "at ε = 1.5"),
        ("raise SystemExit('no words')", "code 1 and said: no words"),
        ("print('hello')", "must write one release"),
    ],
)
def test_what_a_program_must_not_do_is_told(tmp_path: Path, broken: str, sentence: str) -> None:
    subject = ProgramSubject(program(tmp_path, broken), 2.0, 8, 1)
    with pytest.raises(InvalidInput, match=sentence):
        subject.sample(0, 1000)


def test_a_program_that_does_not_exist_is_told() -> None:
    with pytest.raises(InvalidInput, match="cannot be run"):
        ProgramSubject("no-such-program-here", 2.0, 8, 1).sample(0, 10)


def test_the_command_examines_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = program(tmp_path)
    assert sfumato("audit", "--words", "1", "--program", own) == 2
    assert "words must be at least 2" in capsys.readouterr().err
    assert sfumato("audit", "--mechanism", "randomized-response", "--program", own) == 2
    assert "--program" in capsys.readouterr().err
    assert sfumato("audit", "--words", "6", "--program", "no-such-program-here") == 2
    assert "cannot be run" in capsys.readouterr().err


@pytest.mark.skipif(not BUILT, reason="needs Node and the built device: bash scripts/web build")
class TestBrowser:
    """What pages get, run in Node: the same file, the same WebCrypto."""

    def test_the_sampler_of_the_browser_is_consistent(self) -> None:
        subject = ProgramSubject(f"node {WEB}/scripts/draw.mjs", 1.0, 8, 2)
        assert audit(subject, draws=50_000).verdict == "consistent"

    @pytest.mark.parametrize("mutant", ["LargerEpsilon", "TruthAmongOthers", "KnownStream"])
    def test_broken_samplers_of_the_browser_are_noticed(self, mutant: str) -> None:
        subject = ProgramSubject(f"node {WEB}/test/mutants.mjs {mutant}", 2.0, 8, 1)
        assert audit(subject, draws=50_000).verdict == "broken"
