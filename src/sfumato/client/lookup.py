"""What a client asks a server before it asks about a picture: maps, plans, public words."""

from __future__ import annotations

import logging
import math
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from sfumato.client.answers import (
    Advice,
    MapInfo,
    MapPoints,
    read_advice,
    read_map,
    read_maps,
    read_points,
)
from sfumato.client.device import Limits, Recipe, follow
from sfumato.client.errors import Refused, printable
from sfumato.client.flow import Patience, ask
from sfumato.client.pins import REFUSAL, cached_words, family_of, keep_words
from sfumato.client.steps import Flow, work
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.gravity import Gravity
from sfumato.device.mechanisms import MemoisedSubset, Plain, SubsetMechanism, SubspaceLifting
from sfumato.device.protect import Pipeline
from sfumato.dictionary import Dictionary

_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_LIST_BYTES = 1 << 24
_KINDS = (
    (SubsetMechanism, "words"),
    (MemoisedSubset, "words"),
    (Plain, "plain"),
    (SubspaceLifting, "subspaces"),
)
_log = logging.getLogger(__name__)


@dataclass
class Lookups:
    """A client's settings, and what it has learned: its words and where maps are.

    words  a dictionary, a fingerprint that is pinned, or None for a client that draws nothing
    """

    address: httpx.URL
    key: str = field(repr=False)
    patience: Patience
    limits: Limits
    recipe: Recipe | Pipeline | None
    words: Dictionary | str | None
    cache: Path | None
    default_map: str | None
    max_dictionary_bytes: int
    known_maps: dict[str, MapInfo] = field(default_factory=dict)

    def request(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **rest: Any
    ) -> httpx.Request:
        own = {
            "Host": self.address.netloc.decode("ascii"),
            "Authorization": f"Bearer {self.key}",
            "Accept-Encoding": "identity",
            "User-Agent": "sfumato",
        }
        return httpx.Request(
            method,
            self.address.join(path),
            headers=own | (headers or {}),
            extensions={"timeout": httpx.Timeout(self.patience.timeout).as_dict()},
            **rest,
        )

    def maps(self) -> Flow[tuple[MapInfo, ...]]:
        """The maps this key may ask."""
        reply = yield from ask(self.request("GET", "v1/maps"), self.patience, max_bytes=_LIST_BYTES)
        return read_maps(reply.body)

    def find_map(self, map: str | None = None) -> Flow[MapInfo]:
        """A map by its id or its name; asked once, then remembered."""
        name = self.default_map if map is None else map
        if not name:
            raise InvalidInput("say which map to ask: map= its name or id on the server.")
        if name in self.known_maps:
            return self.known_maps[name]
        listed: MapInfo | None = None
        if _ID.fullmatch(name):
            try:
                reply = yield from ask(self.request("GET", f"v1/maps/{name}"), self.patience)
                listed = read_map(reply.body)
            except Refused as refusal:
                if refusal.status != 404:
                    raise
        if listed is None:
            every = yield from self.maps()
            listed = next((one for one in every if name in (one.id, one.name)), None)
        if listed is None:
            raise Refused(f"the server has no map {name!r} for this key.", status=404)
        self.known_maps[name] = listed
        return listed

    def map_points(self, map: str | None = None) -> Flow[MapPoints]:
        """Some points of a map, to draw it; none where its operator hides them."""
        asked = yield from self.find_map(map)
        request = self.request("GET", f"v1/maps/{asked.id}/points")
        reply = yield from ask(request, self.patience, max_bytes=_LIST_BYTES)
        return read_points(reply.body)

    def plan(self, *, map: str | None = None, epsilon: float | None = None) -> Flow[Advice]:
        """What the server recommends for a map; nothing of it is taken."""
        asked = yield from self.find_map(map)
        params = {} if epsilon is None else {"epsilon": repr(float(epsilon))}
        request = self.request("GET", f"v1/maps/{asked.id}/plan", params=params)
        # A server may have to try settings first: it is asked again until the deadline.
        patience = replace(self.patience, tries=100)
        reply = yield from ask(request, patience, max_bytes=1 << 20)
        return read_advice(reply.body)

    def follow_plan(
        self, *, map: str | None = None, say: Callable[[str], None] | None = None
    ) -> Flow[Advice]:
        """Take the server's recommendation within this client's limits, and say what changed."""
        if not isinstance(self.recipe, Recipe):
            raise InvalidInput("only a client that was given epsilon can follow a plan.")
        own = self.recipe
        dictionary = yield from self.dictionary()
        finite = own.epsilon if math.isfinite(own.epsilon) else None
        advice = yield from self.plan(map=map, epsilon=finite)
        self.recipe, changes = follow(own, advice, self.limits, dictionary)
        (say or _log.warning)(
            "taken from the server's plan: " + ("; ".join(changes) or "nothing, it agrees")
        )
        return advice

    def dictionary(self) -> Flow[Dictionary]:
        """The words of this client: at hand, cached, or fetched once and checked."""
        if isinstance(self.words, Dictionary):
            return self.words
        pin, cache = self.words, self.cache
        if pin is None:
            raise InvalidInput(REFUSAL)
        if cache is None:
            raise InvalidInput("a dictionary that is to be fetched needs cache= a folder for it.")
        words = yield from work(lambda: cached_words(cache, pin))
        if words is None:
            with tempfile.TemporaryFile() as archive:
                yield from ask(
                    self.request("GET", f"v1/dictionaries/{pin}"),
                    self.patience,
                    max_bytes=self.max_dictionary_bytes,
                    sink=archive,
                )
                words = yield from work(lambda: keep_words(archive, pin, cache))
        self.words = words
        return words

    def pipeline(self) -> Flow[Pipeline]:
        if isinstance(self.recipe, Pipeline):
            return self.recipe
        if self.recipe is None:
            raise InvalidInput(
                "this client was given neither epsilon nor a pipeline: it can send releases that "
                "were made before, and draws none."
            )
        recipe = self.recipe
        dictionary = yield from self.dictionary()
        return recipe.pipeline(dictionary)


def check_map(asked: MapInfo, pipeline: Pipeline) -> None:
    """Refuse before charging what the server would refuse after it."""
    if pipeline.extractor_name != asked.extractor:
        raise Mismatch(
            f"the map holds {printable(asked.extractor, 40)!r} features, this client extracts "
            f"{pipeline.extractor_name!r}; nothing was charged or sent."
        )
    kind = next((kind for made, kind in _KINDS if isinstance(pipeline.mechanism, made)), None)
    if kind is not None and kind not in asked.accepts:
        raise Mismatch(
            f"the map is asked with releases of {', '.join(map(printable, asked.accepts))}, this "
            f"client makes {kind}; nothing was charged or sent."
        )
    words = getattr(pipeline.mechanism, "dictionary", None)
    if not isinstance(words, Dictionary):
        return
    offered = {one.fingerprint for one in asked.dictionaries}
    if not offered & family_of(words):
        raise Mismatch(
            f"this client's words are {words.fingerprint[:16]}…, the map can be asked with "
            f"{', '.join(sorted(name[:16] + '…' for name in offered)) or 'none'}; nothing was "
            "charged or sent."
        )


def check_gravity(asked: MapInfo, gravity: Gravity | None) -> None:
    """Refuse to send gravity where it cannot be used; older servers would not even say so."""
    if gravity is not None and asked.up is None:
        raise Mismatch(
            "gravity needs a map that knows which way is up, and the server says of none for this "
            "one; ask without gravity. Nothing was sent."
        )
