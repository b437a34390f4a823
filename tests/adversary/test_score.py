"""One call says how well an attack did, whatever the order of the rows it answers for."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.adversary.score import Score
from sfumato.core.errors import InvalidInput, Mismatch
from support import features_of

WORDS = np.random.default_rng(2).integers(1, 256, (64, 128), dtype=np.uint8)
DICTIONARY = sf.Dictionary.from_words(WORDS, extractor="sift")
NOISE = np.random.default_rng(0).integers(0, 256, (256, 256), dtype=np.uint8)
FEATURES = sf.extract(NOISE, max_keypoints=40)


def everything(features: sf.Features) -> sf.attacks.Recovered:
    """An attack that knows the truth."""
    release = sf.Plain().release(features, rng=sf.SeededRandom(0))
    units = release.descriptors / np.linalg.norm(release.descriptors, axis=1, keepdims=True)
    sure = np.ones(len(units), dtype=np.float32)
    return sf.attacks.Recovered(units, sure, keypoints=release.keypoints)


def test_the_truth_scores_full_marks_although_rows_are_reordered() -> None:
    made = everything(FEATURES)
    assert not np.array_equal(made.keypoints, FEATURES.keypoints)
    got = sf.score(made, FEATURES, dictionary=DICTIONARY)
    assert (got.num_answers, got.coverage) == (40, 1.0)
    assert (got.exact, got.close, got.right_word) == (1.0, 1.0, 1.0)
    assert got.mean_distance == pytest.approx(0, abs=1e-6)
    assert got.mean_cosine == pytest.approx(1)


def test_keypoints_at_one_position_are_paired_at_their_best() -> None:
    same = FEATURES.take(np.arange(4))
    same = sf.Features(**{**vars(same), "keypoints": np.full((4, 2), 7.03)})
    assert sf.score(everything(same), same).exact == 1.0


def test_what_was_left_out_lowers_the_coverage_and_decoys_count_nowhere() -> None:
    half = everything(FEATURES.take(np.arange(20)))
    assert sf.score(half, FEATURES).coverage == 0.5
    assert sf.score(everything(FEATURES), FEATURES.take(np.arange(20))).num_answers == 20


def test_every_word_wrong_is_no_right_word() -> None:
    release = sf.Quantize(DICTIONARY).release(FEATURES, rng=sf.SeededRandom(0))
    words = sf.attacks.posterior(release, dictionary=DICTIONARY)
    right = sf.score(words, FEATURES, dictionary=DICTIONARY)
    assert right.right_word == 1.0
    assert right.exact < 1
    others = WORDS[(release.words[:, 0] + 1) % 64]
    wrong = sf.attacks.Recovered(
        others / np.linalg.norm(others, axis=1, keepdims=True),
        words.confidence,
        keypoints=release.keypoints,
    )
    assert sf.score(wrong, FEATURES, dictionary=DICTIONARY).right_word == 0.0


@pytest.mark.parametrize("name", ["nearest", "database", "clustering", "vertex", "repeats"])
def test_every_attack_on_subspaces_can_be_scored(name: str) -> None:
    lifting = sf.SubspaceLifting("hybrid", 2, DICTIONARY)
    one, two = (lifting.release(FEATURES, rng=sf.SeededRandom(seed)) for seed in (1, 2))
    if name == "repeats":
        made = sf.attacks.repeats([one, two])
    elif name == "vertex":
        made = sf.attacks.vertex(one)
    else:
        made = getattr(sf.attacks, name)(one, database=DICTIONARY)
    got = sf.score(made, FEATURES)
    assert got.num_answers == 40
    assert got.exact > 0.8 if name in ("repeats", "vertex") else got.mean_cosine > 0


def test_the_attacks_on_words_faces_and_inliers_can_be_scored() -> None:
    release = sf.SubsetMechanism(8.0, 2, DICTIONARY).release(FEATURES, rng=sf.SeededRandom(1))
    rows = np.arange(40)
    known = sf.attacks.inliers(
        release, rows=rows, matched=everything(FEATURES).descriptors, dictionary=DICTIONARY
    )
    assert sf.score(known, FEATURES).exact == 1.0
    face = FEATURES.take(np.arange(1))
    lifts = [
        sf.SubspaceLifting("random", 4).release(face, rng=sf.SeededRandom(seed)) for seed in (1, 2)
    ]
    assert sf.score(sf.attacks.history(lifts), face).exact == 1.0


def test_a_score_reads_well() -> None:
    shown = repr(Score(50, 0.5, 0.0123, 0.998, 0.9, 0.95, 0.75))
    assert shown == (
        "Score(50 answers for 50.0% of the keypoints: 90.0% exact, 95.0% close, mean distance "
        "0.012, mean cosine 0.998, right word 75.0%)"
    )


def test_what_cannot_be_compared_is_refused() -> None:
    made = everything(FEATURES)
    with pytest.raises(InvalidInput, match=r"keypoints=release\.keypoints"):
        sf.score(sf.attacks.Recovered(made.descriptors, made.confidence), FEATURES)
    with pytest.raises(Mismatch, match="128-D, the features 8-D"):
        sf.score(made, features_of(np.ones((3, 8), dtype=np.float32)))
    elsewhere = features_of(np.ones((3, 128), dtype=np.uint8), extractor="sift")
    with pytest.raises(Mismatch, match="none of the 40 answers"):
        sf.score(made, elsewhere)
    with pytest.raises(InvalidInput, match="keypoints must have shape"):
        sf.attacks.Recovered(made.descriptors, made.confidence, keypoints=made.keypoints[:3])
