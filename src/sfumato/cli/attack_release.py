"""`sfumato attack release`: every attack that applies, and what each needs to know."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.files import check_output, read_release
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, emit_json, long_work, make_table, printer
from sfumato.cli.own_code import load_ready
from sfumato.core.arrays import write_arrays
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.plugins import asked_for
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


@applies({"--others --repeat": "not --attack"})
def run(
    release: opt.Release,
    output: Annotated[
        Path | None, output("What was recovered, by attack (.npz).", shown="none")
    ] = None,
    dictionary: Annotated[
        str | None,
        option(
            "The words of the release or of its lifting: a folder or name.",
            metavar="DICTIONARY",
            shown=f"{DEFAULT_DICTIONARY} for words",
        ),
    ] = None,
    public: Annotated[
        str, option("Public descriptors that anyone has.", metavar="DICTIONARY")
    ] = DEFAULT_DICTIONARY,
    others: Annotated[
        list[Path] | None,
        option("One of another picture lifted with the same words; repeat.", metavar="RELEASE"),
    ] = None,
    repeat: Annotated[
        list[Path] | None, option("A further one of the same picture; repeat.", metavar="RELEASE")
    ] = None,
    attack: Annotated[
        str | None,
        option(
            "Run this attack of your own, and no other; see docs/add-your-own.md.",
            metavar="MODULE:NAME",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """No attack sees anything but the release and what its row names.

    Example: sfumato attack release out.sfr
    """
    sent = read_release(release, purpose="attack")
    again = [read_release(path, purpose="attack") for path in repeat or ()]
    if attack is not None:
        plans = [_own_attack(attack, sent, dictionary, public)]
    elif isinstance(sent, SubspaceRelease):
        shared = [read_release(path, purpose="attack") for path in others or ()]
        plans = _on_subspaces(sent, dictionary, public, shared, again)
    elif isinstance(sent, WordRelease):
        refuse_given("is for releases of subspaces, and this one has words", "others", "public")
        plans = _on_words(sent, dictionary, again)
    else:
        raise InvalidInput(
            f"there is no attack on a release of {sent.kind}: "
            + (
                "its descriptors are readable as they are."
                if sent.kind == "plain"
                else "only words and subspaces hide descriptors."
            )
        )
    if output is not None:
        check_output(output, ".npz")
    answers: dict[str, Recovered] = {}
    with long_work() as progress:
        rows = [_row(plan, answers, progress) for plan in plans]
    if output is not None:
        _write(output, answers)
    facts = {"release": repr(sent), "keypoints": len(sent), **_guarantee(sent)}
    if as_json:
        written = None if output is None else str(output)
        emit_json({"kind": sent.kind, **facts, "attacks": rows, "output": written})
    else:
        _print(facts, rows, output)


def _own_attack(address: str, sent: KeypointRelease, dictionary: str | None, public: str) -> Plan:
    """An attack from somebody's own module, given the words it names in its signature."""
    from sfumato.adversary.recover.base import check_recovered

    attack = load_ready(address, "an attack")
    if not callable(attack):
        raise InvalidInput(f"an attack must be a function of a release, {address} is none.")
    words = {"dictionary": dictionary or DEFAULT_DICTIONARY, "database": dictionary or public}
    known = {name: Dictionary.load(text) for name, text in asked_for(attack, **words).items()}
    if not known:
        refuse_given("names words, and this attack asks for none", "dictionary", "public")

    def run(progress: Progress) -> Recovered:
        more = asked_for(attack, progress=progress)
        return check_recovered(attack(sent, **known, **more), address)

    return Plan(address, ", ".join(known) or "nothing", run)


def _on_subspaces(
    sent: SubspaceRelease,
    words: str | None,
    public: str,
    shared: list[KeypointRelease],
    again: list[KeypointRelease],
) -> list[Plan]:
    from sfumato import attacks

    known = None if words is None else Dictionary.load(words)
    strangers = Dictionary.load(public)
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
        Plan("vertex", "nothing", lambda progress: attacks.vertex(sent, progress=progress)),
        Plan("nearest", size, nearest if fits else None, missing),
        Plan("clustering", pool, clustering if fits else None, missing),
        Plan("database", lifting, database if known else None, own),
        Plan("vertex, words known", lifting, vertex if known else None, own),
        _repeats(sent, again, None),
        _inliers(),
    ]


def _on_words(sent: WordRelease, words: str | None, again: list[KeypointRelease]) -> list[Plan]:
    from sfumato import attacks
    from sfumato.adversary.recover.posterior import dictionary_of

    public: Dictionary | None = None
    try:
        public = dictionary_of(sent, Dictionary.load(words or DEFAULT_DICTIONARY))
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


def _repeats(sent: KeypointRelease, again: list[KeypointRelease], words: Dictionary | None) -> Plan:
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


def _write(path: Path, answers: dict[str, Recovered]) -> None:
    arrays: dict[str, Any] = {}
    for attack, recovered in answers.items():
        name = attack.replace(", ", "-").replace(" ", "-")
        for part in ("descriptors", "confidence", "certified"):
            arrays[f"{name}/{part}"] = getattr(recovered, part)
    write_arrays(path, arrays)


def _print(facts: dict[str, Any], rows: list[dict[str, Any]], output: Path | None) -> None:
    table = make_table()
    for name in ("attack", "knowledge used"):
        table.add_column(name, overflow="fold")
    for name in ("guessed", "proven", "confidence", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        if row["run"]:
            table.add_row(
                row["attack"],
                row["knowledge"],
                str(row["answered"]),
                str(row["certified"]),
                f"{row['mean_confidence']:.3f}",
                f"{row['seconds']:.2f}",
            )
    with printer() as console:
        console.print(facts["release"])
        if table.row_count:
            console.print(table)
            console.print(
                f"guessed: of {facts['keypoints']:,} descriptors, those the attack has an answer "
                "for. proven: answers that prove themselves right. confidence: the attack's own, "
                "0 to 1, on average.",
                style="dim",
            )
        for row in rows:
            if not row["run"]:
                console.print(f"{row['attack']} not run: needs {row['needs']}", soft_wrap=True)
        console.print(f"guarantee: {facts['guarantee']}")
        if "bound" in facts:
            console.print(
                f"no guess from this release alone is right in more than {facts['bound']:.3%} of "
                "cases if all words are equally likely"
            )
        console.print(f"not protected: {', '.join(facts['not_protected'])}")
        if output is not None:
            console.print(f"wrote {output}")
