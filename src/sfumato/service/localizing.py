"""One release against one map, with every limit looked at before the work."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.lens import check_possible
from sfumato.core.releases import (
    KeypointRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    WordRelease,
)
from sfumato.core.types import Localization
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import ServiceError, too_large
from sfumato.service.processes import Charge
from sfumato.service.settings import Settings

_MAX_OPEN = 256
#: Comparing two descriptors is that much cheaper than weighing a candidate match.
COMPARISONS_PER_CANDIDATE = 500


class OpenMaps:
    """Maps of one process: opened once, memory-mapped, shared with all other processes.

    Checksums were compared when a map was uploaded or when the service started.
    """

    def __init__(self) -> None:
        self._maps: OrderedDict[Path, Map] = OrderedDict()

    def get(self, folder: Path) -> Map:
        world = self._maps.get(folder)
        if world is None:
            world = self._maps[folder] = Map.load(folder, verify=False)
            if len(self._maps) > _MAX_OPEN:
                self._maps.popitem(last=False)
        self._maps.move_to_end(folder)
        return world

    def forget_deleted(self) -> None:
        """The disk gets the room of a deleted map back when the last process lets go of it."""
        for folder in [known for known in self._maps if not known.exists()]:
            del self._maps[folder]


def check_release(
    release: Release, accepts: list[str], extractor: str, dictionaries: Dictionaries
) -> KeypointRelease:
    """What can be refused without looking at the map's arrays."""
    if not isinstance(release, KeypointRelease) or release.kind not in accepts:
        raise ServiceError(
            403,
            "kind-not-accepted",
            f"the owner of this map accepts {', '.join(accepts)}, not {release.kind}.",
        )
    if release.camera is None:
        raise InvalidInput("a pose needs the camera's intrinsics; the release carries none.")
    if not len(release):
        raise InvalidInput("the release has no keypoint; there is nothing to localize.")
    check_same_extractor("the map", extractor, "the release", release.extractor)
    if isinstance(release, WordRelease):
        dictionaries.check(release)
    check_possible(release.camera)
    return release


def answer(
    release: KeypointRelease, world: Map, settings: Settings, charge: Charge
) -> Localization:
    """Localize within the limits that one request may use; it is charged before the work."""
    if isinstance(release, WordRelease):
        index = world.word_index_of(release, None)
        candidates = int(index.counts(release.words).sum())
        if candidates > settings.max_candidates:
            raise too_large("a release for this map", settings.max_candidates, "candidate matches")
        charge(candidates)
    else:
        _check_descriptors(release, world)
        comparisons = len(release) * world.num_observations
        if comparisons > settings.max_comparisons:
            most = settings.max_comparisons // world.num_observations
            raise too_large(f"a {release.kind} release for this map", most, "keypoints")
        charge(comparisons // COMPARISONS_PER_CANDIDATE)
    return localize(release, world)


def _check_descriptors(release: KeypointRelease, world: Map) -> None:
    values = world.descriptors
    if isinstance(release, PlainRelease):
        sent = release.descriptors
        same = sent.shape[1] == values.shape[1] and sent.dtype == values.dtype
    else:
        assert isinstance(release, SubspaceRelease)
        same = release.offsets.shape[1] == values.shape[1]
    if not same:
        raise Mismatch(
            f"descriptors of this map are {values.shape[1]} × {values.dtype}, those of the release "
            "are not; extract as the map does."
        )
