"""The planner finds what localizes a wanted share, says what it costs and for whom it is meant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.cli.app import main
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.randomness import SeededRandom
from sfumato.dictionary import Dictionary
from sfumato.privacy.plan import plan
from sfumato.privacy.plan_grid import Grid
from sfumato.privacy.rehearsal import Question
from sfumato.privacy.stretches import ViewChange
from synthetic import DICTIONARY, MAPPING_POSES, make_map, make_room

NESTED = DICTIONARY.with_levels((64,))
WORLD = make_map(make_room(1500), MAPPING_POSES[:6])
SMALL = Grid(keypoints=(300, 150), subset_sizes=(1,), smallest=512)
ONE = Grid(keypoints=(300,), subset_sizes=(1,), smallest=512)


def test_the_share_wanted_is_reached_at_a_moderate_epsilon() -> None:
    made = plan(
        WORLD, NESTED, share=0.9, epsilons=(4.0, 10.0), num_trials=5, grid=ONE, rng=SeededRandom(1)
    )
    best = made.recommended
    assert best.is_fresh
    assert best.trials == 5
    assert best.share >= 0.6
    assert 4 <= best.epsilon < 9
    assert best.interval[0] <= best.share <= best.interval[1]
    assert best.price.total == pytest.approx(best.setting.max_keypoints * best.epsilon)
    assert best.price.picture <= best.price.total
    assert len(made.view_changes) == 5
    assert made.reaches is (best.share >= 0.9)
    assert not any(other.is_fresh for other in made.others)


def test_a_limit_on_the_price_holds_and_too_small_a_one_is_refused() -> None:
    made = plan(WORLD, NESTED, at_most=300.0, num_trials=2, grid=SMALL, rng=SeededRandom(2))
    assert made.recommended.price.picture <= 300
    assert made.share is None
    total = plan(
        WORLD, NESTED, unit="total", at_most=1300.0, epsilon=8.0, num_trials=2, grid=SMALL,
        rng=SeededRandom(2),
    )  # fmt: skip
    assert total.recommended.setting.max_keypoints == 150
    with pytest.raises(InvalidInput, match="no setting is as cheap as 1 per picture"):
        plan(WORLD, NESTED, at_most=1.0, num_trials=2, grid=SMALL)


def test_a_given_epsilon_is_kept_and_its_cheapest_setting_is_found() -> None:
    made = plan(WORLD, NESTED, epsilon=8.0, num_trials=2, grid=SMALL, rng=SeededRandom(3))
    assert made.recommended.epsilon == 8.0
    assert {other.epsilon for other in made.others} <= {8.0}
    poor = plan(WORLD, NESTED, epsilon=0.1, num_trials=2, grid=SMALL, rng=SeededRandom(3))
    assert poor.recommended.share == 0
    assert not poor.reaches


def test_devices_that_keep_few_are_planned_for_as_they_are() -> None:
    question = Question(hidden=0.25, seen_by=10)
    made = plan(
        WORLD, NESTED, epsilon=8.0, keep=60, question=question, num_trials=2, grid=ONE,
        unit="object", rng=SeededRandom(4),
    )  # fmt: skip
    assert made.recommended.setting.max_keypoints == 60
    assert made.recommended.price.seen_by == 10
    assert made.question.hidden == 0.25


def test_queries_may_be_stated_to_be_farther_away() -> None:
    near = plan(WORLD, NESTED, epsilon=9.0, num_trials=3, grid=ONE, rng=SeededRandom(5))
    far = plan(
        WORLD, NESTED, epsilon=9.0, num_trials=3, grid=ONE, rng=SeededRandom(5),
        question=Question(degrees=25.0),
    )  # fmt: skip

    def median(changes: tuple[ViewChange, ...]) -> float:
        return float(np.median([change.degrees for change in changes]))

    assert median(far.view_changes) > median(near.view_changes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 0.0}, "share must be above 0"),
        ({"share": 1.2}, "share must be above 0"),
        ({"share": float("nan")}, "share must be a number"),
        ({"at_most": -1.0}, "limit on the price per picture"),
        ({"unit": "object", "at_most": 2.0}, "at most 1"),
        ({"unit": "object"}, "needs the object"),
        ({"unit": "minute"}, "total, picture, object"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilons": (5.0, 4.0)}, "the least and the most"),
        ({"keep": 3}, "keep must be"),
        ({"num_trials": 0}, "num_trials"),
        ({"question": Question(hidden=1.0)}, "hidden must be"),
        ({"question": Question(max_distance=-1.0)}, "max_distance, within which .* above 0"),
        ({"question": Question(max_angle_deg=0.0)}, "max_angle_deg, within which .* above 0"),
        ({"question": Question(degrees=-3.0)}, "degrees must be"),
        ({"question": Question(seen_by=0)}, "seen_by"),
        ({"question": Question(object_size=(20, 20))}, "give the photographs"),
        ({"grid": Grid(keep_by=("stable",))}, "give the photographs"),
        ({"grid": Grid(keep_by=("luck",))}, "strength, spread, stable"),
    ],
)
def test_bad_questions_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        plan(WORLD, NESTED, **given)  # type: ignore[arg-type]


def test_dictionaries_must_fit_the_map() -> None:
    with pytest.raises(Mismatch, match="use one extractor"):
        plan(WORLD, [NESTED, Dictionary.load("bsds-16k")])
    with pytest.raises(InvalidInput, match="at least one dictionary"):
        plan(WORLD, [])


def test_the_command_recommends_with_unit_price_and_limits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    WORLD.save(tmp_path / "map")
    DICTIONARY.save(tmp_path / "words")
    NESTED.save(tmp_path / "more")
    arguments = ["plan", str(tmp_path / "map"), "--epsilon", "8", "--trials", "2", "--hidden", ".2"]
    arguments += ["--dictionary", f"{tmp_path / 'words'},{tmp_path / 'more'}", "--keep", "300"]
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--json"])
    assert stopped.value.code == 0
    shown = json.loads(capsys.readouterr().out)
    best = shown["recommended"]
    assert best["epsilon_per_descriptor"] == 8
    assert best["epsilon_per_picture"] == 2400
    assert 0 < best["exact_epsilon_per_picture"] <= 2400
    assert best["max_keypoints"] == 300
    assert best["dictionary"] in (str(tmp_path / "words"), str(tmp_path / "more"))
    assert shown["hidden_share"] == 0.2
    assert shown["meant_for"]["view_change_deg"] > 0
    assert shown["not_protected"]
    with pytest.raises(SystemExit):
        main([*arguments, "--seen-by", "10"])
    text = " ".join(capsys.readouterr().out.split())
    assert "ε = 8 per descriptor" in text
    assert "never more than N·ε = 2,400" in text
    assert "20% of each picture's keypoints" in text
    assert "seen by 10 descriptors" in text
    assert "not protected" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--object", "40x40"], "--photos"),
        (["--photos", "."], "--object"),
        (["--unit", "second"], "total, picture, object"),
        (["--object", "big", "--photos", "."], "WIDTHxHEIGHT"),
        (["--object", "4x4", "--photos", "nowhere"], "no folder of photographs"),
        (["--object", "4x4", "--photos", "."], "no photograph of that name"),
        (["--extractor", "sift"], "applies only with --photos"),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_sentence(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    WORLD.save(tmp_path / "map")
    DICTIONARY.save(tmp_path / "words")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["plan", "map", "--dictionary", "words", *options])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_photographs_of_a_map_by_an_extractor_of_others_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    WORLD.save(tmp_path / "map")
    DICTIONARY.save(tmp_path / "words")
    monkeypatch.chdir(tmp_path)
    for name in WORLD.image_names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"looked at later")
    with pytest.raises(SystemExit):
        main(["plan", "map", "--dictionary", "words", "--photos", ".", "--keep-by", "stable"])
    assert "give --extractor what describes the photographs" in capsys.readouterr().err
