"""A map in a folder here, asked like one of a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.cli.global_descriptor import GlobalRanking
from sfumato.cli.how_to_ask import given_as
from sfumato.cli.localize_many import Asked
from sfumato.cli.protection import Protection, no_words
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.gravity import Gravity
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Localization

if TYPE_CHECKING:
    from sfumato.dictionary import Dictionary
    from sfumato.server.mapping import Map


@dataclass(frozen=True)
class Shortlist:
    """hloc's pairs.txt: which images of the map are searched for each query."""

    pairs: Path | None
    query: str | None
    several: bool = False

    def images(self, name: str, world: Map) -> NDArray[np.int64] | None:
        if self.pairs is None:
            return None
        query = self.query or name
        wanted = self.listed.get(query, [])
        numbers = {image: i for i, image in enumerate(world.image_names)}
        if not wanted:
            raise InvalidInput(f"{self.pairs} lists no image for {query!r}.")
        unknown = [image for image in wanted if image not in numbers]
        if unknown:
            raise InvalidInput(
                f"{len(unknown)} images of {self.pairs} are not in the map: {unknown[0]} …"
            )
        return np.array([numbers[image] for image in wanted], dtype=np.int64)

    @cached_property
    def listed(self) -> dict[str, list[str]]:
        """Images by query: one "query image" per line."""
        assert self.pairs is not None
        try:
            lines = self.pairs.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{self.pairs} is not a readable pairs file: {error}.") from None
        found: dict[str, list[str]] = {}
        for line in lines:
            if line.split()[1:]:
                found.setdefault(line.split()[0], []).append(line.split()[1])
        return found


@contextmanager
def local_map(
    folder: Path,
    protection: Protection,
    gravity: Gravity | None,
    shortlist: Shortlist,
    ranking: GlobalRanking,
) -> Iterator[Asked]:
    """The map of a folder, whole or in shards."""
    from sfumato.features.extractors import extractor_name
    from sfumato.server.localize import localize
    from sfumato.server.mapping import Map
    from sfumato.server.mapping.cameras import usual_camera
    from sfumato.server.shards.sharded_map import open_map

    if shortlist.pairs is not None and shortlist.query is not None and shortlist.several:
        raise InvalidInput("--query names one query, several are given; leave it out.")
    world = open_map(folder)
    whole = world if isinstance(world, Map) else None
    if shortlist.pairs is not None and whole is None:
        raise InvalidInput(
            f"--pairs names images, which {folder} in shards does not; leave it out."
        )
    if ranking.global_ is not None and whole is None:
        raise InvalidInput(f"--global needs a whole map, {folder} is in shards; leave it out.")

    @cache
    def words() -> Dictionary:
        from sfumato.dictionary import Dictionary

        return Dictionary.load(protection.dictionary)

    def answer(release: KeypointRelease, name: str) -> Localization:
        return localize(
            release,
            world,
            dictionary=words() if release.kind == "words" else None,
            shortlist=None if whole is None else shortlist.images(name, whole),
            gravity=gravity,
            image_scores=image_scores,
        )

    def check(pipeline: Any) -> None:
        sent = extractor_name(pipeline.extractor)
        if sent != world.extractor:
            raise Mismatch(
                f"the map holds {world.extractor} features, {sent} would be sent; give --extractor "
                f"{given_as(world.extractor)}. Nothing was charged."
            )
        own = getattr(pipeline.mechanism, "dictionary", None)
        if own is not None and own.extractor != sent:
            raise Mismatch(no_words(sent, own.extractor))

    image_scores = None if whole is None else ranking.scores(whole, words)
    camera = None if whole is None else usual_camera(whole.cameras, whole.camera_of_image)
    yield Asked(answer, world.extractor, camera, f"the map in {folder}", check)
