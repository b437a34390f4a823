"""What a client is made from: checked once, refused before anything is sent."""

from __future__ import annotations

import math
import os
import ssl
from pathlib import Path
from typing import Any

from sfumato.client.address import check_address, check_key
from sfumato.client.device import Limits, Recipe
from sfumato.client.flow import Patience
from sfumato.client.outbox import Outbox
from sfumato.client.pins import REFUSAL, own_words
from sfumato.client.questions import Questions
from sfumato.core.checks import check_count, check_epsilon
from sfumato.core.errors import InvalidInput
from sfumato.device.ledger import Ledger
from sfumato.device.protect import Filter, PictureFilter, Pipeline
from sfumato.dictionary import Dictionary
from sfumato.features import Extractor

PathLike = str | os.PathLike[str]


class Unsaid:
    """Nobody has said yet whether what leaves is to be counted."""


UNSAID = Unsaid()


class ClientSettings:
    """What both clients are made from."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        map: str | None = None,
        epsilon: float | None = None,
        subset_size: int | None = None,
        num_words: int | None = None,
        max_keypoints: int | None = None,
        filters: tuple[Filter | PictureFilter, ...] = (),
        extractor: str | Extractor | None = None,
        pipeline: Pipeline | None = None,
        dictionary: Dictionary | PathLike | None = None,
        cache: PathLike | None = None,
        ledger: Ledger | Unsaid | None = UNSAID,
        outbox: PathLike | None = None,
        max_epsilon: float | None = None,
        min_words: int = 1024,
        max_exact: float | None = None,
        timeout: float = 30.0,
        deadline: float = 120.0,
        tries: int = 4,
        allow_http: bool = False,
        verify: ssl.SSLContext | None = None,
        max_dictionary_bytes: int = 1 << 29,
        transport: Any = None,
    ) -> None:
        """Nothing is sent yet.

        url, key      the server's address and an API key of its operator
        map           the map that is asked where a call names no other: its name or id
        epsilon       ε per descriptor; N keypoints of a picture compose to N·ε
        subset_size   ω, words per keypoint: 2 unless chosen here or, if asked to, taken from a plan
        num_words     |K|: a level of the dictionary; all its words if left out
        max_keypoints, filters   which keypoints are sent
        extractor     what describes pictures, by its name or your own; the dictionary's if left out
        pipeline      instead of all these: a pipeline of your own
        dictionary    a Dictionary, its folder, a bundled name, or the fingerprint of one that the
                      server may hand out once, into the folder `cache`
        ledger        charged before anything is drawn; must be given where the client draws:
                      `Ledger.default()`, a ledger of your own, or None to count nothing
        outbox        a folder that keeps each release from its charge until its answer
        max_epsilon   the most ε per descriptor that leaves here; `epsilon` if left out
        min_words     the smallest |K|
        max_exact     the most E at δ = 10⁻⁶ that one picture may cost; a session's total is capped
                      by its ledger: `Ledger(path, caps=Caps(exact=…))`
        timeout, deadline, tries   seconds per operation, seconds per question, sendings
        allow_http    send without TLS to other machines than this one
        verify        an SSLContext for certificates of your own; TLS is always checked
        """
        choices = (epsilon, subset_size, num_words, max_keypoints, dictionary, extractor)
        if pipeline is not None and (any(one is not None for one in choices) or filters):
            raise InvalidInput(
                "give a pipeline, or epsilon and what belongs to it, not both: a pipeline says "
                "all of that itself."
            )
        if epsilon is None and any(one is not None for one in choices[1:4]):
            raise InvalidInput("subset_size, num_words and max_keypoints belong to epsilon.")
        recipe: Recipe | Pipeline | None = pipeline
        if pipeline is not None:
            own: Any = pipeline.mechanism
            words = getattr(own, "dictionary", None)
            epsilon = getattr(own, "epsilon", None)
        else:
            words = own_words(dictionary)
        if isinstance(words, str) and cache is None:
            raise InvalidInput("a dictionary that is to be fetched needs cache= a folder for it.")
        if pipeline is None and epsilon is not None:
            if words is None:
                raise InvalidInput(REFUSAL)
            check_epsilon(epsilon, allow_infinite=True)
            recipe = Recipe(
                epsilon, subset_size, num_words, max_keypoints, tuple(filters), extractor
            )
            if isinstance(words, Dictionary):
                recipe.pipeline(words)  # what cannot be is refused here, not at the first picture
        if max_epsilon is None and epsilon is not None and math.isfinite(epsilon):
            max_epsilon = epsilon
        limits = Limits(max_epsilon, min_words, max_exact)
        if recipe is not None:
            size = words.num_words if isinstance(words, Dictionary) else None
            limits.check(epsilon, size if num_words is None else num_words)
        if isinstance(ledger, Unsaid):
            if recipe is not None:
                raise InvalidInput(
                    "a client that draws releases must know where they are counted: give "
                    "ledger=sf.Ledger.default(), a ledger of your own, or ledger=None to count "
                    "nothing."
                )
            ledger = None
        self._questions = Questions(
            address=check_address(url, allow_http=allow_http),
            key=check_key(key),
            patience=Patience(timeout, deadline, tries),
            limits=limits,
            recipe=recipe,
            words=words,
            cache=None if cache is None else Path(cache),
            ledger=ledger,
            outbox=None if outbox is None else Outbox(outbox),
            default_map=map,
            max_dictionary_bytes=check_count("max_dictionary_bytes", max_dictionary_bytes, low=1),
        )
        context = ssl.create_default_context() if verify is None else verify
        if context.verify_mode != ssl.CERT_REQUIRED or not context.check_hostname:
            raise InvalidInput(
                "verify must be an SSLContext that checks certificates and host names; whoever "
                "is in between would read the key otherwise."
            )
        self._open(context, transport)

    def _open(self, verify: ssl.SSLContext, transport: Any) -> None:
        """Make what does the sending."""
        raise NotImplementedError

    @property
    def limits(self) -> Limits:
        """What may leave through this client."""
        return self._questions.limits

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._questions.address)!r})"
