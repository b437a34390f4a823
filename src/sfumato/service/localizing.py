"""One release against one map, with every limit looked at before the work."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import (
    KeypointRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    WordRelease,
)
from sfumato.core.types import Camera, Localization
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map
from sfumato.service.dictionaries import Dictionaries
from sfumato.service.errors import ServiceError, too_large
from sfumato.service.settings import Settings

_MAX_OPEN = 256
_LARGEST_FOCAL = 1e6
_LARGEST_DISTORTION = 1e3


class OpenMaps:
    """Maps of this worker: opened once, memory-mapped, shared with all other workers.

    Checksums were compared when a map was uploaded or when the service started.
    """

    def __init__(self) -> None:
        self._maps: OrderedDict[str, Map] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, map_id: str, folder: Path) -> Map:
        with self._lock:
            world = self._maps.get(map_id)
            if world is None:
                world = self._maps[map_id] = Map.load(folder, verify=False)
                if len(self._maps) > _MAX_OPEN:
                    self._maps.popitem(last=False)
            self._maps.move_to_end(map_id)
            return world

    def keep_only(self, ids: set[str]) -> None:
        """Let go of maps that were deleted; the disk gets its room back with the last worker."""
        with self._lock:
            for map_id in [known for known in self._maps if known not in ids]:
                del self._maps[map_id]


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
    if release.extractor != extractor:
        raise Mismatch(
            f"the map holds {extractor!r} features, the release {release.extractor!r}; extract "
            "with the map's extractor."
        )
    if isinstance(release, WordRelease):
        dictionaries.check(release)
    _check_camera(release.camera)
    return release


def _check_camera(camera: Camera) -> None:
    """Intrinsics that no camera has would only make numbers overflow."""
    num_focals = 1 if camera.model in ("SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL") else 2
    focals, rest = camera.params[:num_focals], camera.params[num_focals:]
    longest = max(camera.width, camera.height)
    plausible = (
        all(1 <= focal <= _LARGEST_FOCAL for focal in focals)
        and all(abs(value) <= 10 * longest for value in rest[:2])
        and all(abs(value) <= _LARGEST_DISTORTION for value in rest[2:])
    )
    if not plausible:
        raise InvalidInput(
            "the camera's intrinsics must be a real camera's: focal lengths of 1 to a million "
            "pixels, the principal point near the picture, distortion below a thousand."
        )


def answer(release: KeypointRelease, world: Map, settings: Settings) -> Localization:
    """Localize within the limits of memory and time that one request may use."""
    if isinstance(release, WordRelease):
        index = world.word_index_of(release, None)
        if int(index.counts(release.words).sum()) > settings.max_candidates:
            raise too_large("a release for this map", settings.max_candidates, "candidate matches")
    else:
        _check_descriptors(release, world)
        if len(release) * world.num_observations > settings.max_comparisons:
            most = settings.max_comparisons // world.num_observations
            raise too_large(f"a {release.kind} release for this map", most, "keypoints")
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
