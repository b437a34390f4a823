"""Ours: SIFT beside learned extractors, raw and by words. `sfumato experiment extractors`.

Each extractor has words of its own, of the same pictures and as many. What is sent is the same
number of keypoints, so that ε and the picture's N·ε are the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.adversary.recover.clustering import clustering_attack
from sfumato.adversary.recover.database import database_attack
from sfumato.adversary.recover.nearest import nearest_attack
from sfumato.cli.options import CAMERA_SCALE
from sfumato.cli.own_code import find_extractor
from sfumato.cli.values import camera_scale as parse_camera_scale
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Features
from sfumato.datasets.hpatches import read_sequences
from sfumato.datasets.layouts.choose import read_layout
from sfumato.datasets.layouts.common import LayoutOptions
from sfumato.datasets.query_rule import QueryRule
from sfumato.datasets.scenes import open_scenes
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.features import extract, list_images
from sfumato.features.extractors import extractor_name
from sfumato.features.image import load_image
from sfumato.privacy.known_truth import NUM_SUB_DATABASES, lift_picture
from sfumato_papers.harness.options import Checked, option
from sfumato_papers.harness.outcomes import RecordFile
from sfumato_papers.harness.work import evenly, seed_of, show_progress, tracked
from sfumato_papers.ldp_feat.localization import run_localization
from sfumato_papers.ldp_feat.localization_settings import AUTO
from sfumato_papers.ldp_feat.localization_settings import Settings as LocalizationSettings
from sfumato_papers.ours import extractor_words as by_words

#: Distances of unit descriptors below which one is recovered, or nearly.
EXACT, CLOSE = 1e-3, 0.1
ATTACKS = ("nearest", "database", "clustering")
_ATTACKED = 100  # keypoints of a picture
_PUBLIC_KEYPOINTS = 500
_KEYS = ("kind", "extractor", "sequence", "picture", "projection", "columns", "attack")


@dataclass(frozen=True)
class Settings(Checked):
    """Extractors side by side: localization by words, why words agree or not, lifting attacks.

    Outcomes are written as they are made; the same command goes on where it was stopped. Releases
    are reproducible, not for sending.

    Example: sfumato experiment extractors --data strecha/fountain-P11 --extractor sift,net.onnx
    --dictionary sift-words,net-words --sequences oxford --public photos
    """

    data: tuple[Path, ...] = option(
        (), "A scene with known poses, to localize in; repeat for more.", repeat=True
    )
    camera_scale: float | None = option(1.0, CAMERA_SCALE, parse=parse_camera_scale, shown="1")
    extractors: tuple[str, ...] = option(
        ("sift",), "Names, or networks of `sfumato extractor export`; several.", "--extractor"
    )
    dictionaries: tuple[str, ...] = option(
        ("open-64k",), "The words of each extractor, in the same order.", "--dictionary"
    )
    hold_out: QueryRule = option(
        AUTO,
        "The queries: step:4, blocks:10/3 (every third block of ten) and others; auto: as the data "
        "set says, else step:4.",
        parse=QueryRule.parse,
        shown=str(AUTO),
    )
    epsilons: tuple[float, ...] = option(
        (12.0, 10.0, 8.0, 6.0), "ε per descriptor, several.", "--epsilon", epsilon=True
    )
    num_seeds: int = option(2, "Releases drawn of each query.", "--seeds", low=1)
    max_keypoints: int = option(1000, "The strongest of each query and picture.", low=4)
    sequences: Path | None = option(None, "Sequences with homographies: true pairs of keypoints.")
    num_others: int = option(3, "Pictures of each sequence besides the first.", "--others", low=1)
    public: Path | None = option(None, "Public pictures that projections are learned from.")
    num_public: int = option(70, "So many of them.", "--public-pictures", low=2)
    dimension: int = option(2, "m, of lifted descriptors.", low=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.extractors) != len(self.dictionaries):
            raise InvalidInput(
                f"every extractor has words of its own, {len(self.extractors)} extractors and "
                f"{len(self.dictionaries)} dictionaries are given."
            )
        if not self.data and self.sequences is None and self.extractors != ("sift",):
            raise InvalidInput("give --data with scenes, --sequences with pictures, or both.")
        if self.public is not None and self.sequences is None:
            raise InvalidInput("--public is for projections, which --sequences tests; give both.")


def run_extractors(settings: Settings, path: Path) -> None:
    """Everything that the files do not hold yet."""
    head = {"kind": "extractors", "format": 1, "max_keypoints": settings.max_keypoints}
    file = RecordFile(path, head, "outcomes of other settings", _KEYS)
    for text, words in zip(settings.extractors, settings.dictionaries, strict=True):
        extractor, dictionary = find_extractor(text), Dictionary.load(words)
        name = extractor_name(extractor)
        file.once(
            {"kind": "words", "extractor": name},
            lambda dictionary=dictionary: {  # type: ignore[misc]
                "num_words": dictionary.num_words,
                "dimension": dictionary.dimension,
                "fingerprint": dictionary.fingerprint,
            },
        )
        if settings.data:
            _localize(settings, extractor, Path(words).name, dictionary, path.parent / name)
        if settings.sequences is not None:
            pairs = _pairs(settings, extractor, dictionary, file)
            if settings.public is not None:
                _projections(settings, extractor, dictionary, file, pairs)


def _localize(
    settings: Settings, extractor: Any, words: str, dictionary: Dictionary, folder: Path
) -> None:
    options = LayoutOptions(camera_scale=settings.camera_scale)
    problem = open_scenes(
        [read_layout(scene, options=options) for scene in settings.data],
        folder,
        queries=settings.hold_out,
        extractor=extractor,
        progress=show_progress,
    )
    how = LocalizationSettings(
        data=settings.data,
        recipes=("sfumato",),
        dictionaries=(words,),
        epsilons=settings.epsilons,
        num_seeds=settings.num_seeds,
        max_keypoints=settings.max_keypoints,
        has_control=False,
    )
    run_localization(problem, {words: dictionary}, how, folder / "predictions.jsonl")


Pairs = list[tuple[by_words.Floats, by_words.Floats]]


def _pairs(settings: Settings, extractor: Any, dictionary: Dictionary, file: RecordFile) -> Pairs:
    """True pairs of every two pictures, with records of each; and lifts of the first ones."""
    found: Pairs = []
    if settings.sequences is None:
        return found
    for sequence in tracked(read_sequences(settings.sequences), "comparing pictures"):
        first = extract(sequence.first, extractor, max_keypoints=settings.max_keypoints)
        what = {"extractor": first.extractor, "sequence": sequence.name}
        for number, (picture, homography) in enumerate(sequence.others[: settings.num_others]):
            other = extract(picture, extractor, max_keypoints=settings.max_keypoints)
            here, there = by_words.true_pairs(first, other, homography)
            found.append((by_words.floats(first)[here], by_words.floats(other)[there]))
            key = {"kind": "pair", **what, "picture": number + 2}
            if not file.has(**key):
                file.add(key | by_words.pair_record(first, other, homography, dictionary))
        for attack in ATTACKS:
            key = {"kind": "lift", **what, "attack": attack}
            if not file.has(**key):
                file.add(key | _attacked(attack, first, dictionary, settings.dimension))
    return found


def _attacked(
    attack: str, features: Features, dictionary: Dictionary, dimension: int
) -> dict[str, Any]:
    """Sub-hybrid lifts of a picture, attacked by who knows the public words."""
    mechanism = SubspaceLifting("sub-hybrid", dimension, dictionary)
    lift = lift_picture(features, mechanism, _ATTACKED, seed_of("lift", features.extractor))
    if attack == "nearest":
        found = nearest_attack(lift.release, database=dictionary)
    elif attack == "database":
        found = database_attack(
            lift.release, database=dictionary, num_sub_databases=NUM_SUB_DATABASES
        )
    else:
        found = clustering_attack(
            lift.release,
            database=dictionary,
            others=[lift.rest],
            num_adversarial=mechanism.num_adversarial,
        )
    error = np.linalg.norm(found.descriptors - lift.truth, axis=1)
    return {
        "total": len(error),
        "exact": int((error < EXACT).sum()),
        "close": int((error < CLOSE).sum()),
        "median_error": float(np.median(error)) if len(error) else None,
    }


def _projections(
    settings: Settings, extractor: Any, dictionary: Dictionary, file: RecordFile, asked: Pairs
) -> None:
    """What is learned from public pictures, warped; nothing of the sequences is seen before."""
    name = extractor_name(extractor)
    if settings.public is None or file.has(kind="public", extractor=name):
        return
    names = evenly(list_images(settings.public), settings.num_public)
    public, here, there = [], [], []
    for number, one in enumerate(tracked(names, "warping public pictures")):
        picture = load_image(settings.public / one)
        moved, homography = by_words.warped(picture, seed_of("warped", number))
        first = extract(picture, extractor, max_keypoints=_PUBLIC_KEYPOINTS)
        second = extract(moved, extractor, max_keypoints=_PUBLIC_KEYPOINTS)
        rows, others = by_words.true_pairs(first, second, homography)
        public.append(first)
        here.append(by_words.floats(first)[rows])
        there.append(by_words.floats(second)[others])
    every = np.concatenate([by_words.floats(one) for one in public])
    learned = np.concatenate(here), np.concatenate(there)
    for record in by_words.projected_rates(every, learned, asked):
        file.add({"kind": "projection", "extractor": name, **record})
    used = np.concatenate([one.descriptors for one in public])
    file.add(
        {
            "kind": "public",
            "extractor": name,
            "pictures": len(names),
            "descriptors": len(every),
            "learned_pairs": len(learned[0]),
            "intrinsic_dimension": by_words.intrinsic_dimension(every),
            "words_in_use": by_words.words_in_use(dictionary, used),
        }
    )
