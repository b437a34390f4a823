"""Decoys told from keypoints: bad decoys are caught, perfect ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sfumato.adversary.infer.decoys import area_under_curve, describe, learn_decoys
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import KeypointRelease, PlainRelease, WordRelease

SIZE = (300, 300)


def plain(points: NDArray[np.float64]) -> PlainRelease:
    return PlainRelease(
        keypoints=points.astype(np.float32),
        descriptors=np.zeros((len(points), 8), dtype=np.uint8),
        image_size=SIZE,
        extractor="sift",
    )


def made(seed: int, *, spread: float) -> tuple[KeypointRelease, NDArray[np.bool_]]:
    """Keypoints in tight clusters, decoys in clusters of this spread; the labels by row."""
    generator = np.random.default_rng(seed)
    points = np.zeros((0, 2))
    for width in (2.0, spread):
        centres = generator.uniform(20, 280, (30, 1, 2))
        cluster = centres + generator.normal(0, width, (30, 6, 2))
        points = np.concatenate([points, cluster.reshape(-1, 2)])
    points = np.clip(points, 0, 299)
    release = plain(points)
    decoys = {tuple(row) for row in plain(points[180:]).keypoints.tolist()}
    return release, np.array([tuple(row) in decoys for row in release.keypoints.tolist()])


def auc(spread: float) -> float:
    releases, labels = zip(*(made(seed, spread=spread) for seed in range(6)), strict=True)
    attack = learn_decoys(releases[:4], labels[:4])
    scores = np.concatenate([attack.scores(release) for release in releases[4:]])
    return area_under_curve(scores, np.concatenate(labels[4:]))


def test_decoys_with_another_spacing_are_told_apart() -> None:
    assert auc(40.0) > 0.85


def test_decoys_drawn_like_keypoints_are_not() -> None:
    assert 0.4 < auc(2.0) < 0.6


def test_common_words_give_decoys_away_where_positions_do_not() -> None:
    """Keypoints send words of one half of the dictionary, decoys all of them."""
    releases, labels = [], []
    for seed in range(6):
        generator = np.random.default_rng(seed)
        decoy = np.arange(400) % 2 == 1
        words = np.where(decoy, generator.integers(0, 64, 400), generator.integers(0, 32, 400))
        points = generator.uniform(0, 299, (400, 2))
        release = WordRelease(
            keypoints=points.astype(np.float32),
            words=words.astype(np.uint32)[:, None],
            num_words=64,
            dictionary="ab" * 32,
            epsilon=10.0,
            image_size=SIZE,
            extractor="sift",
        )
        places = {tuple(row) for row in plain(points[decoy]).keypoints.tolist()}
        releases.append(release)
        labels.append(np.array([tuple(row) in places for row in release.keypoints.tolist()]))
    results = []
    for use_words in (False, True):
        attack = learn_decoys(releases[:4], labels[:4], use_words=use_words)
        scores = np.concatenate([attack.scores(release) for release in releases[4:]])
        results.append(area_under_curve(scores, np.concatenate(labels[4:])))
    assert results[0] < 0.6
    assert results[1] > 0.7


def test_small_and_mislabelled_releases() -> None:
    empty = plain(np.zeros((0, 2)))
    attack = learn_decoys(*zip(*(made(seed, spread=40.0) for seed in range(2)), strict=True))
    assert attack.scores(empty).shape == (0,)
    assert attack.scores(plain(np.ones((1, 2)))).shape == (1,)
    assert np.isfinite(describe(plain(np.ones((3, 2))), None)).all()
    release, labels = made(0, spread=5.0)
    with pytest.raises(InvalidInput, match="one label for each"):
        learn_decoys([release], [labels[:5]])
    with pytest.raises(InvalidInput, match="both keypoints and decoys"):
        learn_decoys([release], [np.zeros(len(labels), dtype=bool)])
    with pytest.raises(InvalidInput, match="both"):
        area_under_curve(np.ones(3), np.ones(3, dtype=bool))
