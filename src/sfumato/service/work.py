"""What the computing processes do: localize a release, check an upload, make a plan.

Each function takes settings and a body, both from the process that answers requests, and returns
what JSON can hold. A body was sent by a stranger; nobody has looked into it before.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sfumato.core.errors import SfumatoError
from sfumato.core.wire import decode
from sfumato.server.mapping.map import Map
from sfumato.service.answers import answer_of
from sfumato.service.checking import describe, file_away, load_upload
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import map_damaged
from sfumato.service.localizing import OpenMaps, answer, check_release
from sfumato.service.plans import make_plan
from sfumato.service.points import few_points
from sfumato.service.processes import Charge
from sfumato.service.settings import Settings

_maps = OpenMaps()
_dictionaries = cache(Dictionaries)


def localize_release(given: dict[str, Any], body: bytes, charge: Charge) -> dict[str, Any]:
    """The answer to a localize request, and the kind of release it was."""
    settings = Settings.from_json(given["settings"])
    release = check_release(
        decode(body), given["accepts"], given["extractor"], _dictionaries(settings.dictionaries)
    )
    found = answer(release, _opened(Path(given["folder"])), settings, charge)
    return {"kind": release.kind, "answer": answer_of(found).model_dump()}


def points_of_map(given: dict[str, Any], _body: bytes, _charge: Charge) -> dict[str, Any]:
    """Some points of a map, and which way is up in it."""
    return few_points(_opened(Path(given["folder"])), given["count"])


def check_upload(given: dict[str, Any], _body: bytes, _charge: Charge) -> dict[str, Any]:
    """Check an unpacked upload, file it under the dictionaries, and describe it."""
    folder = Path(given["folder"])
    world = load_upload(folder)
    file_away(world, _dictionaries(tuple(given["dictionaries"])))
    return describe(world, folder, accepts=given["accepts"], created=given["created"])


def plan_for_map(given: dict[str, Any], _body: bytes, _charge: Charge) -> None:
    """Make and store a plan of a map."""
    settings = Settings.from_json(given["settings"])
    folder = Path(given["folder"])
    world = _opened(folder)
    words = _dictionaries(settings.dictionaries).of_extractor(world.extractor)
    make_plan(world, words, folder, given["epsilon"], settings)


def forget_deleted_maps() -> None:
    """Let go of maps that were deleted, so that the disk gets its room back."""
    _maps.forget_deleted()


def _opened(folder: Path) -> Map:
    try:
        return _maps.get(folder)
    except (SfumatoError, OSError) as error:
        raise map_damaged() from error
