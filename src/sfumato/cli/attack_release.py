"""`sfumato attack RELEASE`: every attack that applies, and what each needs to know."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.files import read_release
from sfumato.cli.output import emit_json, printer, progress_bar
from sfumato.core.arrays import write_arrays
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import KeypointRelease, SubspaceRelease, WordRelease
from sfumato.core.storage import check_writable
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.adversary.recover.base import Recovered
    from sfumato.core.progress import Progress

BUNDLED = "bsds-16k"


@dataclass(frozen=True)
class Plan:
    """One attack: what it uses, and how to run it, or what is missing."""

    attack: str
    knowledge: str
    run: Callable[[Progress], Recovered] | None
    missing: str = ""


def attack_release(
    release: Path,
    *,
    dictionary: str | None,
    public: str,
    others: list[Path],
    repeat: list[Path],
    output: Path | None,
    as_json: bool,
) -> None:
    """Run every attack that applies to a release, and say what the others would need."""
    sent = read_release(release, purpose="attack")
    if isinstance(sent, SubspaceRelease):
        plans = _on_subspaces(sent, dictionary, public, others, repeat)
    elif isinstance(sent, WordRelease):
        plans = _on_words(sent, dictionary, repeat)
    else:
        raise InvalidInput(
            f"there is no attack on a release of {sent.kind}: "
            + (
                "its descriptors are readable as they are."
                if sent.kind == "plain"
                else "only words and subspaces hide descriptors."
            )
        )
    if output is not None and output.suffix != ".npz":
        raise InvalidInput(f"--output must end in .npz, got {output.name!r}.")
    if output is not None:
        check_writable(output)
    rows: list[dict[str, Any]] = []
    answers: dict[str, Recovered] = {}
    with progress_bar(quiet=as_json) as progress:
        for plan in plans:
            rows.append(_row(plan, answers, progress))
    if output is not None:
        _write(output, answers)
    facts = {"release": repr(sent), "keypoints": len(sent), **_guarantee(sent)}
    if as_json:
        written = None if output is None else str(output)
        emit_json({"kind": sent.kind, **facts, "attacks": rows, "output": written})
    else:
        _print(facts, rows, output)


def _on_subspaces(
    sent: SubspaceRelease, words: str | None, public: str, others: list[Path], repeat: list[Path]
) -> list[Plan]:
    from sfumato import attacks

    known = None if words is None else Dictionary.load(words)
    strangers = Dictionary.load(public)
    fits = strangers.extractor == sent.extractor
    missing = "" if fits else f"--public with {sent.extractor} descriptors"
    shared = [read_release(path, purpose="attack") for path in others]
    again = [read_release(path, purpose="attack") for path in repeat]
    own = "--dictionary, the words the lifting used"

    def database(progress: Progress) -> Recovered:
        assert known is not None
        parts = 16 if known.num_words % 16 == 0 else 1
        return attacks.database(sent, database=known, num_sub_databases=parts, progress=progress)

    return [
        Plan("vertex", "nothing", lambda progress: attacks.vertex(sent, progress=progress)),
        Plan(
            "nearest",
            f"public descriptors ({strangers.num_words:,})",
            (lambda progress: attacks.nearest(sent, database=strangers, progress=progress))
            if fits
            else None,
            missing,
        ),
        Plan(
            "clustering",
            f"public descriptors, {sum(len(one) for one in shared):,} other subspaces",
            (
                lambda progress: attacks.clustering(
                    sent, database=strangers, others=shared, progress=progress
                )
            )
            if fits
            else None,
            missing,
        ),
        Plan("database", "the words of the lifting", database if known else None, own),
        Plan(
            "vertex, words known",
            "the words of the lifting",
            (lambda progress: attacks.vertex(sent, database=known, progress=progress))
            if known
            else None,
            own,
        ),
        _repeats(sent, again, None),
        _inliers(),
    ]


def _on_words(sent: WordRelease, words: str | None, repeat: list[Path]) -> list[Plan]:
    from sfumato import attacks
    from sfumato.adversary.recover.posterior import dictionary_of

    found: Dictionary | None = None
    try:
        found = dictionary_of(sent, Dictionary.load(words or BUNDLED))
    except Mismatch:
        if words is not None:
            raise
    wanted = f"--dictionary, the one whose fingerprint begins with {sent.dictionary[:12]}"
    again = [read_release(path, purpose="attack") for path in repeat]

    def posterior(progress: Progress) -> Recovered:
        assert found is not None
        return attacks.posterior(sent, dictionary=found, progress=progress)

    return [
        Plan("posterior", "the dictionary", posterior if found else None, wanted),
        Plan(
            "posterior, context",
            "frequent and neighbouring words",
            None,
            "pictures of the same world; `sfumato experiment recover` has it",
        ),
        _repeats(sent, again, found) if found else Plan("repeats", "", None, wanted),
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
    found = plan.run(progress)
    seconds = time.perf_counter() - start
    answers[plan.attack] = found
    return {
        "attack": plan.attack,
        "run": True,
        "knowledge": plan.knowledge,
        "answered": int((found.confidence > 0).sum()),
        "certified": int(found.certified.sum()),
        "mean_confidence": float(found.confidence.mean()) if len(found) else 0.0,
        "seconds": seconds,
    }


def _guarantee(sent: KeypointRelease) -> dict[str, Any]:
    """What holds against every attack: an ε where there is one, nothing for subspaces."""
    from sfumato.adversary.recover.bounds import uniform_accuracy
    from sfumato.core.types import NOT_PROTECTED

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
    for attack, found in answers.items():
        name = attack.replace(", ", "-").replace(" ", "-")
        arrays[f"{name}/descriptors"] = found.descriptors
        arrays[f"{name}/confidence"] = found.confidence
        arrays[f"{name}/certified"] = found.certified
    write_arrays(path, arrays)


def _print(facts: dict[str, Any], rows: list[dict[str, Any]], output: Path | None) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("attack", "knowledge used"):
        table.add_column(name, overflow="fold")
    for name in ("answered", "certified", "confidence", "seconds"):
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
