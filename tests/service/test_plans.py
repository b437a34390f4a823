"""Which ε a plan recommends: the smallest that localizes well enough, with few tries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from served import Served
from sfumato.core.progress import silent
from sfumato.privacy.plan import Choice, Plan
from sfumato.service import plans
from sfumato.service.settings import Settings
from support import tiny_dictionary
from synthetic import MAPPING_POSES, make_map, make_room

WORLD = make_map(make_room(200), MAPPING_POSES[:3])


@pytest.mark.parametrize(
    ("enough_from", "expected"),
    [(0.0, 4.0), (4.0, 4.0), (5.0, 6.0), (7.0, 8.0), (9.0, 10.0), (11.0, 10.0)],
)
def test_the_smallest_epsilon_that_is_enough_is_found_by_halving(
    monkeypatch: pytest.MonkeyPatch, enough_from: float, expected: float
) -> None:
    tried: list[float] = []

    def pretend(*_: Any, epsilon: float, **__: Any) -> Plan:
        tried.append(epsilon)
        good = 4 if epsilon >= enough_from else int(epsilon / 5)  # more, the larger ε
        return Plan(epsilon, None, (Choice(64, 1, None, good, 4, 8.0, 8.0, 0.1),))

    monkeypatch.setattr(plans, "plan", pretend)
    settings = Settings(store=Path("unused"), plan_epsilons=(10.0, 4.0, 8.0, 6.0))
    found = plans._best(WORLD, [tiny_dictionary(64)], None, settings, silent)
    assert found["epsilon"] == expected
    assert len(tried) <= 3
    tried.clear()
    assert plans._best(WORLD, [tiny_dictionary(64)], 7.5, settings, silent)["epsilon"] == 7.5
    assert tried == [7.5]


def test_plans_of_all_maps_of_a_tenant_wait_in_one_line(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def noted(tenant: str, *_: Any, **__: Any) -> None:
        asked.append(tenant)

    monkeypatch.setattr(served.service.planner, "run", noted)
    monkeypatch.setattr(served.service, "settings", replace(served.service.settings, plan_images=1))
    first, second = served.map_id("one"), served.map_id("two")
    for room in (first, second):
        served.client.get(f"/v1/maps/{room}/plan?epsilon=3", headers=served.query)
    assert set(asked) == {"a"}
