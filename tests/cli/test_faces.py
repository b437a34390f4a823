"""`sfumato faces`: from an embedding to a release that is charged once, and a comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from face_worlds import invented_people


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Embeddings of public people, of an enrolled face, the same person again, and another."""
    home = tmp_path_factory.mktemp("embeddings")
    vectors, _ = invented_people(num_people=30, num_pictures=6, dimension=64)
    np.save(home / "public.npy", vectors[:150])
    for name, row in (("enrolled", 150), ("again", 151), ("other", 170)):
        np.save(home / f"{name}.npy", vectors[row : row + 1])
    return home


def test_one_vector_one_epsilon_and_the_owner_is_recognised(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = tmp_path / "space.npz"
    words = ("space", folder / "public.npy", "--dimension", "32", "-o", space)
    told = sfumato_json("faces", capsys, *words)
    assert (told["public_faces"], told["numbers"], told["dimension"]) == (150, 64, 32)
    sent = tmp_path / "sent.sfr"
    ledger = ("--ledger", tmp_path / "ledger.db")
    told = sfumato_json(
        "faces", capsys, "protect", folder / "again.npy", "--epsilon", "24", "--space", space,
        "-o", sent, *ledger,
    )  # fmt: skip
    assert told["unit"] == "one vector"
    assert told["ledger"]["epsilon_spent"] == told["ledger"]["charged"] == 24
    assert sent.stat().st_size == told["bytes"] == 112
    scores = {
        name: sfumato_json(
            "faces", capsys, "verify", folder / f"{name}.npy", sent, "--space", space
        )["cosine"]
        for name in ("enrolled", "other")
    }
    assert scores["enrolled"] > 0.45 > scores["other"]
    assert sfumato("faces", "verify", sent, sent) == 0
    assert "1.000" in capsys.readouterr().out


def test_what_leaves_is_told_in_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("faces", "protect", folder / "again.npy", "--epsilon", "8", "--explain")
    assert sfumato(*words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "ε = 8 for the whole embedding" in shown
    assert "not protected" in shown
    assert "nothing was written" in shown


def test_bad_input_is_one_sentence(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    face, space, sent = folder / "again.npy", tmp_path / "space.npz", tmp_path / "sent.sfr"
    assert sfumato("faces", "space", folder / "public.npy", "-o", space) == 0
    made = ("faces", "protect", face, "--epsilon", "8", "--space", space, "-o", sent)
    assert sfumato(*made, "--no-ledger") == 0
    np.save(tmp_path / "short.npy", np.ones((1, 8)))
    np.save(tmp_path / "zero.npy", np.zeros((1, 64)))
    (tmp_path / "broken.sfr").write_bytes(sent.read_bytes()[:-9])
    capsys.readouterr()
    for words, sentence in (
        (("protect", face, "--epsilon", "0", "--explain"), "epsilon must be above 0"),
        (("protect", folder / "public.npy", "--epsilon", "8", "--explain"), "must hold one"),
        (("protect", tmp_path / "zero.npy", "--epsilon", "8", "--explain"), "must not be zero"),
        (
            ("protect", tmp_path / "short.npy", "--epsilon", "8", "--space", space, "--explain"),
            "takes vectors of 64 numbers",
        ),
        (("protect", face, "--epsilon", "8"), "give -o FILE"),
        (("protect", face, "--epsilon", "8", "-o", sent), "exists already"),
        (("space", folder / "public.npy", "--dimension", "65", "-o", tmp_path / "b.npz"), "65"),
        (("space", folder / "public.npy", "-o", tmp_path / "b.txt"), "must end in .npz"),
        (("verify", face, sent), "give its file with --space"),
        (("verify", face, tmp_path / "broken.sfr", "--space", space), "announces"),
        (("verify", face, face, "--space", space), "not a release"),
        (("verify", tmp_path / "short.npy", sent, "--space", space), "64 numbers"),
        (("verify", face, sent, "--space", tmp_path / "none.npz"), "cannot be read"),
        (("verify", face, sent, "--space", space, "--mirrored"), "--mirrored is for pictures"),
        (("verify", sent, sent, "--mirrored"), "--mirrored is for pictures"),
    ):
        assert sfumato("faces", *words) == 2, words
        shown = capsys.readouterr().err.strip()
        assert sentence in shown, shown
        assert len(shown.splitlines()) == 1
