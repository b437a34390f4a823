"""Own code on the command line: what it is given, and how it ends where it raises."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from commands import sfumato, sfumato_json
from recoveries import lifted
from sfumato.dictionary import Dictionary
from support import photograph

PAGE = Path(__file__).parents[2] / "docs" / "add-your-own.md"

CODE = '''
import numpy as np

from sfumato.core.types import PrivacyEvent


class Raises:
    """A mechanism, an extractor and a detector that can do nothing."""

    name = "raises"
    epsilon, num_inputs = 1.0, 2

    def __init__(self, key=None):
        if key is not None:
            {}[key]

    def draw(self, inputs, source):
        raise RuntimeError("no draw today")

    def event(self, features):
        raise OSError("no event today")

    def release(self, features, *, rng, camera=None):
        raise AssertionError

    def __call__(self, picture):
        return np.eye(2) @ np.eye(3)


def attack(release):
    raise ValueError("no attack\\ntoday")


def takes_nothing():
    return None


class Old(Raises):
    def event(self, features):
        return PrivacyEvent("old", None, len(features), "one descriptor", ())

    def release(self, features):
        return None


def answers_nothing(release):
    return None


def leans_on_numpy(release, *, seed=0):
    return np.linalg.inv(np.zeros((2, 2)))
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_raising_code.py").write_text(CODE, encoding="utf-8")
    Image.fromarray(photograph()[:160, :160]).save(tmp_path / "photo.png")
    words = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(words, extractor="sift").with_levels((8, 64)).save(tmp_path / "words")
    (tmp_path / "a.sfr").write_bytes(lifted(dimension=2, count=20).release.to_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


PROTECT = ("protect", "photo.png", "--dictionary", "words", "--explain")
ATTACK = ("attack", "release", "a.sfr", "--attack")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((*ATTACK, "my_raising_code:attack"), "attack my_raising_code:attack raised ValueError: no "
         "attack today; with --verbose its traceback is printed."),
        ((*ATTACK, "my_raising_code:leans_on_numpy"), "attack my_raising_code:leans_on_numpy "
         "raised LinAlgError: Singular matrix;"),
        ((*ATTACK, "my_raising_code:takes_nothing"), "attack my_raising_code:takes_nothing raised "
         "TypeError: takes_nothing() takes 0 positional arguments but 1 was given;"),
        ((*PROTECT, "--mechanism", "my_raising_code:Old"), "mechanism my_raising_code:Old raised "
         "TypeError: Old.release() got an unexpected keyword argument"),
        ((*PROTECT, "--mechanism", "my_raising_code:Raises"),
         "mechanism my_raising_code:Raises raised OSError: no event today;"),
        ((*PROTECT, "--mechanism", "my_raising_code:Raises", "--mechanism-options", "key=1"),
         "mechanism my_raising_code:Raises raised KeyError: 1;"),
        (("extract", "photo.png", "--extractor", "my_raising_code:Raises"),
         "extractor my_raising_code:Raises raised ValueError: matmul"),
        (("audit", "--mechanism", "my_raising_code:Raises"),
         "mechanism my_raising_code:Raises raised RuntimeError: no draw today;"),
    ],
)  # fmt: skip
def test_own_code_that_raises_ends_with_one_sentence(
    folder: Path,
    words: tuple[object, ...],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sfumato(*words) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"sfumato: your {sentence}")
    assert len(told.strip().splitlines()) == 1


def test_a_detector_that_raises_is_named_and_its_traceback_is_for_verbose(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = (*PROTECT, "--epsilon", 8, "--detector", "my_raising_code:Raises")
    assert sfumato(*own) == 2
    told = capsys.readouterr().err
    assert "the detector 'raises' failed, so nothing is released" in told
    assert len(told.strip().splitlines()) == 1
    assert sfumato(*own, "--verbose") == 2
    assert 'my_raising_code.py", line' in capsys.readouterr().err


def test_with_verbose_the_traceback_of_own_code_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato(*ATTACK, "my_raising_code:attack", "--verbose") == 2
    told = capsys.readouterr().err
    assert 'my_raising_code.py", line' in told
    assert "Traceback" in told
    assert told.splitlines()[-1].startswith("sfumato: your attack my_raising_code:attack raised")


def test_a_fault_of_sfumato_itself_is_not_blamed_on_own_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of sfumato")

    monkeypatch.setattr("sfumato.cli.attack_release.read_release", breaks)
    with pytest.raises(RuntimeError, match="a fault of sfumato"):
        sfumato(*ATTACK, "my_raising_code:attack")


def test_an_attack_that_answers_something_else_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato(*ATTACK, "my_raising_code:answers_nothing") == 2
    assert "must return a Recovered, got NoneType" in capsys.readouterr().err


def test_the_mechanism_of_the_page_is_audited_with_a_dictionary(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    code = blocks[1].partition("\n\nwords = ")[0]
    Path("any_word_of_the_page.py").write_text(
        f"import numpy as np\nimport sfumato as sf\n{code}\n", encoding="utf-8"
    )
    own = ("--mechanism", "any_word_of_the_page:AnyWord", "--mechanism-options", "epsilon=1")
    small = ("--dictionary", "words", "--words", 8, "--draws", 100_000)
    shown = sfumato_json("audit", capsys, *own, *small)
    assert (shown["verdict"], shown["epsilon_claimed"]) == ("consistent", 1.0)
    assert shown["checks"]["exact law"]["passed"]  # of the 8 words that were asked for
    assert sfumato("audit", "--dictionary", "words") == 2
    assert "--dictionary does not apply with --mechanism subset" in capsys.readouterr().err
    for option in (("--dictionary", "words"), ("--words", 8)):
        assert sfumato("audit", "--mechanism", "my_raising_code:Raises", *option) == 2
        assert f"{option[0]} " in (told := capsys.readouterr().err)
        assert "asks for no dictionary" in told
