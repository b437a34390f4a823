"""The faces experiment from end to end, on invented people and pictures without faces."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from commands import sfumato, sfumato_json
from face_worlds import invented_people, pooling_model, write_people, write_utkface
from sfumato.core.errors import InvalidInput
from sfumato_papers.affine.faces.attributes import split_faces
from sfumato_papers.affine.faces.tables import report_lines

SMALL = ("--dimension", "2", "--epsilon", "8", "--words", "16", "--seeds", "1", "--people", "3")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    vectors, identities = invented_people(num_people=34, num_pictures=5)
    folder = tmp_path_factory.mktemp("faces") / "people"
    return folder, write_people(folder, identities, vectors)


def test_verification_and_history(
    people: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = people
    words = ("faces", "--data", folder, "--embedder", file, "-o", tmp_path / "out", *SMALL)
    told = sfumato_json("experiment", capsys, *words)
    rows = {(r["way"], r["strategy"]): r for r in told["verification"] if not r["source"]}
    assert rows["euclidean", ""]["accuracy"] > 0.97
    assert rows["p–s", "random"]["accuracy"] > 0.97
    assert rows["s–s memoised", "hybrid"]["accuracy"] > 0.97
    assert ("p–s", "hybrid+") not in rows  # nobody knows an attribute of these people
    assert {r["epsilon"] for r in told["verification"] if r["source"]} == {8.0, "inf"}
    assert all(r["epsilon"] is None for r in told["verification"] if r["strategy"])
    history = {(r["pictures"], r["way"], r.get("strategy")): r for r in told["history"]}
    assert history["one", "fresh", "random"]["recovered"]["2"] == 1.0
    assert history["one", "memoised", "random"]["recovered"] == dict.fromkeys("12345", 0.0)
    assert told["attributes"] == []
    assert {Path(plot).name for plot in told["plots"]} == {
        "faces-verification.png",
        "faces-history.png",
    }

    results = tmp_path / "out" / "faces.jsonl"
    whole = results.read_bytes()
    results.write_bytes(whole[: 2 * len(whole) // 3])  # killed while it wrote
    assert sfumato_json("experiment", capsys, *words)["verification"] == told["verification"]
    assert sorted(results.read_bytes().splitlines()) == sorted(whole.splitlines())
    assert sfumato("experiment", "faces", "--evaluate", results) == 0
    shown = capsys.readouterr().out
    assert "ε is per embedding" in shown
    assert "Not protected" in shown
    assert "Lifting gives no guarantee." in shown
    assert "hybrid+ is not in the table of verification" in shown.replace("\n", " ")
    vectors = {(r["way"], r["numbers"]): r for r in told["verification"] if r["numbers"]}
    assert set(vectors) == {("p–v", 32), ("v–v", 32)}
    assert vectors["p–v", 32]["accuracy"] > 0.8
    assert vectors["p–v", 32]["accuracy"] > vectors["v–v", 32]["accuracy"]


def test_other_embeddings_do_not_continue_a_file(
    people: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = people
    words = ("experiment", "faces", "--data", folder, *SMALL, "-o", tmp_path / "out")
    parts = ("--parts", "verification", "--strategy", "random")
    assert sfumato(*words, *parts, "--embedder", file) == 0
    with np.load(file) as stored:
        other = tmp_path / "other.npz"
        np.savez(other, names=stored["names"], embeddings=stored["embeddings"][::-1])
    assert sfumato(*words, *parts, "--embedder", other) == 2
    assert "results of other faces or embeddings" in capsys.readouterr().err


def test_pictures_without_an_embedding_are_counted_and_never_accepted(
    people: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = people
    with np.load(file) as stored:
        few = tmp_path / "few.npz"
        keep = np.arange(len(stored["names"])) % 5 > 0
        np.savez(few, names=stored["names"][keep], embeddings=stored["embeddings"][keep])
    told = sfumato_json(
        "experiment", capsys, "faces", "--data", folder, "--embedder", few, "-o",
        tmp_path / "out", "--parts", "verification", "--strategy", "random", *SMALL,
    )  # fmt: skip
    assert told["problem"]["found"] == 136
    assert told["problem"]["reasons"] == {"the file has no embedding of its name": 34}
    raw = told["verification"][0]
    assert raw["false_reject"] > 0.3  # two of five pairs miss a picture
    assert raw["false_accept"] < 0.05


def test_attributes_of_a_folder_in_utkface_layout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_utkface(tmp_path / "utk")
    network = pooling_model(tmp_path / "pool.onnx")
    words = ("faces", "--data", tmp_path / "utk", "--embedder", network, "--cropped", "-o",
             tmp_path / "out", "--attribute", "gender", *SMALL)  # fmt: skip
    told = sfumato_json("experiment", capsys, *words)
    assert told["problem"]["layout"] == "utkface"
    assert told["problem"]["found"] == 240
    rows = {
        (r.get("way"), r.get("strategy"), r["attack"]): r["accuracy"]
        for r in told["attributes"]
        if r.get("epsilon") != "inf"
    }
    guess = rows[None, None, "majority"]
    assert guess < 0.7
    assert rows["raw", None, "learned"] > 0.9
    assert rows["lifted", "random", "learned"] > 0.8
    assert rows["lifted", "hybrid+", "words"] == 1.0
    assert rows["lifted", "hybrid", "words"] == guess
    assert rows["vectors", None, "learned"] >= guess - 0.1
    assert told["history"] == told["verification"] == []
    assert sfumato("experiment", "faces", "--evaluate", tmp_path / "out" / "faces.jsonl") == 0
    assert "a quarter is public" in capsys.readouterr().out
    embeddings = (tmp_path / "out" / "embeddings.jsonl").read_text().splitlines()
    assert json.loads(embeddings[0])["cropped"] is True
    assert len(embeddings) == 241


def test_bad_input_is_one_sentence(
    people: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = people
    write_utkface(tmp_path / "utk", 20)
    ann = tmp_path / "listed"
    ann.mkdir()
    lines = [f"{i % 2} a/{i}.png b/{i}.png\n" for i in range(20)]
    (ann / "x_ann.txt").write_text("".join(lines))
    run = ("experiment", "faces", "-o", tmp_path / "out", "--embedder", file)
    for words, sentence in (
        ((), "give --data"),
        (("--data", tmp_path / "none"), "no folder of faces"),
        (("--data", folder, "--parts", "all"), "parts must be one of"),
        (("--data", folder, "--parts", "attributes"), "has no attributes"),
        (("--data", folder, "--strategy", "sub-hybrid"), "strategy must be one of"),
        (("--data", folder, "--epsilon", "0"), "epsilon must be above 0"),
        (("--data", folder, "--public-people", "34"), "somebody must be left"),
        (("--data", folder, "--at-most", "1"), "at-most must be at least 2"),
        (("--data", folder, "--vector-dimension", "33"), "no embedding has more numbers"),
        (("--data", folder, "--centre", "maybe"), "centre must be one of auto, yes, no"),
        (("--data", folder, "--public-people", "0"), "lifting needs public faces"),
        (("--data", folder, "--public-people", "20"), "at least 20 people"),
        (("--data", folder, "--embedder", "vgg"), "--embedder must be dlib or a file"),
        (("--data", tmp_path / "utk"), "no face was found in any picture"),
        (("--data", ann), "has its own pairs"),
        (("--data", ann, "--database", folder), "no face was found in any picture"),
        (("--evaluate", file), "not a file of predictions"),
    ):
        assert sfumato(*run, *words) == 2
        shown = capsys.readouterr().err.strip()
        assert sentence in shown
        assert len(shown.splitlines()) == 1


def test_files_that_are_named_otherwise_are_named_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_utkface(tmp_path / "utk")
    (tmp_path / "utk" / "61_1_20170109142408075.jpg").write_bytes(b"no race in its name")
    words = ("--data", tmp_path / "utk", "--embedder", "network.txt", "-o", tmp_path / "out")
    assert sfumato("experiment", "faces", *words) == 2
    assert "left out: 61_1_20170109142408075.jpg" in capsys.readouterr().err


def test_splits_need_enough_faces_of_two_values() -> None:
    vectors = np.random.default_rng(0).normal(size=(40, 8))
    with pytest.raises(InvalidInput, match="at least two values"):
        split_faces(vectors, ["a"] * 40, "tiny")
    with pytest.raises(InvalidInput, match="too few to be split in four"):
        split_faces(vectors, ["a"] * 39 + ["b"], "tiny")
    people = [f"p{i // 4}" for i in range(40)]
    split = split_faces(vectors, ["a", "b"] * 20, "tiny", identities=people)
    assert [len(part) for part in split.values] == [8, 8, 8, 16]


def test_an_empty_file_of_results_says_so(tmp_path: Path) -> None:
    head = {"data": "x", "layout": "lfw", "pictures": 1, "found": 1, "reasons": {},
            "embedder": "dlib", "dimension": 128, "public": 2}  # fmt: skip
    assert any("ε is per embedding" in str(line) for line in report_lines(head, []))
