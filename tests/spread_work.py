"""Long work in small: what must come out the same to the last bit wherever it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import sfumato as sf
from queries import NESTED, PROBLEM
from recoveries import PUBLIC, WORDS, crowded, worded
from server.mapping.worlds import write_scene
from sfumato.adversary.invert.crops import CropSource, Recipe, find_pictures
from sfumato.adversary.invert.data import DataOptions, PaintRecipe, View
from sfumato.adversary.invert.frames_data import FrameDataOptions, FrameRecipe
from sfumato.adversary.invert.sparse import MapOptions
from sfumato.classification import DebiasedNaiveBayes, PerturbedKNN
from sfumato.cli.attack_folder import attack_file
from sfumato.cli.attack_plans import Attacker
from sfumato.core.codes import Codes
from sfumato.core.randomness import SeededRandom
from sfumato.execution import current
from sfumato.features import extract_folder, list_feature_names, read_features
from sfumato.privacy.plan import plan
from sfumato.privacy.plan_grid import Grid
from sfumato.server.mapping import build_map_from_scenes
from sfumato_papers.harness.outcomes import read_records
from sfumato_papers.ldp_feat.inversion import painting as inversion
from sfumato_papers.ldp_feat.inversion.networks import Networks
from sfumato_papers.ldp_feat.inversion.outcomes import OutcomeFile, read_outcomes
from sfumato_papers.ldp_feat.inversion.releases import Judge, Releases, load_squares
from sfumato_papers.ldp_feat.localization import run_localization
from sfumato_papers.ldp_feat.localization_predictions import read_predictions
from sfumato_papers.ldp_feat.localization_settings import Settings
from sfumato_papers.ldp_feat.recovery import lifts as recovery
from synthetic import DICTIONARY, MAPPING_POSES, make_map, make_room


def digest(*arrays: Any) -> str:
    made = hashlib.sha256()
    for array in arrays:
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()


def write_pictures(folder: Path, count: int = 6) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        noise = np.random.default_rng(number).integers(0, 256, (30, 40), dtype=np.uint8)
        cv2.imwrite(str(folder / f"{number}.png"), cv2.resize(noise, (320, 240)))
    (folder / "broken.png").write_bytes(b"no picture")
    return folder


def build_words(folder: Path) -> Any:
    """Of an array: more than 1,024 words, so that there are levels."""
    rows = np.random.default_rng(0).normal(size=(20_000, 16)).astype(np.float32)
    made = sf.build_dictionary(rows, num_words=1100, iterations=3, extractor="mine")
    return made.fingerprint, digest(made.words)


def build_words_of_pictures(folder: Path) -> Any:
    """Of pictures, more descriptors than fit: a sample is drawn."""
    pictures = write_pictures(folder / "pictures")
    options: dict[str, Any] = {"num_words": 64, "iterations": 3, "memory_gb": 0.0005}
    made = sf.build_dictionary(pictures, output=folder / "words", **options)
    assert not (folder / "words.partial").exists()
    facts = made.manifest
    assert facts["descriptors_used"] < facts["descriptors_seen"]
    assert facts["unreadable_images"] == 1
    return made.fingerprint, digest(made.words), facts["single_image_words"]


def extract_pictures(folder: Path) -> Any:
    report = extract_folder(write_pictures(folder / "pictures"), folder / "features.h5")
    assert [name for name, _ in report.unreadable] == ["broken.png"]
    found = features_in(folder / "features.h5")
    assert len(found) == report.done == 6
    return found, report.keypoints


def features_in(file: Path) -> dict[str, str]:
    """A digest of the features of each picture."""
    found = {}
    for name in list_feature_names(file):
        one = read_features(file, name)
        found[name] = digest(one.keypoints, one.descriptors, one.scores, one.scales, one.angles)
    return found


def build_world(folder: Path) -> Any:
    world = build_map_from_scenes([write_scene(folder / "studio")])
    assert len(world.points) > 50
    return digest(world.points, world.point_of_feature, world.descriptors)


def make_plan(folder: Path) -> Any:
    made = plan(
        make_map(make_room(1500), MAPPING_POSES[:6]),
        DICTIONARY.with_levels((64,)),
        epsilon=8.0,
        num_trials=4,
        grid=Grid(keypoints=(300, 150), subset_sizes=(1,), smallest=512),
        rng=SeededRandom(3),
    )
    best = asdict(made.recommended)
    del best["seconds"]
    return best, made.num_trials


def predict(folder: Path) -> Any:
    """One experiment, with one outcome file."""
    path = folder / "predictions.jsonl"
    settings = Settings(epsilons=(8.0,), words=(512,), num_seeds=1, iterations=200)
    run_localization(PROBLEM, {"tiny": NESTED}, settings, path)
    found = [asdict(one) for one in read_predictions(path).predictions]
    for one in found:
        del one["seconds"]
    return found


def learn(folder: Path) -> Any:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (300, 12)).astype(np.uint8)
    codes = Codes(values=values, num_values=4, num_positions=12, epsilon=2.0)
    labels = rng.integers(0, 3, 300)
    bayes = DebiasedNaiveBayes().fit(codes, labels)
    nearest = PerturbedKNN(5).fit(codes, labels)
    asked = rng.integers(0, 4, (50, 12)).astype(np.uint8)
    return (
        digest(*bayes.counts_.tables.values()),
        bayes.predict(asked).tolist(),
        nearest.kneighbors(asked)[0].tolist(),
    )


def attack_many(folder: Path) -> Any:
    """Releases of a folder, one of which cannot be read."""
    for part in ("found", "rows"):
        (folder / part).mkdir(parents=True)
    WORDS.save(folder / "words")
    for number in range(3):
        data = worded(epsilon=6.0 + number)[0].to_bytes()
        (folder / f"{number}.sfr").write_bytes(data if number < 2 else data[:-1])
    attacker = Attacker(str(folder / "words"), str(folder / "words"))
    found = list(current().map(attack_file, sorted(folder.glob("*.sfr")), attacker, folder))
    for one in found:
        for row in one.get("attacks", ()):
            row.pop("seconds", None)
    assert ["error" in one for one in found] == [False, False, True]
    return found, [file_digest(folder / "found" / f"{number}.npz") for number in range(2)]


def attack_lifts(folder: Path) -> Any:
    settings = recovery.Settings(
        attacks=("nearest", "vertex"), dimensions=(2,), strategies=("sub-hybrid",), num_keypoints=5
    )
    pictures = {f"{seed}.png": crowded(40, seed) for seed in (1, 2)}
    path = folder / "recoveries.jsonl"
    file = recovery.open_results(path, pictures, WORDS, PUBLIC, settings)
    recovery.run_recover(pictures, WORDS, PUBLIC, settings, file)
    return [
        {name: value for name, value in record.items() if "seconds" not in name}
        for record in read_records(path)
    ]


def paint(folder: Path) -> Any:
    """By the shipped network, and in one colour."""
    settings = inversion.Settings(parts=("raw",), one_look=True, num_shown=0)
    pictures, _ = load_squares(write_pictures(folder / "pictures", 2), None)
    file = OutcomeFile(folder / "outcomes.jsonl", {})
    networks = Networks(folder / "networks", settings)
    releases = Releases(None, None, folder / "recovered")
    inversion.run_inversion(pictures, releases, networks, settings, Judge(), file)
    found = [asdict(one) for one in read_outcomes(file.path).outcomes]
    for one in found:
        del one["seconds"]
    assert len(found) == 4
    return found


def prepare_crops(folder: Path) -> Any:
    """What a device sends is part of the view, and cannot be handed to workers."""
    view = View(release=lambda features, seed: features)
    recipe = PaintRecipe(view, DataOptions(crop=64, variants=2), MapOptions(multiple=16))
    found, examples = _prepared(folder, recipe, 64)
    return found, digest(*(example.encoded.rows for example in examples))


def prepare_frame_crops(folder: Path) -> Any:
    options = FrameDataOptions(smallest=48, largest=64, variants=2, min_keypoints=5)
    found, examples = _prepared(folder, FrameRecipe(options, 6), 64)
    return found, digest(*(example.rows for example in examples))


def _prepared(folder: Path, recipe: Recipe[Any], side: int) -> tuple[dict[str, str], list[Any]]:
    """Digests of the crops that workers made, and the examples of training, which finds them."""
    pictures = find_pictures(write_pictures(folder / "pictures"), side)
    source = CropSource(pictures, recipe, 3, folder / "cache")
    made = source.prepare(2, 4)
    found = {path.name: file_digest(path) for path in (folder / "cache").iterdir()}
    assert 6 <= made == len(found)
    assert source.prepare(2, 4) == 0
    examples = [example for step in range(2) for example in source.batch(step, 4)]
    assert len([*(folder / "cache").iterdir()]) == made
    return found, examples


def file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


EVERY: tuple[Callable[[Path], Any], ...] = (
    build_words,
    build_words_of_pictures,
    extract_pictures,
    build_world,
    make_plan,
    predict,
    learn,
    attack_many,
    attack_lifts,
    paint,
    prepare_crops,
    prepare_frame_crops,
)
