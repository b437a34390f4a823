"""What the computing processes do: localize a release, check an upload, make a plan.

Each function takes settings and a body, both from the process that answers requests, and returns
what JSON can hold. A body was sent by a stranger; nobody has looked into it before.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sfumato.core.errors import SfumatoError
from sfumato.core.gravity import Gravity
from sfumato.core.releases import KeypointRelease
from sfumato.core.wire import decode
from sfumato.server.mapping.map import Map
from sfumato.server.shards.sharded_map import ShardedMap
from sfumato.server.shards.stored import Head
from sfumato.service.answers import answer_of
from sfumato.service.checking import describe, file_away, load_upload
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import map_damaged
from sfumato.service.localizing import OpenMaps, answer, behind, check_release, cost_of
from sfumato.service.plans import make_plan
from sfumato.service.points import few_points
from sfumato.service.processes import Charge
from sfumato.service.settings import Settings

_maps = OpenMaps()
_dictionaries = cache(Dictionaries)


def localize_release(given: dict[str, Any], body: bytes, charge: Charge) -> dict[str, Any]:
    """The answer to a localize request, and the kind of release it was."""
    sent = given.get("gravity")
    gravity = None if sent is None else Gravity.from_text(sent)
    release, world, settings = _asked(given, body, charge)
    found = answer(release, world, settings, charge, gravity)
    return {"kind": release.kind, "answer": answer_of(found).model_dump()}


def weigh_release(given: dict[str, Any], body: bytes, charge: Charge) -> int:
    """What a localize request costs, for whoever charges it elsewhere."""
    return cost_of(*_asked(given, body, charge))


def _asked(
    given: dict[str, Any], body: bytes, charge: Charge
) -> tuple[KeypointRelease, Map | ShardedMap, Settings]:
    settings = Settings.from_json(given["settings"])
    release = check_release(
        decode(body), given["accepts"], given["extractor"], _dictionaries(settings.dictionaries)
    )
    world = _opened(Path(given["folder"]), settings.shards)
    return release, world if isinstance(world, Map) else behind(world, charge), settings


def points_of_map(given: dict[str, Any], _body: bytes, _charge: Charge) -> dict[str, Any]:
    """Some points of a map, and which way is up in it."""
    return few_points(_whole(Path(given["folder"])), given["count"])


def check_upload(given: dict[str, Any], _body: bytes, _charge: Charge) -> dict[str, Any]:
    """Check an unpacked upload, file it under the dictionaries, and describe it."""
    folder = Path(given["folder"])
    world = load_upload(folder)
    settings = Settings.from_json(given["settings"])
    file_away(world, _dictionaries(settings.dictionaries), settings)
    return describe(world, folder, accepts=given["accepts"], created=given["created"])


def plan_for_map(given: dict[str, Any], _body: bytes, _charge: Charge) -> None:
    """Make and store a plan of a map."""
    settings = Settings.from_json(given["settings"])
    folder = Path(given["folder"])
    world = _whole(folder)
    words = _dictionaries(settings.dictionaries).of_extractor(world.extractor)
    make_plan(world, words, folder, given["epsilon"], settings)


def forget_deleted_maps() -> None:
    """Let go of maps that were deleted, so that the disk gets its room back."""
    _maps.forget_deleted()


def _whole(folder: Path) -> Map:
    """The map itself, which lies beside its shards where it was cut."""
    world = _opened(folder)
    if not isinstance(world, Map):
        raise map_damaged()
    return world


def _opened(folder: Path, num_shards: int = 1) -> Map | Head:
    try:
        return _maps.get(folder, num_shards)
    except (SfumatoError, OSError) as error:
        raise map_damaged() from error
