"""A map in shards: votes are scattered, candidates gathered, and a pose is sought in one place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.gravity import Direction
from sfumato.core.releases import KeypointRelease, PlainRelease, SubspaceRelease, WordRelease
from sfumato.matching.nearest import nearest_back
from sfumato.matching.subspace import nearest as nearest_subspace
from sfumato.matching.vocabulary import InvertedIndex
from sfumato.server.excerpt import MapExcerpt
from sfumato.server.mapping.map import Map, index_name
from sfumato.server.retrieval import RetrievalOptions, expected_votes
from sfumato.server.shards.cut import join_cuts, new_numbers
from sfumato.server.shards.regions import MOST_COVISIBLE
from sfumato.server.shards.shard import Message, Shard
from sfumato.server.shards.stored import Head, load_head

#: Messages by shard → answers by shard, all asked at the same time; one that is lost has none.
Ask = Callable[[Mapping[int, Message]], Mapping[int, Message]]

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShardedMap:
    """A map whose shards are asked, wherever they are; it answers as the map in one piece does."""

    head: Head
    ask: Ask

    @staticmethod
    def load(path: str | os.PathLike[str], *, verify: bool = True) -> ShardedMap:
        """Open a map in shards with all its shards in this process."""
        head = load_head(path, verify=verify)
        shards = [head.open(number, verify=verify) for number in range(len(head.shards))]
        return ShardedMap(head, ask_here(shards))

    @property
    def extractor(self) -> str:
        return self.head.extractor

    @property
    def up(self) -> Direction | None:
        return self.head.up

    @property
    def num_observations(self) -> int:
        return self.head.num_observations

    def __repr__(self) -> str:
        return (
            f"ShardedMap({len(self.head.shards)} shards, {self.head.num_images} images, "
            f"{self.head.num_observations} observations, {self.extractor})"
        )

    def word_index_of(
        self, release: WordRelease, _: None = None, *, words_each: int = 1
    ) -> InvertedIndex:
        """How many observations are filed under each word; which ones only the shards know."""
        index = self.head.sidecars.word_index(index_name(release.dictionary, words_each))
        if index is None:
            raise Mismatch(
                f"the map in shards is not filed under dictionary {release.dictionary[:12]}…; "
                "file the map (`sfumato map index`) and make the shards again, or protect with one "
                "of the map's."
            )
        return index

    def excerpts(
        self,
        releases: Sequence[KeypointRelease],
        options: RetrievalOptions,
        words_each: int = 1,
        shortlist: Rows | None = None,
    ) -> tuple[MapExcerpt, ...]:
        """Ask the shards for all that these releases need of the map; each gets the same images."""
        if not 1 <= options.region_size <= MOST_COVISIBLE:
            raise InvalidInput(
                f"region_size must be between 1 and {MOST_COVISIBLE} for a map in shards, got "
                f"{options.region_size}; they know no more images that see the same points."
            )
        lost: set[int] = set()
        queries = [_Query(self, release, words_each, lost) for release in releases]
        if shortlist is None:
            for query in queries:
                query.vote(options.num_searched(self.head.num_seeing))
        while True:  # where a shard is lost meanwhile, images are chosen again among the rest
            num_lost = len(lost)
            chosen = [query.chosen(options, shortlist) for query in queries]
            images = np.unique(np.concatenate([wanted for _, wanted in chosen]))
            found = tuple(
                query.cut_out(images, voted, is_shortlist=shortlist is not None)
                for query, (voted, _) in zip(queries, chosen, strict=True)
                if len(lost) == num_lost
            )
            if len(lost) == num_lost:
                return found


class _Query:
    """One release and the shards it is asked of; those that do not answer are lost to all."""

    def __init__(
        self, world: ShardedMap, release: KeypointRelease, words_each: int, lost: set[int]
    ) -> None:
        self._head, self._ask_all, self._release = world.head, world.ask, release
        self._lost = lost
        self._votes: Mapping[int, Message] = {}
        if isinstance(release, WordRelease):
            index = world.word_index_of(release, words_each=words_each)
            count = index.counts(release.words).sum(axis=1)
            weight = 1 / np.maximum(count, 1)
            words = {"words": release.words, "index": index_name(release.dictionary, words_each)}
            self._candidates = dict.fromkeys(range(len(self._head.shards)), words)
        else:
            count, weight = self._find_nearest()
        self._weight = {"weight": weight}
        self._expected = expected_votes(count, weight)

    def _ask(self, messages: Mapping[int, Message]) -> Mapping[int, Message]:
        """Answers of the shards that gave one; the others are lost for this query."""
        wanted = {number: one for number, one in messages.items() if number not in self._lost}
        answers = self._ask_all(wanted)
        self._lost |= wanted.keys() - answers.keys()
        return answers

    def vote(self, count: int) -> None:
        """Each shard's best images; no more of one can be among the best of all."""
        common = {
            "ask": "vote",
            "count": count,
            "expected": self._expected,
            "observations": self._head.num_observations,
        } | self._weight
        self._votes = self._ask({number: common | own for number, own in self._candidates.items()})

    def _voted(self, count: int) -> tuple[Rows, Rows]:
        """The best images of all shards that answer, and those that see the same points."""
        votes = [vote for number, vote in self._votes.items() if number not in self._lost]
        if not votes:
            return np.zeros(0, dtype=np.int64), np.zeros((0, MOST_COVISIBLE), dtype=np.int64)
        image, score, together = (
            np.concatenate([vote[name] for vote in votes])
            for name in ("image", "score", "covisible")
        )
        # A map of few images is searched whole, in their own order.
        is_small = self._head.num_seeing <= count
        best = np.argsort(image) if is_small else np.lexsort((image, -score))[:count]
        return image[best], together[best]

    def chosen(self, options: RetrievalOptions, shortlist: Rows | None) -> tuple[Rows, Rows]:
        """The images to search, best first, and all that are needed for it."""
        if shortlist is None:
            voted, together = self._voted(options.num_searched(self._head.num_seeing))
            wanted = np.append(voted, together[:, : options.region_size])
            wanted = wanted[wanted >= 0]
        else:
            wanted = voted = self._there(np.asarray(shortlist, dtype=np.int64))
        return voted, self._there(wanted)

    def _there(self, images: Rows) -> Rows:
        """Those whose shard is not lost."""
        return images[~np.isin(self._head.shard_of_image[images], list(self._lost))]

    def cut_out(self, images: Rows, voted: Rows, *, is_shortlist: bool) -> MapExcerpt:
        """These images, rising, as one small map with the release's candidates in it."""
        home = self._head.shard_of_image
        own = {int(shard): images[home[images] == shard] for shard in np.unique(home[images])}
        cuts = self._ask(
            {
                shard: {"ask": "cut", "images": part} | self._weight | self._candidates[shard]
                for shard, part in own.items()
            }
        )
        parts = [(own[shard], cut) for shard, cut in sorted(cuts.items())]
        world, known, candidates = join_cuts(parts, self._head)
        found = new_numbers(voted, known)
        searched = 1 - float(np.isin(home, list(self._lost)).mean())
        return MapExcerpt(world, candidates, found, found if is_shortlist else None, searched)

    def _find_nearest(self) -> tuple[Rows, NDArray[np.float64]]:
        """Pairs of a sent descriptor and an observation that are each other's nearest."""
        sent = _sent(self._release)
        every = range(len(self._head.shards))
        answers = self._ask({number: {"ask": "nearest"} | sent for number in every})
        found = {number: one for number, one in answers.items() if len(one["row"])}
        self._candidates = {number: {"keypoint": _NONE, "row": _NONE} for number in every}
        count = np.zeros(len(self._release), dtype=np.int64)
        if found and len(self._release):
            numbers = np.array([*found])
            distance, image, row = (
                np.stack([one[name] for one in found.values()])
                for name in ("distance", "image", "row")
            )
            keypoints = np.arange(len(self._release))
            best = np.lexsort((image, distance), axis=0)[0]  # the first image of equals
            descriptors = np.stack([one["descriptor"] for one in found.values()])
            image, row = image[best, keypoints], row[best, keypoints]
            _, chosen, place = np.unique(
                np.stack([image, row]), axis=1, return_index=True, return_inverse=True
            )
            nearest = descriptors[best, keypoints][chosen]
            mutual = np.flatnonzero(self._back(nearest)[place.reshape(-1)] == keypoints)
            count[mutual] = 1
            for shard in numbers:
                own = mutual[numbers[best[mutual]] == shard]
                self._candidates[int(shard)] = {"keypoint": own, "row": row[own]}
        return count, np.ones(len(self._release))

    def _back(self, chosen: NDArray[np.float32]) -> Rows:
        """The row of the release that is nearest to each of these observations."""
        if isinstance(self._release, SubspaceRelease):
            return nearest_subspace(chosen, self._release)[0]
        assert isinstance(self._release, PlainRelease)
        return nearest_back(chosen, self._release.descriptors)


_NONE = np.zeros(0, dtype=np.int64)


def _sent(release: KeypointRelease) -> Message:
    if isinstance(release, PlainRelease):
        return {"descriptors": release.descriptors}
    if isinstance(release, SubspaceRelease):
        return {"offsets": release.offsets, "bases": release.bases}
    raise InvalidInput(
        f"a release of {release.kind} cannot be localized; send words, subspaces or raw "
        "descriptors."
    )


def ask_here(shards: list[Shard]) -> Ask:
    """Shards of this process, one after the other."""
    return lambda messages: {number: shards[number].answer(one) for number, one in messages.items()}


def open_map(path: str | os.PathLike[str], *, verify: bool = True) -> Map | ShardedMap:
    """A stored map, in one piece or in shards."""
    from sfumato.server.shards.stored import is_in_shards

    return (ShardedMap if is_in_shards(path) else Map).load(path, verify=verify)
