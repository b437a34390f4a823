"""One release against one map, with every limit looked at before the work."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sfumato.core.checks import check_same_extractor
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.gravity import Gravity
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
from sfumato.server.shards.packing import pack, unpack
from sfumato.server.shards.shard import Message
from sfumato.server.shards.sharded_map import ShardedMap
from sfumato.server.shards.stored import Head
from sfumato.server.upright import gravity_in
from sfumato.service.checking import shards_beside
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import ServiceError, too_large
from sfumato.service.processes import Charge, Parent
from sfumato.service.settings import Settings

_MAX_OPEN = 256
#: Comparing two descriptors is that much cheaper than weighing a candidate match.
COMPARISONS_PER_CANDIDATE = 500


class OpenMaps:
    """Maps of one process: opened once, memory-mapped, shared with all other processes.

    Checksums were compared when a map was uploaded or when the service started.
    """

    def __init__(self) -> None:
        self._maps: OrderedDict[Path, Map | Head] = OrderedDict()

    def get(self, folder: Path, num_shards: int = 1) -> Map | Head:
        """A map, or what is known of it where it lies in so many shards."""
        world = self._maps.get(folder)
        if world is None:
            head = shards_beside(folder, num_shards)
            world = self._maps[folder] = head or Map.load(folder, verify=False)
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


def behind(head: Head, charge: Charge) -> ShardedMap:
    """A map whose shards are asked through the process that answers requests."""
    assert isinstance(charge, Parent)
    ask = partial(charge.ask_shards, str(head.folder))

    def ask_packed(messages: Mapping[int, Message]) -> dict[int, Message]:
        answers = ask({number: pack(message) for number, message in messages.items()})
        return {number: unpack(data) for number, data in answers.items()}

    return ShardedMap(head, ask_packed)


def answer(
    release: KeypointRelease,
    world: Map | ShardedMap,
    settings: Settings,
    charge: Charge,
    gravity: Gravity | None = None,
) -> Localization:
    """Localize within the limits that one request may use; it is charged before the work."""
    known = gravity_in(world, gravity)
    charge(cost_of(release, world, settings))
    found = localize(release, world, gravity=known)
    if found.searched < 1 and not found.localized:
        raise ServiceError(503, "map-incomplete", f"{found.reason}.", retry_after=2)
    return found


def cost_of(release: KeypointRelease, world: Map | ShardedMap, settings: Settings) -> int:
    """What a request costs, in candidate matches; refused where that is more than one may."""
    if isinstance(release, WordRelease):
        index = world.word_index_of(release, None)
        candidates = int(index.counts(release.words).sum())
        if candidates > settings.max_candidates:
            raise too_large("a release for this map", settings.max_candidates, "candidate matches")
        return candidates
    _check_descriptors(release, world)
    comparisons = len(release) * world.num_observations
    if comparisons > settings.max_comparisons:
        most = settings.max_comparisons // world.num_observations
        raise too_large(f"a {release.kind} release for this map", most, "keypoints")
    return comparisons // COMPARISONS_PER_CANDIDATE


def _check_descriptors(release: KeypointRelease, world: Map | ShardedMap) -> None:
    if isinstance(world, Map):
        size, kind = world.descriptors.shape[1], str(world.descriptors.dtype)
    else:
        size, kind = world.head.descriptor
    if isinstance(release, PlainRelease):
        sent = release.descriptors
        same = sent.shape[1] == size and str(sent.dtype) == kind
    else:
        assert isinstance(release, SubspaceRelease)
        same = release.offsets.shape[1] == size
    if not same:
        raise Mismatch(
            f"descriptors of this map are {size} × {kind}, those of the release are not; extract "
            "as the map does."
        )
