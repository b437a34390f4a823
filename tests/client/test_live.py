"""Both halves together: the real client asks the real service, in one process."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from served import QUERY, Served, World
from sfumato.client import AsyncClient
from sfumato.client.answers import read_advice, read_answer
from sfumato.client.errors import Refused
from sfumato.core.errors import Mismatch
from sfumato.core.gravity import Gravity
from sfumato.core.pose_error import PoseError
from sfumato.core.releases import KeypointRelease, Release
from sfumato.core.types import NOT_PROTECTED, Camera, Localization
from sfumato.dictionary import Dictionary
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.up import with_up
from sfumato.service.answers import PlanAnswer, answer_of
from support import one_of_each_release


def talk(
    served: Served, who: dict[str, str], work: Callable[[AsyncClient], Coroutine[Any, Any, Any]],
    **settings: Any,
) -> Any:  # fmt: skip
    """Let a client of this key talk to the service, in the service's own loop."""

    given: dict[str, Any] = {"min_words": 64, "map": "room", "timeout": 600, "deadline": 600}
    given["ledger"] = None

    async def whole() -> Any:
        async with AsyncClient(
            "http://localhost",
            who["Authorization"].removeprefix("Bearer "),
            transport=httpx.ASGITransport(served.app),
            **(given | settings),
        ) as client:
            return await work(client)

    return served.client.run(whole())


def test_a_map_is_pushed_and_asked(served: Served, tmp_path: Path) -> None:
    made = talk(
        served, served.owner, lambda client: client.push_map(served.world.folder, name="room")
    )
    assert made.accepts == ("words",)
    assert made.num_observations > 0
    (tmp_path / "q.sfr").write_bytes(served.world.release)
    found = talk(served, served.query, lambda client: client.send(tmp_path / "q.sfr"))
    assert np.allclose(found.pose.center, QUERY.center, atol=0.05)
    again = talk(served, served.query, lambda client: client.send(tmp_path / "q.sfr", map=made.id))
    assert again.pose == found.pose
    (only,) = talk(served, served.query, lambda client: client.maps())
    assert only == made


def test_words_are_fetched_by_their_fingerprint(served: Served, tmp_path: Path) -> None:
    served.map_id()
    words = Dictionary.load(served.world.words)
    for pin in (words.fingerprint, words.fingerprint_at(64)):

        async def fetch(client: AsyncClient) -> Dictionary:
            from sfumato.client.steps import run_async

            return await run_async(client._questions.dictionary(), client._http)

        settings = {"dictionary": pin, "cache": tmp_path, "epsilon": 8.0}
        assert talk(served, served.query, fetch, **settings).fingerprint == pin
        assert (tmp_path / pin / "words.npy").is_file()


def test_refusals_are_told_as_the_service_says_them(served: Served, tmp_path: Path) -> None:
    served.map_id()
    release = Release.from_bytes(served.world.release)
    raw = Release.from_bytes(served.world.plain)

    def send(client: AsyncClient) -> Coroutine[Any, Any, Any]:
        return client.send(release)

    with pytest.raises(Refused, match="no map 'room'") as missing:
        talk(served, served.stranger, send)
    assert missing.value.status == 404
    with pytest.raises(Refused, match="a valid key is needed") as locked:
        talk(served, {"Authorization": "Bearer sfk_00000000_" + "x" * 43}, send)
    assert locked.value.status == 401
    with pytest.raises(Refused) as plain:
        talk(served, served.query, lambda client: client.send(raw))
    assert plain.value.status == 403
    with pytest.raises(Refused) as foreign:
        talk(served, served.query, lambda client: client.send(one_of_each_release()["words"]))
    assert foreign.value.status == 409
    folder = served.world.folder
    with pytest.raises(Refused) as role:
        talk(served, served.query, lambda client: client.push_map(folder, name="mine"))
    assert role.value.status == 403
    with pytest.raises(Refused) as taken:
        talk(served, served.owner, lambda client: client.push_map(folder, name="room"))
    assert taken.value.status == 409
    with pytest.raises(Mismatch, match="pinned"):
        talk(served, served.query, send, dictionary=_other(), epsilon=8.0, min_words=2)


def _other() -> Dictionary:
    words = np.random.default_rng(7).normal(size=(512, 16)).astype(np.float32)
    return Dictionary.from_words(words, extractor="tiny", metric="l2")


def test_what_the_service_may_say_the_client_understands(world: World) -> None:
    release = Release.from_bytes(world.release)
    assert isinstance(release, KeypointRelease)
    for found in (
        Localization(QUERY, 20, 50, -12.345),
        Localization(QUERY, 20, 50, -np.inf),
        Localization(
            QUERY,
            20,
            50,
            -12.0,
            error=PoseError(0.02, 0.5, np.diag([1e-5] * 3 + [1e-4] * 3)),
            warning="the focal length does not fit",
            camera=Camera("SIMPLE_PINHOLE", 640, 480, (500.0, 320.0, 240.0)),
        ),
        Localization(None, 3, 50, 0.5, "3 inliers may be chance"),
    ):
        read = read_answer(answer_of(found).model_dump_json().encode(), release)
        assert read.localized is found.localized
        assert (read.num_inliers, read.num_matches) == (found.num_inliers, found.num_matches)
        assert read.reason == found.reason
        assert read.pose == found.pose
        assert (read.error, read.warning, read.camera) == (
            found.error,
            found.warning,
            found.camera,
        )
    plan = PlanAnswer(
        epsilon=8.0,
        epsilon_per_picture=8000.0,
        num_words=4096,
        subset_size=2,
        max_keypoints=None,
        dictionary="ab" * 32,
        share_localized=0.9,
        share_interval_95=[0.7, 1.0],
        trials=10,
        max_distance=0.25,
        max_angle_deg=2.0,
        not_protected=list(NOT_PROTECTED),
    )
    advice = read_advice(plan.model_dump_json().encode())
    assert (advice.num_words, advice.max_keypoints) == (4096, None)
    assert advice.not_protected == NOT_PROTECTED


def test_gravity_is_sent_to_a_map_that_knows_up(served: Served, tmp_path: Path) -> None:
    with_up(Map.load(served.world.folder), (0, -1, 0)).save(tmp_path / "up")
    talk(served, served.owner, lambda client: client.push_map(tmp_path / "up", name="room"))
    (tmp_path / "q.sfr").write_bytes(served.world.release)

    def send(*direction: float) -> Any:
        gravity = Gravity((direction[0], direction[1], direction[2]), error_deg=2)
        return talk(
            served, served.query, lambda client: client.send(tmp_path / "q.sfr", gravity=gravity)
        )

    assert np.allclose(send(0, 1, 0).pose.center, QUERY.center, atol=0.05)
    assert not send(1, 0, 0).localized
