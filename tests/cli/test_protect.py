"""`sfumato protect` and `sfumato audit` as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import sfumato
from sfumato.core.releases import PlainRelease, Release, WordRelease
from sfumato.features import extract, load_image


def test_a_photograph_is_written_as_a_release(
    photo: Path, words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.sfr"
    code = sfumato("protect", photo, "--epsilon", 10, "--dictionary", words, "-o", out, "--json")
    assert code == 0
    shown = json.loads(capsys.readouterr().out)
    release = Release.from_bytes(out.read_bytes())
    assert isinstance(release, WordRelease)
    assert shown["bytes"] == out.stat().st_size
    assert shown["keypoints"] == len(release)
    assert shown["epsilon_per_unit"] == 10
    assert shown["epsilon_per_picture"] == 10 * len(release)
    assert shown["unit"] == "one descriptor"
    assert shown["not_protected"]
    assert not release.reproducible


def test_explain_says_it_in_words_and_writes_nothing(
    photo: Path, words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(tmp_path.iterdir())
    assert sfumato("protect", photo, "--epsilon", 10, "--dictionary", words, "--explain") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for phrase in ("ε = 10 for one descriptor", "whole picture", "not protected", "256 public"):
        assert phrase in shown
    assert set(tmp_path.iterdir()) == before


def test_the_bundled_dictionary_is_the_default(
    photo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("protect", photo, "--epsilon", 10, "--explain", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["dictionary_words"] == 65_536
    assert shown["true_word_sent_probability"] == pytest.approx(0.2515, abs=1e-3)


def test_the_ledger_counts_and_refuses(
    photo: Path, words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["protect", photo, "--epsilon", 10, "--dictionary", words, "--keep", 20]
    common += ["--ledger", tmp_path / "ledger", "--cap", 300]
    assert sfumato(*common, "-o", tmp_path / "1.sfr") == 0
    assert "has spent ε = 200 on 1 picture; 100 left" in capsys.readouterr().out
    assert sfumato(*common, "-o", tmp_path / "2.sfr") == 2
    assert "Nothing was released" in capsys.readouterr().err
    assert not (tmp_path / "2.sfr").exists()


def test_a_release_is_never_drawn_again_over_itself(
    photo: Path, words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.sfr"
    common = ["protect", photo, "--epsilon", 10, "--dictionary", words, "-o", out]
    assert sfumato(*common) == 0
    data = out.read_bytes()
    assert sfumato(*common) == 2
    assert "send it again as it is" in capsys.readouterr().err
    assert out.read_bytes() == data


def test_a_camera_travels_with_the_release(photo: Path, words: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.sfr"
    common = ["protect", photo, "--epsilon", 10, "--dictionary", words, "-o", out]
    assert sfumato(*common, "--camera", "PINHOLE,300,300,128,128") == 0
    release = Release.from_bytes(out.read_bytes())
    assert isinstance(release, WordRelease)
    assert release.camera is not None
    assert release.camera.params == (300, 300, 128, 128)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--epsilon", "0", "--explain"], "epsilon must be above 0"),
        (["--epsilon", "-1", "--explain"], "epsilon must be above 0"),
        (["--epsilon", "nan", "--explain"], "epsilon must be a number"),
        (["--epsilon", "1e9", "--explain"], "use epsilon=inf"),
        (["--epsilon", "ten", "--explain"], "Invalid value"),
        (["--explain"], "give --epsilon"),
        (["--epsilon", "10"], "give -o FILE"),
        (["--epsilon", "10", "--subset-size", "0", "--explain"], "subset_size must be"),
        (["--epsilon", "10", "--subset-size", "256", "--explain"], "sending all 256 words"),
        (["--epsilon", "10", "--subset-size", "257", "--explain"], "subset_size must be"),
        (["--epsilon", "10", "--explain", "--cap", "5"], "--cap applies only with --output"),
        (["--epsilon", "10", "--explain", "--camera", "PINHOLE,a"], "camera must be"),
        (["--epsilon", "10", "--explain", "--keep", "-1"], "count must be"),
        (
            ["--epsilon", "10", "--explain", "--keep-by", "spread"],
            "--keep-by applies only with --keep",
        ),
        (["--epsilon", "10", "--explain", "--keep", "9", "--keep-by", "luck"], "kept by"),
    ],
)
def test_bad_input_ends_with_one_sentence(
    photo: Path,
    words: Path,
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sfumato("protect", photo, "--dictionary", words, *arguments) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert len(shown.err.strip().splitlines()) == 1
    assert not shown.out


def test_a_missing_picture_and_a_missing_dictionary_are_named(
    photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("protect", tmp_path / "no.jpg", "--epsilon", 10, "--explain") == 2
    assert "no.jpg" in capsys.readouterr().err
    assert sfumato("protect", photo, "--epsilon", 10, "--dictionary", "none", "--explain") == 2
    assert "none" in capsys.readouterr().err


def test_infinite_epsilon_says_that_nothing_is_hidden(
    photo: Path, words: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("protect", photo, "--epsilon", "inf", "--dictionary", words, "--explain") == 0
    assert "nothing is hidden" in " ".join(capsys.readouterr().out.split())


def test_the_audit_speaks_to_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert sfumato("audit", "--epsilon", 1, "--words", 8, "--subset-size", 2, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["verdict"] == "consistent"
    low, high = shown["epsilon_measured"]
    assert low <= 1 <= high
    assert shown["unit"] == "one descriptor"


def test_a_broken_mechanism_of_a_user_ends_with_exit_code_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of docs/audit.md, as it stands there."""
    page = Path(__file__).parents[2] / "docs" / "audit.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert sfumato("audit", "--mechanism", "mine:CoinFlip") == 1
    assert "verdict: broken" in capsys.readouterr().out


@pytest.mark.parametrize("mechanism", ["nothing", "mine.nowhere:X", "math:pi", "math:sqrt"])
def test_mechanisms_that_cannot_be_made_are_named(
    mechanism: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("audit", "--mechanism", mechanism) == 2
    assert mechanism.partition(":")[0] in capsys.readouterr().err


def test_a_lifted_photograph_shows_no_epsilon_anywhere(
    photo: Path, words: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.sfr"
    options = ("--lift", "sub-hybrid", "--dimension", 4, "--dictionary", words)
    kept = ("-o", out, "--explain", "--ledger", tmp_path / "ledger")
    assert sfumato("protect", photo, *options, *kept) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "a 4-dimensional subspace of 128 dimensions" in shown
    assert "guarantee none" in shown
    assert "1 of 1 pictures sent without a guarantee" in shown
    assert "ε" not in shown
    assert Release.from_bytes(out.read_bytes()).kind == "subspaces"


def test_a_raw_release_says_that_nothing_is_protected_and_is_counted(
    photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "raw.sfr"
    assert sfumato("protect", photo, "--raw", "-o", out, "--ledger", tmp_path / "ledger") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "NOTHING IS PROTECTED" in shown
    assert "guarantee none" in shown
    assert "1 of 1 pictures sent without a guarantee" in shown
    assert "ε" not in shown
    sent = Release.from_bytes(out.read_bytes())
    assert isinstance(sent, PlainRelease)
    features = extract(load_image(photo))
    assert sorted(map(bytes, sent.descriptors)) == sorted(map(bytes, features.descriptors))
    assert sfumato("protect", photo, "--raw", "--explain", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["private"], facts["epsilon_per_unit"]) == (False, None)
    assert facts["warning"].startswith("NOTHING IS PROTECTED")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "give --epsilon for words"),
        (("--raw", "--epsilon", 8), "--epsilon does not apply with --raw"),
        (("--raw", "--lift", "random"), "--lift does not apply with --raw"),
        (("--raw", "--words", 64), "--words does not apply with --raw"),
        (
            ("--raw", "--object-detector", "person"),
            "--object-detector does not apply with --raw",
        ),
        (("--epsilon", 8, "--lift", "random"), "--epsilon does not apply with --lift"),
        (("--epsilon", 8, "--dither", 0.1), "--dither applies only with --lift"),
        (("--lift", "random", "--subset-size", 1), "--subset-size applies only with --epsilon"),
    ],
)
def test_words_or_subspaces_but_not_both_and_not_neither(
    photo: Path,
    words: Path,
    options: tuple[object, ...],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert sfumato("protect", photo, "--dictionary", words, "--explain", *options) == 2
    assert sentence in capsys.readouterr().err


def test_an_audit_examines_answers_of_one_picture_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("audit", "--epsilon", 2, "--words", 32, "--draws", 20_000, "--json", "--together")
    assert sfumato(*asked, 10) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["verdict"] == "consistent"
    names = list(facts["checks"])
    assert names[-3:] == ["losses", "advantage", "independence"]
    assert sfumato(*asked, 17) == 2
    assert "different words" in capsys.readouterr().err


def test_an_object_is_counted_and_can_be_limited(
    photo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("protect", photo, "--epsilon", 5, "--object", "40x30", "--explain", "--json")
    assert sfumato(*asked) == 0
    free = json.loads(capsys.readouterr().out)
    assert sfumato(*asked, "--object-limit", 8) == 0
    capped = json.loads(capsys.readouterr().out)
    assert free["object_seen_by"] > capped["object_seen_by"] == 8
    assert free["keypoints"] > capped["keypoints"] > 8
    assert 1 > free["advantage_per_object"] > capped["advantage_per_object"] > 0
    assert free["exact_epsilon_per_picture"] < free["epsilon_per_picture"]


def test_an_object_of_a_lifted_release_is_refused(
    photo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("protect", photo, "--lift", "random", "--object", "9x9", "--explain") == 2
    assert "--object" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["80", "0x20", "axb", "nanx3", "-4x9"])
def test_an_object_that_has_no_size_is_refused(
    photo: Path, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("protect", photo, "--epsilon", 5, "--object", size, "--explain") == 2
    assert "object" in capsys.readouterr().err


def test_a_cap_on_the_exact_total_refuses_the_second_picture(
    photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--words", 16_384, "--subset-size", 2)
    ledger = ("--ledger", tmp_path / "l", "--cap-exact", 90)
    asked = ("protect", photo, "--epsilon", 5, *words, *ledger)
    assert sfumato(*asked, "-o", tmp_path / "a.sfr", "--json") == 0
    account = json.loads(capsys.readouterr().out)["ledger"]
    assert 45 < account["exact_epsilon_spent"] < 90
    assert sfumato(*asked, "-o", tmp_path / "b.sfr") == 2
    assert "E = 90 at δ" in capsys.readouterr().err
    assert not (tmp_path / "b.sfr").exists()
