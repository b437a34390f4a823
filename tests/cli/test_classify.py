"""`sfumato classify` as a person uses them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from commands import sfumato, sfumato_json
from sfumato.core.releases import CodeRelease
from sfumato.core.streams import split_releases

PICTURES, LABELS = load_digits(return_X_y=True)
PICTURES = (PICTURES.reshape(-1, 8, 8) * 15).astype(np.uint8)
CODES = (PICTURES.reshape(-1, 64) > 100).astype(np.uint8)
TRAIN, TEST = slice(0, 1400), slice(1400, None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.save(tmp_path / "pictures.npy", PICTURES[TRAIN])
    np.save(tmp_path / "labels.npy", LABELS[TRAIN])
    np.save(tmp_path / "codes.npy", CODES[TRAIN])
    np.savez(tmp_path / "test.npz", codes=CODES[TEST], labels=LABELS[TEST])
    np.save(tmp_path / "asked.npy", PICTURES[TEST])
    np.save(tmp_path / "truth.npy", LABELS[TEST])
    np.save(tmp_path / "nan.npy", np.full((2, 8, 8), np.nan))
    return tmp_path


def releases(path: Path) -> list[CodeRelease]:
    found = [r for r in split_releases(path.read_bytes()) if isinstance(r, CodeRelease)]
    assert found
    return found


def protect(folder: Path, *words: object, output: str = "out.sfr") -> int:
    return sfumato("classify", "protect", folder / "codes.npy", "-o", folder / output, *words)


def test_codes_become_releases_train_a_classifier_and_predict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = sfumato_json(
        "classify protect", capsys, folder / "codes.npy", "--values", 2, "--epsilon", 2,
        "--labels", folder / "labels.npy", "-o", folder / "out.sfr",
    )  # fmt: skip
    assert (shown["epsilon_per_unit"], shown["epsilon_per_picture"]) == (2, 128)
    assert "the label of the picture" in shown["not_protected"]
    sent = releases(folder / "out.sfr")
    assert len(sent) == shown["pictures"] == 1400
    assert [release.label for release in sent] == LABELS[TRAIN].tolist()
    assert not any(release.reproducible for release in sent)
    assert sfumato("classify", "train", folder / "out.sfr", "-o", folder / "model.npz") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "epsilon per picture 128 at most" in text
    assert "the labels" in text
    found = sfumato_json(
        "classify", capsys, "predict", folder / "model.npz", folder / "test.npz",
        "--labels", folder / "truth.npy",
    )  # fmt: skip
    assert found["accuracy"] > 0.6
    assert len(found["classes"]) == len(LABELS[TEST])
    assert found["learnt_from"]["epsilon_per_picture"] == 128
    assert found["learnt_from"]["not_protected"]


def test_pictures_are_encoded_and_send_few_codes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("encoder", folder / "pictures.npy", "--kind", "orientations", "--margin", 1)
    made = sfumato_json("classify", capsys, *words, "-o", folder / "encoder.npz")
    assert made["map_shape"] == [1, 3, 3]
    assert made["values_per_code"] == 5
    shown = sfumato_json(
        "classify protect", capsys, folder / "pictures.npy", "--encoder", folder / "encoder.npz",
        "--epsilon", 3, "--send", 4, "-o", folder / "out.sfr",
    )  # fmt: skip
    assert (shown["codes_sent_per_picture"], shown["epsilon_per_picture"]) == (4, 12)
    assert {len(release) for release in releases(folder / "out.sfr")} == {4}
    trained = sfumato_json(
        "classify", capsys, "train", folder / "out.sfr", "--labels", folder / "labels.npy",
        "--spatial", 0.5, "--encoder", folder / "encoder.npz", "-o", folder / "model.npz",
    )  # fmt: skip
    assert trained["epsilon_per_picture"] == 12
    found = sfumato_json(
        "classify", capsys, "predict", folder / "model.npz", folder / "asked.npy", "--encoder",
        folder / "encoder.npz", "--labels", folder / "truth.npy", "-o", folder / "found.npy",
    )  # fmt: skip
    assert found["accuracy"] > 0.3
    assert float((np.load(folder / "found.npy") == LABELS[TEST]).mean()) == found["accuracy"]


def test_joined_codes_keep_a_total_and_are_learnt_from(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words: tuple[object, ...] = (
        "encoder",
        folder / "pictures.npy",
        "--orientations",
        8,
        "--join",
        4,
    )
    made = sfumato_json("classify", capsys, *words, "-o", folder / "encoder.npz")
    assert (made["encoder"], made["cells_per_code"], made["values_per_code"]) == ("joined", 4, 16)
    encoder = ("--encoder", folder / "encoder.npz")
    shown = sfumato_json(
        "classify protect", capsys, folder / "pictures.npy", *encoder, "--total-epsilon", 5,
        "--send", 1, "--labels", folder / "labels.npy", "-o", folder / "out.sfr",
    )  # fmt: skip
    assert (shown["epsilon_per_unit"], shown["epsilon_per_picture"]) == (5, 5)
    assert shown["exact_epsilon_per_picture"] <= 5
    assert shown["advantage_per_picture"] == pytest.approx((math.e**5 - 1) / (math.e**5 + 15))
    words = ("train", folder / "out.sfr", *encoder, "--spatial", 0.5)
    trained = sfumato_json("classify", capsys, *words, "-o", folder / "model.npz")
    assert trained["epsilon_per_picture"] == 5
    words = ("predict", folder / "model.npz", folder / "asked.npy", *encoder)
    found = sfumato_json("classify", capsys, *words, "--labels", folder / "truth.npy")
    assert found["accuracy"] > 0.5
    words = ("predict", folder / "model.npz", folder / "out.sfr", *encoder)
    assert len(sfumato_json("classify", capsys, *words)["classes"]) == 1400
    capsys.readouterr()
    assert sfumato("classify", "train", folder / "out.sfr", "-o", folder / "second.npz") == 2
    assert "--encoder FILE is needed" in capsys.readouterr().err
    assert sfumato("classify", "predict", folder / "model.npz", folder / "out.sfr") == 2
    assert "--encoder FILE is needed" in capsys.readouterr().err


def test_a_total_is_divided_among_the_codes_that_are_sent(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("classify", "protect", folder / "codes.npy", "--values", 2, "--total-epsilon", 4)
    assert sfumato(*words, "--explain") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "for one code, 6.88" in text
    assert "exactly, E = 4 except with probability 1e-06" in text
    assert "which of two pictures it was may be right at most" in text


def test_a_classifier_learns_on_and_judges_releases(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("--values", 2, "--labels", folder / "labels.npy")
    assert protect(folder, *common, "--epsilon", 1, "--send", 8) == 0
    assert protect(folder, *common, "--epsilon", 4, output="more.sfr") == 0
    assert sfumato("classify", "train", folder / "out.sfr", "-o", folder / "first.npz") == 0
    words = ("train", folder / "more.sfr", "--update", folder / "first.npz")
    capsys.readouterr()
    second = sfumato_json("classify", capsys, *words, "-o", folder / "second.npz")
    assert second["epsilon_per_code"] == [1, 4]
    assert second["epsilon_per_picture"] == 256
    found = sfumato_json(
        "classify", capsys, "predict", folder / "second.npz", folder / "more.sfr",
        "--labels", folder / "labels.npy",
    )  # fmt: skip
    assert found["accuracy"] > 0.6


def test_explain_draws_nothing_and_the_ledger_counts_every_picture(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = folder / "few.npy"
    np.save(few, CODES[:5])
    words = ("classify", "protect", few, "--values", 2, "--epsilon", 1, "--send", 1)
    before = set(folder.iterdir())
    assert sfumato(*words, "--explain") == 0
    assert set(folder.iterdir()) == before
    assert "ε = 1 for one code, 1 for a whole picture" in " ".join(capsys.readouterr().out.split())
    ledger = ("--ledger", folder / "ledger", "--cap", 7)
    assert sfumato(*words, *ledger, "-o", folder / "a.sfr") == 0
    assert sfumato(*words, *ledger, "-o", folder / "b.sfr") == 2
    assert "after 5 already spent; 2 is left" in capsys.readouterr().err
    assert not (folder / "b.sfr").exists()
    np.save(folder / "two.npy", CODES[:2])
    again = ("classify", "protect", folder / "two.npy", *words[3:])
    assert sfumato(*again, *ledger, "-o", folder / "c.sfr") == 0


PROTECT = "classify protect {codes.npy} -o {x}"
BAD = [
    (f"{PROTECT} --values 2", "--epsilon for each code, or --total-epsilon for a picture"),
    (f"{PROTECT} --values 2 --epsilon 1 --total-epsilon 1", "--total-epsilon"),
    (f"{PROTECT} --values 2 --total-epsilon 0", "total must be above 0"),
    (f"{PROTECT} --epsilon 1", "--values d is needed"),
    (f"{PROTECT} --epsilon 1 --values 1", "num_values"),
    (f"{PROTECT} --epsilon 0 --values 2", "epsilon"),
    (f"{PROTECT} --epsilon nan --values 2", "NaN"),
    (f"{PROTECT} --epsilon 1 --values 2 --send 65", "num_sent"),
    (f"{PROTECT} --epsilon 1 --values 2 --labels {{truth.npy}}", "for each of 1400"),
    (f"{PROTECT} --epsilon 1 --encoder {{codes.npy}}", "not a stored encoder"),
    (f"{PROTECT} --epsilon 1 --lift hybrid", "No such option: --lift"),
    ("classify protect {pictures.npy} --values 256 --epsilon 1 -o {x}", "give --encoder"),
    ("protect {codes.npy} --send 1 -o {x}", "No such option: --send"),
    ("classify protect {none} --values 2 --epsilon 1 -o {x}", "cannot be read"),
    ("classify train {codes.npy} -o {x}", "release 0 of the file"),
    ("classify train {none} -o {x}", "cannot be read"),
    ("classify train {codes.npy} -o {truth.npy}", "exists already"),
    ("classify predict {codes.npy} {codes.npy}", "not a stored classifier"),
    ("classify encoder {nan.npy} --kind orientations -o {x}", "NaN"),
    ("classify encoder {truth.npy} --kind orientations -o {x}", "array"),
    ("classify encoder {pictures.npy} --kind eye -o {x}", "encoder must be one of"),
    ("classify encoder {pictures.npy} --kind dcaconv -o {x}", "--labels FILE is needed"),
    ("classify encoder {pictures.npy} --kind orientations --margin 9 -o {x}", "no cell is left"),
    (
        "classify encoder {pictures.npy} --margin 1 -o {x}",
        "--margin applies only with --kind orientations",
    ),
]


@pytest.mark.parametrize(("words", "sentence"), BAD)
def test_bad_input_ends_with_one_sentence_and_no_file(
    folder: Path, words: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [folder / word.strip("{}") if word[0] == "{" else word for word in words.split()]
    before = set(folder.iterdir())
    assert sfumato(*given) == 2
    error = capsys.readouterr().err.strip()
    assert sentence in error
    assert len(error.splitlines()) == 1
    assert set(folder.iterdir()) == before


def test_releases_without_labels_and_of_other_encoders_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert protect(folder, "--values", 2, "--epsilon", 2) == 0
    assert sfumato("classify", "train", folder / "out.sfr", "-o", folder / "m.npz") == 2
    assert "carry no label" in capsys.readouterr().err
    data = (folder / "out.sfr").read_bytes()
    (folder / "torn.sfr").write_bytes(data[:-7])
    words = ("--labels", folder / "labels.npy", "-o", folder / "m.npz")
    assert sfumato("classify", "train", folder / "torn.sfr", *words) == 2
    assert "release 1399 of the file" in capsys.readouterr().err
    assert sfumato("classify", "train", folder / "out.sfr", *words) == 0
    encode = ("encoder", folder / "pictures.npy", "-o", folder / "e.npz")
    assert sfumato("classify", *encode, "--kind", "orientations") == 0
    asked = ("predict", folder / "m.npz", folder / "asked.npy", "--encoder", folder / "e.npz")
    assert sfumato("classify", *asked) == 2
    assert "same encoder" in capsys.readouterr().err


def test_neighbours_are_trained_stored_and_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert protect(folder, "--values", 2, "--epsilon", 3, "--labels", folder / "labels.npy") == 0
    capsys.readouterr()
    words = ("train", folder / "out.sfr", "--neighbours", 15, "-o", folder / "k.npz")
    assert sfumato("classify", *words) == 2
    assert "--neighbours applies only with --learner knn" in capsys.readouterr().err
    made = sfumato_json("classify", capsys, *words, "--learner", "knn")
    assert (made["learner"], made["epsilon_per_code"]) == ("knn", [3.0])
    found = sfumato_json(
        "classify", capsys, "predict", folder / "k.npz", folder / "test.npz",
        "--labels", folder / "truth.npy",
    )  # fmt: skip
    assert found["accuracy"] > 0.6
    assert found["learnt_from"]["epsilon_per_picture"] == 192
