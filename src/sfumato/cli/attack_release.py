"""`sfumato attack release`: every attack that applies, and what each needs to know."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.attack_folder import attack_folder, find_releases, kinds_of
from sfumato.cli.attack_plans import Attacker
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.files import check_output, read_release
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit_json, long_work, make_table, printer
from sfumato.cli.own_code import load_ready
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.plugins import asked_for
from sfumato.core.releases import SubspaceRelease, WordRelease


@applies({"--others --repeat": "not --attack"})
def run(
    release: Annotated[Path, argument("RELEASE", "A release (.sfr), or a folder of them.")],
    *,
    output: Annotated[
        Path | None,
        output("What was recovered, by attack (.npz); of a folder, a new folder.", shown="none"),
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
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """No attack sees anything but the release and what its row names. Releases of a folder are
    attacked one by one, each knowing nothing of the others; stopped, the same command with -o
    goes on.

    Example: sfumato attack release out.sfr
    """
    if release.is_dir():
        refuse_given("is for one release, and this is a folder", "repeat")
        attacker = _attacker(dictionary, public, others, None, attack)
        paths = find_releases(release)
        _check_given(attacker, *kinds_of(paths))
        with running.started():
            attack_folder(paths, output, attacker, as_json=as_json)
        return
    refuse_given("is for folders, and this is one release", "on", "workers")
    sent = read_release(release, purpose="attack")
    attacker = _attacker(dictionary, public, others, repeat, attack)
    _check_given(attacker, sent.kind)
    if output is not None:
        check_output(output, ".npz")
    with long_work() as progress:
        found = attacker.attack(sent, progress)
    if output is not None:
        found.write(output)
    if as_json:
        written = None if output is None else str(output)
        emit_json({**found.facts, "attacks": found.rows, "output": written})
    else:
        _print(found.facts, found.rows, output)


def _attacker(
    dictionary: str | None,
    public: str,
    others: list[Path] | None,
    repeat: list[Path] | None,
    own: str | None,
) -> Attacker:
    """What was given, with folders by their whole path: workers may stand elsewhere."""
    shared, again = (
        tuple(read_release(path, purpose="attack") for path in paths or ())
        for paths in (others, repeat)
    )
    words = None if dictionary is None else _whole_path(dictionary)
    return Attacker(words, _whole_path(public), shared, again, own)


def _whole_path(text: str) -> str:
    return str(Path(text).resolve()) if Path(text).exists() else text


def _check_given(attacker: Attacker, *kinds: str) -> None:
    """Refuse options that no release of these kinds has a use for."""
    if attacker.own is not None:
        attack = load_ready(attacker.own, "an attack")
        if callable(attack) and not asked_for(attack, dictionary=0, database=0):
            refuse_given("names words, and this attack asks for none", "dictionary", "public")
    elif WordRelease.kind in kinds and SubspaceRelease.kind not in kinds:
        refuse_given("is for releases of subspaces, and this one has words", "others", "public")


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
