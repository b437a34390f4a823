"""Settings race in a world where it is known which ε each of them needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from sfumato.core.accounting import PrivateAnswer
from sfumato.core.progress import silent
from sfumato.privacy.price import Price, price_of
from sfumato.privacy.race import EPSILONS, STEP, Race, settle
from sfumato.privacy.rehearsal import Setting, Trial

MANY = Setting(0, 16_384, 1, 1000)
FEW = Setting(0, 16_384, 1, 300)
TWO_WORDS = Setting(0, 16_384, 2, 300)
SMALL = Setting(0, 1024, 1, 300)


@dataclass
class KnownWorld:
    """Every image is localized from the ε on that its setting needs; nothing is drawn.

    hopeless  whether no ε localizes every second image
    """

    needs: dict[Setting, float]
    hopeless: bool = False
    images: list[int] = field(default_factory=lambda: list(range(20)))
    asked: int = 0

    def price(self, setting: Setting, epsilon: float) -> Price:
        answer = PrivateAnswer(epsilon, setting.num_words, setting.subset_size)
        return price_of(answer, setting.max_keypoints, 10)

    def run_all(self, wanted: Iterable[tuple[Setting, float, int]]) -> Iterator[Trial]:
        return (self._run(*one) for one in wanted)

    def _run(self, setting: Setting, epsilon: float, image: int) -> Trial:
        self.asked += 1
        good = epsilon >= self.needs[setting] and (image % 2 == 0 or not self.hopeless)
        return Trial(image, good, epsilon - self.needs[setting], 4, 4, 0.0)


def race_of(world: KnownWorld, unit: str = "picture", epsilon: float | None = None) -> Race:
    pretended: Any = world
    return Race(pretended, list(world.needs), unit, epsilon, EPSILONS, silent)


@pytest.mark.parametrize(
    ("unit", "needs", "expected"),
    [
        ("picture", {MANY: 6.0, FEW: 9.0, TWO_WORDS: 8.8, SMALL: 7.0}, MANY),
        ("total", {MANY: 6.0, FEW: 9.0, TWO_WORDS: 9.4, SMALL: 9.4}, FEW),
        ("object", {MANY: 6.0, FEW: 8.0, TWO_WORDS: 8.0, SMALL: 7.0}, MANY),
        ("picture", {MANY: 15.0, FEW: 15.0, TWO_WORDS: 15.0, SMALL: 4.0}, SMALL),
    ],
)
def test_the_cheapest_setting_in_each_unit_is_found(
    unit: str, needs: dict[Setting, float], expected: Setting
) -> None:
    world = KnownWorld(needs)
    race = race_of(world, unit)
    found, target = race.cheapest(0.9, None)
    assert target == 0.9
    costs = {one: world.price(one, epsilon).in_unit(unit) for one, epsilon in needs.items()}
    assert min(costs, key=lambda one: costs[one]) == expected == found[0]
    assert found[1] >= needs[expected]
    # Within what one rung of the ladder costs more than the least.
    assert race.price(found) <= 1.5 * costs[expected]


def test_few_settings_are_tried_on_all_images() -> None:
    needs = {Setting(0, 16_384, 1, 100 + i): 6.0 + i / 10 for i in range(40)}
    world = KnownWorld(needs)
    race_of(world).cheapest(0.9, None)
    assert world.asked < 2 * 40 * 20  # one ε on a full grid takes half of it


def test_where_no_price_reaches_the_share_nearly_the_best_is_had_for_less() -> None:
    world = KnownWorld({MANY: 6.0, FEW: 9.0}, hopeless=True)
    race = race_of(world)
    found, target = race.cheapest(0.9, None)
    assert target == pytest.approx(0.95 * 0.5)
    assert found[0] == MANY
    assert 6.0 <= found[1] <= 6.6  # and not the largest ε there is


def test_a_limit_is_kept_and_the_best_within_it_is_found() -> None:
    world = KnownWorld({MANY: 7.0, FEW: 9.0})
    race = race_of(world)
    price = world.price(MANY, 7.0).picture
    assert race.cheapest(0.9, price * 1.01)[0][0] == MANY
    short_of, _ = race.cheapest(0.9, price * 0.5)
    assert race.price(short_of) <= price * 0.5
    assert race.share(short_of) == 0
    assert race.best_within(price * 1.01)[0] == MANY
    assert race.affordable(1e-9) == []


def test_at_a_given_epsilon_the_cheapest_that_is_enough_is_found() -> None:
    world = KnownWorld({MANY: 7.0, FEW: 7.5, SMALL: 5.0, TWO_WORDS: 9.0})
    race = race_of(world, epsilon=8.0)
    assert race.cheapest(0.9, None)[0] == (FEW, 8.0)
    assert race_of(world, epsilon=7.2).cheapest(0.9, None)[0] == (MANY, 7.2)
    assert race_of(world, "total", epsilon=8.0).cheapest(0.9, None)[0][0] in (FEW, SMALL)
    with_limit = race_of(world, epsilon=8.0)
    assert with_limit.affordable(world.price(FEW, 8.0).picture) == [(FEW, 8.0)]


def test_of_settings_that_localize_as_often_the_surest_is_first() -> None:
    race = race_of(KnownWorld({MANY: 7.0, FEW: 6.0}), epsilon=8.0)
    assert race.ranked([(MANY, 8.0), (FEW, 8.0)], "stage") == [(FEW, 8.0), (MANY, 8.0)]


@pytest.mark.parametrize(("start", "needed"), [(6.0, 7.0), (8.0, 7.0), (7.0, 7.0)])
def test_the_last_steps_go_up_or_down_to_the_smallest_that_is_enough(
    start: float, needed: float
) -> None:
    found = settle((MANY, start), lambda point: point[1] >= needed, lambda point: True)
    assert found == (MANY, needed)


def test_the_last_steps_stop_where_no_more_is_allowed() -> None:
    found = settle((MANY, 6.0), lambda _: False, lambda point: point[1] <= 6.5)
    assert found == (MANY, 6.0 + 2 * STEP)
