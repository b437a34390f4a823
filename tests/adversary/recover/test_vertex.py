"""The vertex attack on real SIFT: exact, certified only where it is right, never by chance."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.recover import Recovered, vertex_attack
from sfumato.adversary.recover.base import check_kind
from sfumato.adversary.recover.choose_descriptor import Candidates, are_unrelated, chances
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SeededRandom
from sfumato.core.releases import SubspaceRelease
from sfumato.device.mechanisms.lifting import SubspaceLifting
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from support import one_of_each_release, photograph

EXACT = 1e-3


@cache
def sift(extractor: str = "sift") -> NDArray[Any]:
    """Descriptors of the astronaut, strongest first."""
    return extract(photograph(), extractor).descriptors


@cache
def other_sift() -> NDArray[np.uint8]:
    """Descriptors of another picture, for the database."""
    from skimage import data

    coffee: Any = data.coffee()  # type: ignore[no-untyped-call]
    return np.asarray(extract(np.asarray(coffee), "sift").descriptors)


@cache
def words(kind: str, extractor: str = "sift") -> Dictionary:
    """Averages as k-means makes them, the same rounded to bytes, or raw descriptors."""
    raw = other_sift()
    chosen: NDArray[Any] = raw[:560]
    if kind != "raw":
        chosen = (raw[:560].astype(np.float32) + raw[20:580] + raw[40:600]) / 3
    if kind == "bytes":
        chosen = np.rint(chosen).astype(np.uint8)
    if extractor == "rootsift":
        chosen = np.sqrt(chosen / chosen.sum(axis=1, keepdims=True)).astype(np.float32)
    return Dictionary.from_words(chosen, extractor=extractor)


def lifted(
    descriptors: NDArray[Any],
    dimension: int,
    *,
    strategy: str = "sub-hybrid",
    database: Dictionary | None = None,
    precision: str = "float32",
    extractor: str = "sift",
) -> SubspaceRelease:
    """A release whose rows are in the order of the descriptors."""
    lifting = SubspaceLifting(strategy, dimension, database or words("means", extractor))
    offsets, bases = lifting.lift(descriptors, SeededRandom(3))
    return made(offsets.astype(precision), bases.astype(precision), extractor)


def made(offsets: NDArray[Any], bases: NDArray[Any], extractor: str = "sift") -> SubspaceRelease:
    count = len(offsets)
    place = np.stack([np.arange(count) % 100, np.arange(count) // 100], axis=1) * 4.0
    return SubspaceRelease(
        offsets=offsets,
        bases=bases,
        keypoints=place.astype(np.float32),
        image_size=(640, 480),
        extractor=extractor,
    )


def errors(found: Recovered, descriptors: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(
        np.linalg.norm(found.descriptors - unit_vectors(descriptors, np.float32), axis=1)
    )


@pytest.mark.parametrize(("dimension", "count"), [(2, 200), (4, 200), (8, 80), (16, 16)])
@pytest.mark.parametrize("kind", ["means", "bytes"])
def test_sift_is_recovered_exactly_and_certified(dimension: int, count: int, kind: str) -> None:
    descriptors = sift()[:count]
    found = vertex_attack(lifted(descriptors, dimension, database=words(kind)))
    assert (errors(found, descriptors) < EXACT).mean() >= 0.99
    assert found.certified.mean() >= 0.95
    assert (found.confidence[found.certified] == 1).all()


@pytest.mark.parametrize("strategy", ["random", "adversarial", "hybrid", "sub-adversarial"])
def test_every_strategy_falls(strategy: str) -> None:
    descriptors = sift()[:40]
    found = vertex_attack(lifted(descriptors, 4, strategy=strategy))
    assert (errors(found, descriptors) < EXACT).all()
    assert found.certified.all()


@pytest.mark.parametrize("dimension", [2, 4])
def test_words_that_are_sift_themselves_are_never_certified(dimension: int) -> None:
    descriptors = sift()[:150]
    release = lifted(descriptors, dimension, database=words("raw"))
    found = vertex_attack(release)
    exact = errors(found, descriptors) < EXACT
    assert not found.certified.any()  # a word and the descriptor look alike in one subspace
    assert exact.mean() > 1.2 / (dimension // 2 + 1)  # but not in a picture
    # Whoever has the words can rule them out.
    informed = vertex_attack(release, database=words("raw"))
    assert (errors(informed, descriptors) < EXACT).all()
    assert informed.certified.all()


def test_altered_descriptors_are_not_certified() -> None:
    generator = np.random.default_rng(0)
    exact = unit_vectors(sift()[:60], np.float32)
    moved = exact + generator.normal(size=exact.shape).astype(np.float32) * 1e-3
    for dimension in (2, 4):
        found = vertex_attack(lifted(moved, dimension))
        assert not found.certified.any()
    # Here the only whole vector in each subspace is a word, and the same few come again.
    few = Dictionary.from_words(other_sift()[:32], extractor="sift")
    assert not vertex_attack(lifted(moved, 2, database=few)).certified.any()


def test_random_subspaces_are_never_certified() -> None:
    generator = np.random.default_rng(1)
    for dimension in (2, 8):
        bases = np.linalg.qr(generator.normal(size=(30, 128, dimension)))[0].transpose(0, 2, 1)
        offsets = generator.normal(size=(30, 128)) * 0.1
        found = vertex_attack(made(offsets.astype(np.float32), bases.astype(np.float32)))
        assert not found.certified.any()
        assert (found.confidence < 0.7).all()
        assert np.linalg.norm(found.descriptors, axis=1) == pytest.approx(1, abs=1e-5)


def test_rootsift_falls_by_its_squares() -> None:
    descriptors = sift("rootsift")[:60]
    found = vertex_attack(lifted(descriptors, 2, extractor="rootsift"))
    assert (errors(found, descriptors) < EXACT).all()
    assert found.certified.mean() >= 0.95


def test_half_precision_is_no_protection_in_few_dimensions() -> None:
    descriptors = sift()[:40]
    found = vertex_attack(lifted(descriptors, 2, precision="float16"))
    assert (errors(found, descriptors) < EXACT).mean() > 0.8
    assert not found.certified.any()


def test_zeros_give_away_what_is_on_no_lattice() -> None:
    """The same descriptors with every value bent: no whole numbers, but the same zeros."""
    bent = sift()[:60].astype(np.float32) ** 0.7
    release = lifted(bent, 2, strategy="random", extractor="bent")
    found = vertex_attack(release)
    assert (errors(found, bent) < EXACT).mean() > 0.7
    assert not found.certified.any()


def test_rows_do_not_depend_on_their_order_or_company() -> None:
    descriptors = sift()[:24]
    release = lifted(descriptors, 4)
    found = vertex_attack(release)
    order = np.random.default_rng(0).permutation(24)
    moved = vertex_attack(made(release.offsets[order], release.bases[order]))
    assert np.array_equal(moved.descriptors, found.descriptors[order])
    assert np.array_equal(moved.certified, found.certified[order])
    alone = vertex_attack(made(release.offsets[5:6], release.bases[5:6]))
    assert np.array_equal(alone.descriptors[0], found.descriptors[5])


def test_the_same_seed_gives_the_same_answer() -> None:
    release = lifted(sift()[:30], 4, database=words("raw"))
    assert vertex_attack(release, seed=7) == vertex_attack(release, seed=7)
    assert len(vertex_attack(release, seed=8)) == 30


def test_an_empty_release_gives_an_empty_answer() -> None:
    empty = made(np.zeros((0, 128), dtype=np.float32), np.zeros((0, 4, 128), dtype=np.float32))
    found = vertex_attack(empty)
    assert found.descriptors.shape == (0, 128)
    assert len(found.confidence) == len(found.certified) == 0


def test_other_kinds_of_release_are_refused_by_name() -> None:
    for name, release in one_of_each_release().items():
        if name.startswith("subspaces"):
            assert len(vertex_attack(release)) == 23
        else:
            with pytest.raises(InvalidInput, match=f"got one of {release.kind}"):
                vertex_attack(release)
    with pytest.raises(InvalidInput, match="ndarray"):
        check_kind(np.zeros(3), SubspaceRelease, "vertex")  # type: ignore[arg-type]


def test_a_database_of_another_extractor_is_refused() -> None:
    with pytest.raises(Mismatch):
        vertex_attack(lifted(sift()[:2], 2), database=words("means", "rootsift"))


def test_progress_is_told() -> None:
    told: list[int] = []
    vertex_attack(lifted(sift()[:20], 2), progress=lambda stage, done, total: told.append(done))
    assert told[-1] == 20


def test_chances_of_a_row_sum_to_one() -> None:
    vectors = other_sift()[:90].astype(np.int64)
    row = np.repeat(np.arange(30), 3)
    place = np.random.default_rng(0).random((30, 2)) * 100
    for context in (True, False):
        chance = chances(Candidates(vectors, row, place), context=context)
        assert np.add.reduceat(chance, np.arange(0, 90, 3)) == pytest.approx(1.0)
    assert not len(chances(Candidates(vectors[:0], row[:0], place), context=True))


def test_orientations_of_one_corner_look_alike_and_words_do_not() -> None:
    features = extract(photograph(), "sift")
    place = features.keypoints.astype(np.float64)
    whole = features.descriptors.astype(np.int64)
    assert not are_unrelated(whole, place)
    shuffled = np.random.default_rng(0).permutation(len(place))
    assert are_unrelated(whole, place[shuffled])
    assert not are_unrelated(whole[:3], place[:3])  # too few to say


def test_words_at_the_places_of_altered_descriptors_are_not_certified() -> None:
    """Every subspace then holds one whole vector, a word, and each word comes once."""
    features = extract(photograph(), "sift", max_keypoints=250)
    moved = unit_vectors(features.descriptors, np.float32)
    moved = moved + np.random.default_rng(0).normal(size=moved.shape).astype(np.float32) * 1e-3
    chosen = unit_vectors(np.random.default_rng(2).permutation(other_sift())[:250], np.float32)
    directions = np.random.default_rng(1).uniform(-1, 1, moved.shape)
    bases = np.linalg.qr(np.stack([chosen - moved, directions], axis=2))[0].transpose(0, 2, 1)
    release = SubspaceRelease(
        offsets=moved,
        bases=bases.astype(np.float32),
        keypoints=features.keypoints,
        image_size=features.image_size,
        extractor="sift",
    )
    found = vertex_attack(release)
    assert not found.certified.any()
    assert found.confidence.max() <= 0.5


def test_results_are_checked() -> None:
    found = Recovered(np.eye(3, dtype=np.float32), np.ones(3, dtype=np.float32))
    assert not found.certified.any()
    assert repr(found) == "Recovered(3 descriptors, 0 certified)"
    with pytest.raises(InvalidInput, match="confidence"):
        Recovered(np.eye(3, dtype=np.float32), np.full(3, 2, dtype=np.float32))


def test_dither_takes_away_what_the_attack_lives_on() -> None:
    truth = unit_vectors(sift()[:60], np.float32)
    lifting = SubspaceLifting("sub-hybrid", 4, words("means"), dither=0.1)
    offsets, bases = lifting.lift(sift()[:60], SeededRandom(3))
    found = vertex_attack(made(offsets.astype("float32"), bases.astype("float32")))
    assert not found.certified.any()
    assert np.linalg.norm(found.descriptors - truth, axis=1).min() > 0.1
