"""The service on a cluster whose copies are in this process: what goes where, and what is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from served import Serve, Served, World, refused, settings_for
from sfumato.core.errors import InvalidInput, WorkerLost
from sfumato.core.wire import decode
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.server.shards.stored import shard_map
from sfumato.service.answers import answer_of
from sfumato.service.checking import SHARDS, file_away, shards_beside
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.fleet import Localizer, ShardHost
from sfumato.service.settings import Settings

ON_RAY: dict[str, Any] = {"on": "ray", "shards": 3, "shard_observations": 1}


class Here:
    """Copies of an object that is here; `lost` ones do not answer."""

    def __init__(self, made: Any) -> None:
        self.made, self.lost = made, False

    def call(self, method: str, *args: Any) -> _Call:
        return _Call(self, lambda: getattr(self.made, method)(*args))


class _Call:
    def __init__(self, owner: Here, work: Callable[[], Any]) -> None:
        self._owner, self._work = owner, work

    def wait(self, _seconds: float) -> bool:
        return True

    def result(self, _seconds: float) -> Any:
        if self._owner.lost:
            raise WorkerLost("no copy has answered.")
        return self._work()

    def cancel(self) -> None:
        """Nothing runs."""


class Fleet:
    """What a cluster would hold."""

    def __init__(self, settings: Settings) -> None:
        self.shards = [Here(ShardHost(number)) for number in range(settings.shards)]
        localizer = Localizer(settings.to_json())
        localizer._shards = self.shards  # type: ignore[assignment]
        self.localizer = Here(localizer)

    def close(self) -> None:
        while not self.localizer.made._idle.empty():
            self.localizer.made._idle.get().end()


@pytest.fixture
def fleet(world: World, tmp_path: Path) -> Any:
    made = Fleet(settings_for(world, tmp_path / "store", **ON_RAY))
    yield made
    made.close()


@pytest.fixture
def on_ray(serve: Serve, fleet: Fleet) -> Served:
    return serve(copies=fleet.localizer, **ON_RAY)


def expected(world: World, release: bytes) -> dict[str, Any]:
    whole = localize(
        decode(release),  # type: ignore[arg-type]
        Map.load(world.folder),
        dictionary=Dictionary.load(str(world.words)) if release == world.release else None,
    )
    assert whole.localized
    return answer_of(whole).model_dump(mode="json")


def test_answers_come_from_shards_and_are_the_same(on_ray: Served, world: World) -> None:
    map_id = on_ray.map_id(accept="words,plain")
    folder = on_ray.service.store.folder_of(map_id)
    assert shards_beside(folder, 3) is not None
    for release in (world.release, world.plain):
        answer = on_ray.localize(map_id, release)
        assert answer.status_code == 200, answer.text
        assert answer.json() == expected(world, release)


def test_a_lost_shard_is_in_the_answer(on_ray: Served, fleet: Fleet, world: World) -> None:
    map_id = on_ray.map_id()
    whole = expected(world, world.release)
    for shard in fleet.shards:
        shard.lost = True
        answer = on_ray.localize(map_id, world.release)
        shard.lost = False
        told = answer.json()
        if answer.status_code == 200:
            assert 0 < told["searched"] < 1
            assert "could not be looked at" in told["warning"]
        else:
            refused(answer, 503, "could not be looked at")
    assert on_ray.localize(map_id, world.release).json() == whole  # back without a restart


def test_no_pose_in_the_rest_is_no_verdict(on_ray: Served, fleet: Fleet, world: World) -> None:
    map_id = on_ray.map_id()
    for shard in fleet.shards:
        shard.lost = True
    answer = on_ray.localize(map_id, world.release)
    refused(answer, 503, "100% of the map's images could not be looked at")
    assert answer.json()["error"] == "map-incomplete"
    assert int(answer.headers["Retry-After"]) >= 1


def test_what_localizes_may_be_lost_too(on_ray: Served, fleet: Fleet, world: World) -> None:
    map_id = on_ray.map_id()
    fleet.localizer.lost = True
    answer = on_ray.localize(map_id, world.release)
    refused(answer, 503, "was lost; ask again")
    assert int(answer.headers["Retry-After"]) >= 1


def test_requests_are_refused_and_charged_as_without_a_cluster(
    serve: Serve, fleet: Fleet, world: World
) -> None:
    """A request counts by its candidate matches, which only the cluster can tell."""
    served = serve(copies=fleet.localizer, **ON_RAY, rate_per_minute=60.0, candidates_per_request=1)
    map_id = served.map_id()
    assert served.localize(map_id, world.release[:-1]).json()["error"] == "malformed-release"
    refused(served.localize(map_id, world.plain), 403, "accepts words")
    statuses = [served.localize(map_id, world.release).status_code for _ in range(2)]
    assert statuses == [200, 429]


def test_shards_are_made_again_when_they_are_not_the_maps(world: World, tmp_path: Path) -> None:
    settings = settings_for(world, tmp_path / "store", **ON_RAY)
    words = Dictionaries(settings.dictionaries)
    folder = tmp_path / "map"
    Map.load(world.folder).save(folder)
    assert shards_beside(folder, 3) is None
    file_away(Map.load(folder), words, settings, again=False)
    made = shards_beside(folder, 3)
    assert made is not None
    assert made.filed_under == Map.load(folder).filed_under
    assert shards_beside(folder, 2) is None
    shard_map(Map.load(world.folder), folder / SHARDS, 3, replace=True)  # unfiled
    file_away(Map.load(folder), words, settings, again=False)
    again = shards_beside(folder, 3)
    assert again is not None
    assert again.filed_under == made.filed_under


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"shards": 2}, "shards applies to a service on Ray"),
        ({"replicas": 2}, "replicas applies to a service on Ray"),
        ({"on": "ray", "workers": 2}, "workers must be 1 on Ray"),
        ({"on": "mars"}, "on must be one of local, ray"),
    ],
)
def test_settings_that_do_not_apply_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        Settings(**changes)
