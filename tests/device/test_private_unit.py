"""PrivUnit: every corner has one rank, the nearest come first, and odd vectors are refused."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.cube import corner_length, turn, turn_back
from sfumato.core.errors import InvalidInput, MalformedRelease, Mismatch, NotPrivate
from sfumato.core.odds import exp_bounds
from sfumato.core.randomness import SecureRandom, SeededRandom
from sfumato.core.vector_space import VectorSpace, vectors_as_features
from sfumato.device.mechanisms.cap_size import best_cap_bits, expected_accuracy, heads
from sfumato.device.mechanisms.corner_ranking import CornerRanking
from sfumato.device.mechanisms.private_unit import CornerSampler, as_weights
from sfumato.device.protect import send
from sfumato.privacy.law import output_law

GENERATOR = np.random.default_rng(3)


@pytest.mark.parametrize(
    "weights", [[1], [0], [3, -1, 2], [0, 0, 0], [5, 5, -5, 5], [-1, -2, -4, -8], [7, 0, -7, 1, 1]]
)
def test_every_corner_has_exactly_one_rank_and_the_nearest_come_first(weights: list[int]) -> None:
    ranking = CornerRanking(weights)
    corners = [ranking.corner(rank) for rank in range(1 << len(weights))]
    assert len({tuple(corner) for corner in corners}) == 1 << len(weights)
    assert [ranking.rank(corner) for corner in corners] == list(range(1 << len(weights)))
    products = (2 * np.array(corners) - 1) @ np.array(weights)
    assert (np.diff(products) <= 0).all()


@pytest.mark.parametrize("length", [64, 128, 512])
def test_ranks_and_corners_are_one_to_one_in_large_cubes(length: int) -> None:
    ranking = CornerRanking(GENERATOR.integers(-20, 21, length))
    for rank in (0, 1, 1 << (length - 9), (1 << length) - 1, int(GENERATOR.integers(1 << 60))):
        assert ranking.rank(ranking.corner(rank)) == rank
    with pytest.raises(InvalidInput, match="rank must be below"):
        ranking.corner(1 << length)


class _Inputs:
    """The sampler on a list of weights, as `output_law` drives it."""

    def __init__(self, sampler: CornerSampler, weights: Any) -> None:
        self.sampler, self.weights = sampler, np.asarray(weights)

    def draw(self, values: Any, source: Any) -> Any:
        return self.sampler.draw(self.weights[np.asarray(values, dtype=int)], source)


def test_the_law_of_the_shipped_sampler_is_that_of_the_proof() -> None:
    weights = [[4, 2, 1], [-4, -2, -1], [1, 1, 1], [0, 0, 5]]
    sampler = CornerSampler(1.3, 3, 1)
    laws = [output_law(_Inputs(sampler, weights), value) for value in range(4)]
    heads = sampler.coin.probability
    outside, inside = (1 - heads) / 8, (1 - heads) / 8 + heads / 4
    for law in laws:
        assert sum(law.values()) == 1
        assert sorted(law.values()) == [outside] * 4 + [inside] * 4
    assert exp_bounds(1.3)[0] * (1 - Fraction(1, 1 << 32)) < inside / outside <= exp_bounds(1.3)[0]


@pytest.mark.parametrize(("epsilon", "at_least"), [(4, 0.09), (8, 0.19), (10, 0.23), (16, 0.33)])
def test_answers_point_where_privunit_of_the_sphere_does(epsilon: float, at_least: float) -> None:
    """Of the sphere's mechanism the mean cosine at n = 128 is .13/.24/.28/.39."""
    vectors = GENERATOR.normal(size=(40, 128))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    mechanism = sf.PrivUnit(epsilon, 128, aim="mean")
    cosines = [
        float(mechanism.send(vector[None], rng=SeededRandom(i)).directions()[0] @ vector)
        for i, vector in enumerate(units)
    ]
    assert np.mean(cosines) > at_least


def test_sparse_vectors_are_no_exception() -> None:
    """A vector along one axis: without the turn, all answers but one sign would be noise."""
    vector = np.eye(128)[:1]
    found = [
        sf.PrivUnit(16, 128).send(vector, rng=SeededRandom(i)).directions()[0, 0] for i in range(40)
    ]
    assert np.mean(found) > 0.3


@pytest.mark.parametrize("dimension", [2, 3, 100, 128, 1000])
def test_turning_keeps_lengths_and_can_be_undone(dimension: int) -> None:
    vectors = GENERATOR.normal(size=(4, dimension))
    turned = turn(vectors)
    assert turned.shape == (4, corner_length(dimension))
    assert np.linalg.norm(turned, axis=1) == pytest.approx(np.linalg.norm(vectors, axis=1))
    assert turn_back(turned, dimension) == pytest.approx(vectors)


def test_the_turn_never_changes_because_old_releases_are_read_with_it() -> None:
    signs = np.sign(turn(np.arange(1, 17.0)[None])).astype(int).tolist()[0]
    assert signs == [1, -1, -1, -1, 1, -1, -1, 1, 1, 1, -1, 1, 1, 1, -1, 1]


def test_weights_do_not_depend_on_the_length_of_a_vector() -> None:
    vector = GENERATOR.normal(size=(1, 32))
    for scale in (1e-30, 1e-3, 1e30):
        assert np.array_equal(as_weights(vector * scale), as_weights(vector))
    assert np.abs(as_weights(vector)).mean() == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e9, "1"])
def test_epsilon_out_of_range_is_refused(epsilon: Any) -> None:
    with pytest.raises(InvalidInput, match="epsilon must be"):
        sf.PrivUnit(epsilon, 128)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "needs the dimension of its vectors, or a space"),
        ({"dimension": 1}, "dimension must be between 2 and 1024, got 1"),
        ({"dimension": 4096}, "project longer vectors first"),
        ({"dimension": 32, "aim": "best"}, "aim must be one of match, mean"),
        ({"dimension": 32, "cap_bits": 0}, "cap_bits must be between 1 and 32"),
        ({"dimension": 32, "cap_bits": 33}, "cap_bits must be between 1 and 32"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        sf.PrivUnit(8, **options)


def test_vectors_without_a_direction_are_refused_before_anything_is_drawn() -> None:
    mechanism = sf.PrivUnit(8, 4)
    with pytest.raises(InvalidInput, match="must not be zero, 1 of 2 are"):
        mechanism.send(np.array([[0.0, 0, 0, 0], [1, 2, 3, 4]]), rng=SecureRandom())
    with pytest.raises(InvalidInput, match="NaN or infinite"):
        mechanism.send(np.array([[math.nan, 0, 0, 0]]), rng=SecureRandom())
    with pytest.raises(Mismatch, match="takes vectors of 4 numbers, got 5"):
        mechanism.send(np.ones((1, 5)), rng=SecureRandom())


def test_the_cap_serves_its_aim() -> None:
    assert [best_cap_bits(e) for e in (0.1, 4, 6, 8, 10, 16, 64)] == [1, 4, 5, 7, 9, 16, 62]
    assert [best_cap_bits(e, "mean") for e in (4, 6, 8, 10, 16)] == [4, 6, 8, 11, 19]


@pytest.mark.parametrize(("epsilon", "bits"), [(4.0, 4), (8.0, 7), (16.0, 16)])
def test_the_expected_accuracy_is_what_vectors_of_many_dimensions_show(
    epsilon: float, bits: int
) -> None:
    """One of 20,000 normal products is within .02 of its law but once in a million runs."""
    drawn = np.random.default_rng(5)
    count = 20_000
    alike, unrelated = drawn.normal(size=(2, count))
    level = NormalDist().inv_cdf(1 - 2.0**-bits)
    inside = np.array([NormalDist().inv_cdf(1 - 2.0**-bits * u) for u in 1 - drawn.random(count)])
    favoured = drawn.random(count) < heads(epsilon, bits)
    sent = np.where(favoured, inside, drawn.normal(size=count))
    assert inside.min() >= level - 1e-9
    same = 0.85 * sent + math.sqrt(1 - 0.85**2) * alike
    thresholds = np.linspace(0, 4, 81)[:, None]
    right = ((same > thresholds).mean(axis=1) + (unrelated <= thresholds).mean(axis=1)) / 2
    assert right.max() == pytest.approx(expected_accuracy(epsilon, bits), abs=0.02)


def test_one_vector_costs_one_epsilon_and_two_cost_two() -> None:
    mechanism = sf.PrivUnit(8, 32)
    event = mechanism.event(vectors_as_features(np.ones((2, 32)), "mine"))
    assert (event.epsilon, event.num_units, event.unit) == (8.0, 2, "one vector")
    assert event.composition is not None
    assert event.composition == sf.compose(mechanism, 2)
    assert event.composition.largest == 16.0


class TestSpace:
    PUBLIC = GENERATOR.normal(size=(60, 16)) * np.arange(16, 0, -1) + 5

    def test_it_is_applied_first_and_named_in_the_release(self, tmp_path: Any) -> None:
        space = VectorSpace.fit(self.PUBLIC, 8, extractor="mine")
        space.save(tmp_path / "space.npz")
        again = VectorSpace.load(tmp_path / "space.npz")
        assert again == space
        assert again.fingerprint == space.fingerprint
        mechanism = sf.PrivUnit(8, space=space)
        release = mechanism.send(self.PUBLIC[:1], rng=SecureRandom(), embedder="mine")
        assert release.space == space.fingerprint
        assert release.directions().shape == (1, 8)
        with pytest.raises(Mismatch, match="use one extractor"):
            mechanism.send(self.PUBLIC[:1], rng=SecureRandom(), embedder="other")

    def test_the_directions_are_those_in_which_public_vectors_differ(self) -> None:
        space = VectorSpace.fit(self.PUBLIC, 4, extractor="mine")
        kept = (space.projection[:, :6] ** 2).sum() / 4
        assert kept > 0.8
        whole = VectorSpace.fit(self.PUBLIC, extractor="mine")
        assert whole.dimension == 16
        both = VectorSpace.fit(self.PUBLIC[:3], 8, extractor="mine", further=self.PUBLIC)
        assert both.mean == pytest.approx(VectorSpace.fit(self.PUBLIC[:3], extractor="mine").mean)

    @pytest.mark.parametrize(
        ("public", "dimension", "sentence"),
        [
            (np.ones((1, 4)), 2, "at least two public vectors"),
            (np.zeros((3, 4)), 2, "none of them zero"),
            (np.full((3, 4), np.nan), 2, "NaN or infinite"),
            (np.eye(4)[:3], 4, None),
            (np.eye(9)[:3], 8, "dimension must be between 2 and 3, got 8"),
        ],
    )
    def test_public_vectors_that_fit_no_space_are_refused(
        self, public: Any, dimension: int, sentence: str | None
    ) -> None:
        if sentence is None:
            assert VectorSpace.fit(public, dimension, extractor="mine").dimension == dimension
            return
        with pytest.raises(InvalidInput, match=sentence):
            VectorSpace.fit(public, dimension, extractor="mine")

    def test_a_damaged_or_foreign_file_is_refused(self, tmp_path: Any) -> None:
        np.savez(tmp_path / "other.npz", mean=np.zeros(4))
        with pytest.raises(sf.SfumatoError, match="not a space of vectors"):
            VectorSpace.load(tmp_path / "other.npz")
        np.savez(tmp_path / "bent.npz", mean=np.zeros(4), projection=np.ones((2, 4)), extractor="a")
        with pytest.raises(InvalidInput, match="orthonormal"):
            VectorSpace.load(tmp_path / "bent.npz")


def test_a_header_with_an_impossible_dimension_is_refused_before_anything_is_allocated() -> None:
    data = bytearray(sf.PrivUnit(8, 16).send(np.ones((1, 16)), rng=SecureRandom()).to_bytes())
    data[20:24] = (1 << 31).to_bytes(4, "little")
    with pytest.raises(MalformedRelease, match="dimension must be between"):
        sf.Release.from_bytes(bytes(data))


def test_a_release_with_another_cap_than_announced_is_refused() -> None:
    class Larger(sf.PrivUnit):
        def release(self, features: Any, **options: Any) -> Any:
            return sf.PrivUnit(self.epsilon, self.dimension, cap_bits=1).release(
                features, **options
            )

    features = vectors_as_features(np.ones((1, 16)), "mine")
    with pytest.raises(NotPrivate, match="announced 128 caps and released with 2\\^1"):
        send(features, Larger(8, 16), rng=SecureRandom())
