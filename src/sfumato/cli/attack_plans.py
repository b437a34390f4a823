"""Attacks on one release: which apply, what each needs to know, and what came of them.

Nothing here asks the command line, so that workers can do the same for many releases.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.own_code import load_ready
from sfumato.core.arrays import write_arrays
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.plugins import asked_for
from sfumato.core.progress import silent
from sfumato.core.releases import KeypointRelease, SubspaceRelease, WordRelease
from sfumato.core.types import NOT_PROTECTED
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.adversary.recover.base import Recovered
    from sfumato.core.progress import Progress


@dataclass(frozen=True)
class Plan:
    """One attack: what it uses, and how to run it, or what is missing."""

    attack: str
    knowledge: str
    run: Callable[[Progress], Recovered] | None
    missing: str = ""


@dataclass(frozen=True)
class Attacker:
    """What is known besides the release.

    dictionary, public  folders or names, as given
    others, again       releases of other pictures, and further ones of the same picture
    own                 the address of somebody's own attack, which is then the only one
    """

    dictionary: str | None
    public: str
    others: tuple[KeypointRelease, ...] = ()
    again: tuple[KeypointRelease, ...] = ()
    own: str | None = None

    def plans(self, sent: KeypointRelease) -> list[Plan]:
        if self.own is not None:
            return [_own_attack(self.own, sent, self.dictionary, self.public)]
        if isinstance(sent, SubspaceRelease):
            return _on_subspaces(sent, self.dictionary, self.public, self.others, self.again)
        if isinstance(sent, WordRelease):
            return _on_words(sent, self.dictionary, self.again)
        raise InvalidInput(
            f"there is no attack on a release of {sent.kind}: "
            + (
                "its descriptors are readable as they are."
                if sent.kind == "plain"
                else "only words and subspaces hide descriptors."
            )
        )

    def attack(self, sent: KeypointRelease, progress: Progress = silent) -> Attacked:
        answers: dict[str, Recovered] = {}
        rows = [_row(plan, answers, progress) for plan in self.plans(sent)]
        facts = {"kind": sent.kind, "release": repr(sent), "keypoints": len(sent)}
        return Attacked({**facts, **_guarantee(sent)}, rows, answers)


@dataclass(frozen=True)
class Attacked:
    """Facts of the release, a row for every attack, and what those that ran recovered."""

    facts: dict[str, Any]
    rows: list[dict[str, Any]]
    answers: dict[str, Recovered] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        arrays: dict[str, Any] = {}
        for attack, recovered in self.answers.items():
            name = attack.replace(", ", "-").replace(" ", "-")
            for part in ("descriptors", "confidence", "certified"):
                arrays[f"{name}/{part}"] = getattr(recovered, part)
        write_arrays(path, arrays)


@cache
def _words(text: str) -> Dictionary:
    """A dictionary, loaded once by every worker."""
    return Dictionary.load(text)


def _own_attack(address: str, sent: KeypointRelease, dictionary: str | None, public: str) -> Plan:
    """An attack from somebody's own module, given the words it names in its signature."""
    from sfumato.adversary.recover.base import check_recovered

    attack = load_ready(address, "an attack")
    if not callable(attack):
        raise InvalidInput(f"an attack must be a function of a release, {address} is none.")
    words = {"dictionary": dictionary or DEFAULT_DICTIONARY, "database": dictionary or public}
    known = {name: _words(text) for name, text in asked_for(attack, **words).items()}

    def run(progress: Progress) -> Recovered:
        more = asked_for(attack, progress=progress)
        return check_recovered(attack(sent, **known, **more), address)

    return Plan(address, ", ".join(known) or "nothing", run)


def _on_subspaces(
    sent: SubspaceRelease,
    words: str | None,
    public: str,
    shared: Sequence[KeypointRelease],
    again: Sequence[KeypointRelease],
) -> list[Plan]:
    from sfumato import attacks
    from sfumato.adversary.recover.vertex import WHOLE

    known = None if words is None else _words(words)
    proof = "" if sent.extractor in WHOLE else f"; no proof: {sent.extractor} has no whole numbers"
    strangers = _words(public)
    fits = strangers.extractor == sent.extractor
    missing = f"--public with {sent.extractor} descriptors"
    own, lifting = "--dictionary, the words the lifting used", "the words of the lifting"

    def database(progress: Progress) -> Recovered:
        assert known is not None
        parts = 16 if known.num_words % 16 == 0 else 1
        return attacks.database(sent, database=known, num_sub_databases=parts, progress=progress)

    def vertex(progress: Progress) -> Recovered:
        return attacks.vertex(sent, database=known, progress=progress)

    def nearest(progress: Progress) -> Recovered:
        return attacks.nearest(sent, database=strangers, progress=progress)

    def clustering(progress: Progress) -> Recovered:
        return attacks.clustering(sent, database=strangers, others=shared, progress=progress)

    size = f"public descriptors ({strangers.num_words:,})"
    pool = f"public descriptors, {sum(len(one) for one in shared):,} other subspaces"
    return [
        Plan("vertex", f"nothing{proof}", lambda progress: attacks.vertex(sent, progress=progress)),
        Plan("nearest", size, nearest if fits else None, missing),
        Plan("clustering", pool, clustering if fits else None, missing),
        Plan("database", lifting, database if known else None, own),
        Plan("vertex, words known", lifting + proof, vertex if known else None, own),
        _repeats(sent, again, None),
        _inliers(),
    ]


def _on_words(sent: WordRelease, words: str | None, again: Sequence[KeypointRelease]) -> list[Plan]:
    from sfumato import attacks
    from sfumato.adversary.recover.posterior import dictionary_of

    public: Dictionary | None = None
    try:
        public = dictionary_of(sent, _words(words or DEFAULT_DICTIONARY))
    except Mismatch:
        if words is not None:
            raise
    wanted = f"--dictionary, the one whose fingerprint begins with {sent.dictionary[:12]}"

    def posterior(progress: Progress) -> Recovered:
        assert public is not None
        return attacks.posterior(sent, dictionary=public, progress=progress)

    return [
        Plan("posterior", "the dictionary", posterior if public else None, wanted),
        Plan(
            "posterior, context",
            "frequent and neighbouring words",
            None,
            "pictures of the same world; `sfumato experiment recover` has it",
        ),
        _repeats(sent, again, public) if public else Plan("repeats", "", None, wanted),
        _inliers(),
    ]


def _repeats(
    sent: KeypointRelease, again: Sequence[KeypointRelease], words: Dictionary | None
) -> Plan:
    from sfumato import attacks

    releases = [sent, *again]
    return Plan(
        "repeats",
        f"{len(releases)} releases of the picture",
        (lambda progress: attacks.repeats(releases, dictionary=words, progress=progress))
        if again
        else None,
        "--repeat, further releases of the same picture",
    )


def _inliers() -> Plan:
    return Plan("inliers", "", None, "a map and the pose; `sfumato experiment recover` has it")


def _row(plan: Plan, answers: dict[str, Recovered], progress: Progress) -> dict[str, Any]:
    if plan.run is None:
        return {"attack": plan.attack, "run": False, "needs": plan.missing}
    start = time.perf_counter()
    recovered = plan.run(progress)
    seconds = time.perf_counter() - start
    answers[plan.attack] = recovered
    return {
        "attack": plan.attack,
        "run": True,
        "knowledge": plan.knowledge,
        "answered": int((recovered.confidence > 0).sum()),
        "certified": int(recovered.certified.sum()),
        "mean_confidence": float(recovered.confidence.mean()) if len(recovered) else 0.0,
        "seconds": seconds,
    }


def _guarantee(sent: KeypointRelease) -> dict[str, Any]:
    """What holds against every attack: an ε where there is one, nothing for subspaces."""
    from sfumato.adversary.recover.bounds import uniform_accuracy

    if not isinstance(sent, WordRelease):
        return {"guarantee": "none", "not_protected": ["the descriptors", *NOT_PROTECTED]}
    if math.isinf(sent.epsilon):
        return {"guarantee": "none", "not_protected": ["the nearest words", *NOT_PROTECTED]}
    return {
        "guarantee": f"ε = {sent.epsilon:g} per descriptor, {sent.epsilon * len(sent):g} for the "
        f"{len(sent)} of this picture together",
        "bound": uniform_accuracy(sent.epsilon, sent.num_words, sent.subset_size),
        "not_protected": list(NOT_PROTECTED),
    }
