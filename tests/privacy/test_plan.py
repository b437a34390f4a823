"""The planner tries settings on the map itself and says what each costs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.cli.app import main
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.dictionary import Dictionary
from sfumato.privacy.plan import Choice, Grid, image_features, plan, without_box
from support import tiny_dictionary
from synthetic import DICTIONARY, MAPPING_POSES, make_map, make_room

NESTED = DICTIONARY.nested((64,))
WORLD = make_map(make_room(1500), MAPPING_POSES[:6])


def test_a_generous_epsilon_localizes_and_a_tiny_one_does_not() -> None:
    every = Grid(keypoints=(0,))
    good = plan(WORLD, NESTED, epsilon=8.0, num_images=2, grid=every)
    assert good.recommended.share == 1
    assert good.choices == tuple(sorted(good.choices, key=lambda choice: -choice.share))
    sizes = {(choice.num_words, choice.subset_size) for choice in good.choices}
    assert sizes == {(64, 1), (64, 2), (512, 1), (512, 2)}
    poor = plan(WORLD, NESTED, epsilon=0.1, num_images=2, grid=Grid((0,), (1,), level_step=2))
    assert poor.recommended.share == 0
    assert {choice.num_words for choice in poor.choices} == {512}


def test_a_budget_per_picture_limits_the_keypoints() -> None:
    made = plan(WORLD, NESTED, epsilon=8.0, picture_epsilon=2400, num_images=1)
    assert {choice.max_keypoints for choice in made.choices} == {300}
    assert all(choice.picture_epsilon <= 2400 for choice in made.choices)


def test_devices_that_keep_few_are_planned_for_as_they_are() -> None:
    made = plan(WORLD, NESTED, epsilon=8.0, keep=60, hidden=0.25, num_images=1)
    assert {choice.max_keypoints for choice in made.choices} == {60}
    assert all(choice.picture_epsilon == 480 for choice in made.choices)
    assert made.hidden == 0.25
    with pytest.raises(InvalidInput, match="keep at most 12"):
        plan(WORLD, NESTED, epsilon=8.0, keep=60, picture_epsilon=100)
    with pytest.raises(InvalidInput, match="keep must be"):
        plan(WORLD, NESTED, epsilon=8.0, keep=3)
    for share in (1.0, -0.1, float("nan")):
        with pytest.raises(InvalidInput, match="hidden must be"):
            plan(WORLD, NESTED, epsilon=8.0, hidden=share)


def test_what_is_hidden_lies_together_and_is_the_share_asked_for() -> None:
    features = image_features(WORLD, 0)
    left = without_box(features, 0.3, rng=SeededRandom(4))
    gone = {tuple(point) for point in features.keypoints} - {tuple(p) for p in left.keypoints}
    assert len(features) - len(left) == int(0.3 * len(features))
    low, high = np.min([*gone], axis=0), np.max([*gone], axis=0)
    inside = ((left.keypoints > low) & (left.keypoints < high)).all(axis=1)
    assert inside.mean() < 0.1
    assert without_box(features, 0.0, rng=SeededRandom(4)) == features
    assert len(without_box(features.take(np.arange(0)), 0.9, rng=SeededRandom(4))) == 0


def test_intervals_hold_the_share() -> None:
    for localized in (0, 3, 10):
        low, high = Choice(64, 1, None, localized, 10, 0.0, 0.0, 0.0).interval
        assert 0 <= low <= localized / 10 <= high <= 1
        assert high - low > 0.2


def test_bad_questions_are_refused() -> None:
    with pytest.raises(Mismatch, match="use one extractor"):
        plan(WORLD, Dictionary.load("bsds-16k"), epsilon=8.0)
    with pytest.raises(InvalidInput, match="at least 4 keypoints"):
        plan(WORLD, tiny_dictionary(8, dimension=16), epsilon=8.0, picture_epsilon=10)
    with pytest.raises(InvalidInput, match="epsilon must be"):
        plan(WORLD, NESTED, epsilon=0)


def test_the_command_recommends_with_unit_and_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    WORLD.save(tmp_path / "map")
    DICTIONARY.save(tmp_path / "words")
    arguments = ["plan", str(tmp_path / "map"), "--epsilon", "8", "--images", "1"]
    arguments += ["--dictionary", str(tmp_path / "words"), "--picture-epsilon", "4000"]
    arguments += ["--keep", "300", "--hidden", "0.2"]
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--json"])
    assert stopped.value.code == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["epsilon_per_descriptor"] == 8
    assert shown["recommended"]["epsilon_per_picture"] <= 4000
    assert shown["recommended"]["max_keypoints"] == 300
    assert shown["hidden_share"] == 0.2
    assert shown["not_protected"]
    with pytest.raises(SystemExit):
        main(arguments)
    text = capsys.readouterr().out
    assert "ε = 8 per descriptor" in text
    assert "20% of each picture's keypoints hidden" in text
    assert "not protected" in text
