"""A service compiles before it answers: no request has to wait for that, or be ended by it."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.server import localize as module
from sfumato.server.guided import improve_pose, search_pose
from sfumato.server.guided_kernel import propose_poses, refine_pose
from sfumato.server.pose import Estimate
from sfumato.service.warm_up import warm_up


def test_the_search_by_positions_is_compiled_before_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def spied(*given: Any) -> Estimate | None:
        asked.append(given)
        return search_pose(*given)

    monkeypatch.setattr(module, "search_pose", spied)
    warm_up()
    (given,) = asked
    compiled = [len(kernel.signatures) for kernel in (propose_poses, refine_pose)]
    assert min(compiled) >= 1
    estimate = search_pose(*given)
    assert estimate is not None
    improve_pose(estimate, *given)  # from a pose that cannot be written to
    assert [len(kernel.signatures) for kernel in (propose_poses, refine_pose)] == compiled
