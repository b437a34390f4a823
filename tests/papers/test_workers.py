"""Experiments give the same outcomes whether one process runs them or several."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from annotated import write_annotated
from commands import sfumato
from face_worlds import invented_people, pooling_model, write_people, write_utkface
from sequences import write_sequence
from server.mapping.worlds import write_scene
from sfumato.core.storage import write_file
from sfumato.dictionary import Dictionary
from support import photograph

Words = tuple[Any, ...]
SMALL = ("--dimension", "2", "--epsilon", "8", "--words", "16", "--seeds", "1", "--people", "3")


def street(folder: Path) -> Path:
    for number in range(3):
        picture = photograph()[60 * number : 60 * number + 200, :240]
        write_annotated(folder, f"p{number}", picture, [(61, 21, 120, 180)])
    return folder


def objects(folder: Path) -> Words:
    return "--data", street(folder / "street"), "--cap", "9,3", "--words", "4096"


def suppression(folder: Path) -> Words:
    words = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(words, extractor="sift").save(folder / "words")
    options = ("--dictionary", folder / "words", "--seeds", 1, "--max-keypoints", 200)
    return "--data", street(folder / "street"), *options


def matching(folder: Path) -> Words:
    for name in ("i_one", "v_two"):
        write_sequence(folder / "sequences" / name, layout="hpatches")
    options = ("--strategy", "random", "--dimension", 2, "--seeds", 1, "--max-keypoints", 150)
    return "--data", folder / "sequences", *options


def fewer(folder: Path) -> Words:
    scene = write_scene(folder / "scenes" / "wall", num_images=3)
    return "--data", scene.parent, "--extractor", "sift", "--keypoints", "200,40"


def verification_and_history(folder: Path) -> Words:
    vectors, identities = invented_people(num_people=34, num_pictures=5)
    file = write_people(folder / "people", identities, vectors)
    return "--data", folder / "people", "--embedder", file, *SMALL


def attributes(folder: Path) -> Words:
    write_utkface(folder / "utk")
    network = pooling_model(folder / "pool.onnx")
    options = ("--embedder", network, "--cropped", "--attribute", "gender", *SMALL)
    return "--data", folder / "utk", *options


def code_budget(folder: Path) -> Words:
    rows, labels = load_digits(return_X_y=True)
    pictures = np.zeros((1000, 28, 28), dtype=np.uint8)
    pictures[:, 2:26, 2:26] = np.kron(rows[:1000].reshape(-1, 8, 8), np.ones((3, 3))) * 15
    for part, chosen in (("train", slice(0, 800)), ("t10k", slice(800, 1000))):
        write_idx(folder / "digits" / f"{part}-images-idx3-ubyte", pictures[chosen])
        write_idx(folder / "digits" / f"{part}-labels-idx1-ubyte", labels[chosen].astype(np.uint8))
    return "--data", folder / "digits", "--total", "6", "--send", "8", "--join", "1", "--seeds", 1


def write_idx(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = np.array(array.shape, dtype=">u4").tobytes()
    write_file(path, bytes([0, 0, 8, array.ndim]) + shape + array.tobytes())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("objects", objects),
        ("suppression", suppression),
        ("matching", matching),
        ("fewer", fewer),
        ("faces", verification_and_history),
        ("faces", attributes),
        ("code-budget", code_budget),
    ],
)
def test_two_workers_find_what_one_process_finds(
    name: str, words: Callable[[Path], Words], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = words(tmp_path)
    for output, workers in (("alone", ()), ("together", ("--workers", 2))):
        assert sfumato("experiment", name, *given, *workers, "-o", tmp_path / output) == 0
    capsys.readouterr()
    alone, together = (outcomes(tmp_path / output) for output in ("alone", "together"))
    assert alone == together
    assert sum(map(len, alone.values())) > 3


def outcomes(folder: Path) -> dict[str, list[Any]]:
    """What an experiment wrote, without how long it took."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found[path.name] = [without_seconds(record) for record in records]
    return found


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if k != "seconds"}
    return [without_seconds(one) for one in value] if isinstance(value, list) else value
