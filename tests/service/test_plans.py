"""What a plan of the service asks for, and what it hands to devices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from served import Served
from sfumato.core.accounting import PrivateAnswer
from sfumato.core.progress import silent
from sfumato.privacy.plan import Choice, Plan
from sfumato.privacy.price import price_of
from sfumato.privacy.rehearsal import Setting
from sfumato.service import plans
from sfumato.service.settings import Settings
from support import tiny_dictionary
from synthetic import MAPPING_POSES, make_map, make_room

WORLD = make_map(make_room(200), MAPPING_POSES[:3])


def test_a_plan_searches_between_the_epsilons_of_the_settings_and_carries_its_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[dict[str, Any]] = []
    words = tiny_dictionary(64)
    paid = price_of(PrivateAnswer(6.2, 64), 100)

    def pretend(*_: Any, **given: Any) -> Plan:
        asked.append(given)
        choice = Choice(Setting(0, 64, 1, 100), 6.2, paid, 3, 4, (0.3, 0.95), 8.0, 0.1)
        return Plan(
            unit="picture", share=0.75, at_most=None, recommended=choice, others=(),
            view_changes=(), question=given["question"], num_trials=9, seconds=1.0,
        )  # fmt: skip

    monkeypatch.setattr(plans, "plan", pretend)
    settings = Settings(store=Path("unused"), plan_epsilons=(10.0, 4.0, 8.0), plan_share=0.8)
    found = plans._best(WORLD, [words], None, settings, silent)
    assert (asked[0]["epsilon"], asked[0]["epsilons"]) == (None, (4.0, 10.0))
    assert asked[0]["share"] == 0.8
    assert found["epsilon"] == 6.2
    assert found["epsilon_per_picture"] == pytest.approx(620)
    assert found["exact_epsilon_per_picture"] == paid.picture < 620
    assert found["delta"] == 1e-6
    assert found["dictionary"] == words.fingerprint
    plans._best(WORLD, [words], 7.5, settings, silent)
    assert asked[1]["epsilon"] == 7.5
    plans._best(WORLD, [words], None, replace(settings, plan_epsilons=(8.0,)), silent)
    assert asked[2]["epsilon"] == 8.0
    plans._best(WORLD, [words], None, replace(settings, plan_share=0.0), silent)
    assert 0 < asked[3]["share"] < 1e-6


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
