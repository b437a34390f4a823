"""The clustering attack: other subspaces through the same words give the words away."""

from __future__ import annotations

import numpy as np
import pytest

from recoveries import PUBLIC, WORDS, errors, lifted
from sfumato.adversary.recover.clustering import clustering_attack, group, meeting_pairs
from sfumato.adversary.recover.database import neighbours_of
from sfumato.adversary.recover.geometry import database_points
from sfumato.core.errors import InvalidInput, Mismatch


def test_subspaces_meet_where_they_share_a_word_and_nowhere_else() -> None:
    case = lifted(dimension=4, count=60)
    near = neighbours_of(case.release, database_points(WORDS, case.release))
    words = [set(rows[mine]) for rows, mine in zip(near.rows, near.is_word, strict=True)]
    shared = {(a, b) for a in range(60) for b in range(60) if a != b and words[a] & words[b]}
    row, column = meeting_pairs(case.release, case.release, 1e-3)
    assert len(shared) > 20
    assert {(int(a), int(b)) for a, b in zip(row, column, strict=True)} == shared


def test_other_subspaces_with_the_same_words_make_it_stronger() -> None:
    features = 60
    alone = lifted(dimension=2, count=features)
    part_of = [lifted(dimension=2, count=300, seed=5, draw=draw).release for draw in range(6)]
    weak = clustering_attack(alone.release, database=PUBLIC)
    strong = clustering_attack(alone.release, database=PUBLIC, others=part_of)
    assert (errors(strong, alone.truth) < 0.2).mean() >= (errors(weak, alone.truth) < 0.2).mean()
    assert (errors(strong, alone.truth) < 0.2).mean() > 0.6


def test_groups_are_the_obvious_ones_and_need_no_luck() -> None:
    generator = np.random.default_rng(0)
    centres = np.eye(4) * 10
    points = np.concatenate([centres + 0.1 * generator.normal(size=(4, 4)) for _ in range(5)])
    label = group(points, 4)
    assert all(len(set(label[i::4])) == 1 for i in range(4))
    assert len(set(label)) == 4
    assert len(set(group(points[:2], 4))) == 2


def test_without_words_there_is_one_group() -> None:
    case = lifted("random", 4, count=10)
    found = clustering_attack(case.release, database=PUBLIC, num_adversarial=0)
    assert (errors(found, case.truth) < 0.7).mean() > 0.5


def test_lifts_of_another_extractor_or_kind_are_refused() -> None:
    from dataclasses import replace

    case = lifted(count=4)
    other = replace(case.release, extractor="rootsift")
    with pytest.raises(Mismatch, match="rootsift"):
        clustering_attack(case.release, database=PUBLIC, others=[other])
    with pytest.raises(InvalidInput, match="num_adversarial"):
        clustering_attack(case.release, database=PUBLIC, num_adversarial=9)
