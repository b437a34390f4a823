"""Every experiment, run small: its outcomes, its table and its JSON stay what they were.

`tables/NAME` holds what a run printed and wrote. To record anew after a change that is wanted:
RECORD=1 pytest tests/golden, then read the difference.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from annotated import write_annotated
from commands import sfumato
from face_worlds import invented_people, pooling_model, write_people, write_utkface
from sequences import write_sequence
from server.mapping.worlds import write_scene
from sfumato.dictionary import Dictionary
from support import photograph

TABLES = Path(__file__).parent / "tables"
Words = list[object]


def save(folder: Path, name: str, pixels: Any) -> None:
    folder.mkdir(exist_ok=True)
    Image.fromarray(np.ascontiguousarray(pixels)).save(folder / name)


def budget(folder: Path) -> Words:
    scene = write_scene(folder / "wall")
    return ["budget", "--data", scene, "--budget", "1500,3000", "--epsilon", "12,14", "--words",
            16384, "--seeds", 1]  # fmt: skip


def digits(folder: Path) -> Path:
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    pictures = np.kron(rows.reshape(-1, 8, 8), np.ones((2, 2))) * 15
    folder.mkdir()
    for split, part in (("train", slice(0, 160)), ("t10k", slice(700, 740))):
        for kind, array in (("images-idx3", pictures[part]), ("labels-idx1", labels[part])):
            head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
            data = head + array.astype(np.uint8).tobytes()
            (folder / f"{split}-{kind}-ubyte").write_bytes(data)
    return folder


def classification(folder: Path) -> Words:
    return ["classification", "--data", digits(folder / "digits"), "--epsilon", "1,inf",
            "--encoder", "dcaconv-2,pixels-16", "--seeds", 2]  # fmt: skip


def classification_chosen(folder: Path) -> Words:
    return ["classification", "--data", digits(folder / "digits"), "--recipe", "sfumato",
            "--epsilon", "2", "--seeds", 1]  # fmt: skip


def classification_whole(folder: Path) -> Words:
    return ["classification", "--data", digits(folder / "digits"), "--recipe", "whole",
            "--seeds", 1]  # fmt: skip


def faces(folder: Path) -> Words:
    vectors, identities = invented_people(num_people=24, num_pictures=5)
    file = write_people(folder / "people", identities, vectors)
    return ["faces", "--data", folder / "people", "--embedder", file, "--dimension", "2",
            "--epsilon", "8", "--words", "16", "--seeds", 1, "--people", 2, "--public-people", 8,
            "--folds", 4, "--pairs", 10]  # fmt: skip


def faces_attributes(folder: Path) -> Words:
    write_utkface(folder / "utk", 80)
    network = pooling_model(folder / "pool.onnx")
    return ["faces", "--data", folder / "utk", "--embedder", network, "--cropped", "--attribute",
            "gender", "--dimension", "2", "--epsilon", "8", "--words", "16",
            "--seeds", 1]  # fmt: skip


def fewer(folder: Path) -> Words:
    write_scene(folder / "scenes" / "wall", num_images=3)
    save(folder / "photos", "one.png", photograph()[:160, 100:260])
    return ["fewer", "--data", folder / "scenes", "--pictures", folder / "photos", "--extractor",
            "sift,freak", "--keypoints", "1000,200", "--keep-by", "strength,stable", "--protocol",
            "both,query", "--ransac"]  # fmt: skip


def frontier(folder: Path) -> Words:
    return ["frontier", "--data", write_scene(folder / "wall"), "--words", 16384, "--picture",
            "500,3000", "--object", "0.25", "--keep", "200", "--cap", "none", "--lift", "2",
            "--seeds", 1, "--attacked", 1, "--side", 96, "--dictionary", "bsds-16k"]  # fmt: skip


def inversion(folder: Path) -> Words:
    for number, left in enumerate((0, 200)):
        save(folder / "photos", f"{number}.png", photograph()[:256, left : left + 256])
    save(folder / "others", "one.png", photograph()[200:])
    save(folder / "strangers", "one.png", photograph()[100:])
    return ["inversion", "--pictures", folder / "photos", "--parts",
            "raw,lifting,affine,words,descriptors", "--database", folder / "others", "--public",
            folder / "strangers", "--words", 320, "--attack", "nearest,vertex,direct",
            "--dimension", "2", "--dictionary", "bsds-16k", "--levels", "1024", "--epsilon",
            "16,2", "--word-attack", "posterior", "--extractor", "sift,freak", "--one-look",
            "--threads", 1, "--show", 1]  # fmt: skip


def localization(folder: Path) -> Words:
    scenes = [write_scene(folder / "wall"), write_scene(folder / "attic", num_images=5)]
    return ["localization", "--data", *scenes, "--epsilon", "12", "--seeds", 1, "--lift", "2",
            "--words", "auto,4096", "--iterations", 200, "--matching",
            "vocabulary,nearest", "--dictionary", "bsds-16k"]  # fmt: skip


def matching(folder: Path) -> Words:
    write_sequence(folder / "sequences" / "v_one", layout="hpatches")
    return ["matching", "--data", folder / "sequences", "--strategy", "random,sub-hybrid",
            "--dimension", "2", "--seeds", 2, "--max-keypoints", 60]  # fmt: skip


def recover(folder: Path) -> Words:
    whole = photograph()
    for name, pixels in (("test", whole[:200, :200]), ("base", whole[:400]), ("pub", whole[200:])):
        save(folder / name, "one.png", pixels)
    scene = write_scene(folder / "wall", num_images=5)
    return ["recover", "--data", folder / "test", "--database", folder / "base", "--public",
            folder / "pub", "--words", 320, "--keypoints", 10, "--strategy", "random,sub-hybrid",
            "--dimension", 2, "--epsilon", "6,12", "--levels", 1024, "--subset-size", 2,
            "--scenes", scene]  # fmt: skip


def sfm(folder: Path) -> Words:
    # A scene that cannot be reconstructed: where it can, threads decide the last digits. The
    # record holds predictions of `--dimension 2 --epsilon 12,3` with raw descriptors.
    scene = write_scene(folder / "wall", num_images=3)
    return ["sfm", "--data", scene, "--dimension", "none", "--epsilon", "3", "--max-keypoints",
            400, "--no-raw"]  # fmt: skip


def suppression(folder: Path) -> Words:
    people = folder / "people"
    for number in range(4):
        part = photograph()[80 * number :, 60 * number :][:200, :240]
        write_annotated(people, f"p{number}", part, [(21, 31, 80, 150), (140, 40, 190, 160)])
    words = np.random.default_rng(0).integers(0, 256, (256, 128), dtype=np.uint8)
    Dictionary.from_words(words, extractor="sift").save(folder / "words")
    return ["suppression", "--data", people, "--dictionary", folder / "words", "--seeds", 1,
            "--max-keypoints", 200]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """make writes the data and names the command; files are the outcomes, by a pattern in the
    folder of the run; evaluated is what --evaluate is given there."""

    make: Callable[[Path], Words]
    files: tuple[str, ...] = ("outcomes.jsonl",)
    evaluated: str = "outcomes.jsonl"
    more: tuple[str, ...] = ()


CASES = [
    Case(budget, evaluated=".", more=("--all",)),
    Case(classification),
    Case(classification_chosen),
    Case(classification_whole),
    Case(faces, ("faces.jsonl",), "faces.jsonl"),
    Case(faces_attributes, ("faces.jsonl",), "faces.jsonl"),
    Case(fewer, ("outcomes.jsonl", "privacy.jsonl"), "."),
    Case(frontier, more=("--picture", "500,3000", "--object", "0.25")),
    Case(inversion),
    Case(localization, ("predictions.jsonl",), "predictions.jsonl", ("--all",)),
    Case(matching),
    Case(recover, ("recoveries.jsonl",), "recoveries.jsonl"),
    Case(sfm, ("predictions/*.json",), "predictions"),
    Case(suppression, ("outcomes.jsonl", "again.jsonl", "decoys.json"), "."),
]


@pytest.fixture(params=CASES, ids=lambda case: case.make.__name__)
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Case:
    """One experiment, in a world where nothing takes time and torch is not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "torch" else find(name)
    )
    found: Case = request.param
    return found


def golden(case: Case, name: str, text: str) -> str:
    """The record of this name, which is written first if it is to be made anew."""
    path = TABLES / case.make.__name__ / name
    if os.environ.get("RECORD"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


_MEASURED = re.compile(r"-?\d+\.\d{4,}(?:e-?\d+)?|-?\d\.\d+e-\d+")


def rounded(text: str) -> str:
    """Measured numbers to six digits."""
    return _MEASURED.sub(lambda found: f"{float(found.group()):.5e}", text)


def assert_alike(text: str, recorded: str) -> None:
    """The same but for the order of names and the last digits of what was measured.

    Threads and processors differ in those.
    """
    text, recorded = (
        "\n".join(json.dumps(json.loads(line), sort_keys=True) for line in one.splitlines())
        for one in (text, recorded)
    )
    assert _MEASURED.sub("#", text) == _MEASURED.sub("#", recorded)
    now, then = ([float(one) for one in _MEASURED.findall(t)] for t in (text, recorded))
    assert now == pytest.approx(then, rel=1e-3, abs=1e-4)


def test_a_small_run_writes_and_prints_what_it_did_before(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = case.make(tmp_path)
    out = tmp_path / "out"
    assert sfumato("experiment", name, *options, "-o", out) == 0
    shown = capsys.readouterr().out.replace(str(tmp_path), "FOLDER")
    for pattern in case.files:
        for file in sorted(out.glob(pattern)):
            text = file.read_text(encoding="utf-8")
            name = f"out/{file.relative_to(out)}"
            assert_alike(rounded(text), golden(case, name, rounded(text)))
    assert shown == golden(case, "run.txt", shown)


@pytest.mark.parametrize("kind", ["txt", "json"])
def test_recorded_outcomes_give_the_recorded_table(
    case: Case, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(TABLES / case.make.__name__ / "out", out)
    name = case.make.__name__.split("_")[0]
    options = (*case.more, *(("--json",) if kind == "json" else ()))
    assert sfumato("experiment", name, "--evaluate", out / case.evaluated, *options) == 0
    shown = capsys.readouterr().out.replace(str(tmp_path), "FOLDER")
    if kind == "json":
        shown = json.dumps(json.loads(shown), indent=1, ensure_ascii=False) + "\n"
    assert shown == golden(case, f"table.{kind}", shown)
