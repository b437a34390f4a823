"""`sfumato protect`: pictures become releases, one each, and the cost is told."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli import pictures as pic
from sfumato.cli.accounting import (
    Account,
    announcement,
    ledger_facts,
    ledger_text,
    release_text,
)
from sfumato.cli.cameras import camera_of
from sfumato.cli.command import applies
from sfumato.cli.files import refuse_release
from sfumato.cli.global_descriptor import GlobalSending
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, begin_output, emit
from sfumato.cli.protect_many import RAW_WARNING, protect_many
from sfumato.cli.protection import Chosen, Protection
from sfumato.cli.selection import Selection, suppression_facts
from sfumato.core.errors import InvalidInput
from sfumato.device.explain import Observed, explain

if TYPE_CHECKING:
    from sfumato.device.global_descriptor import GlobalDescriptor
    from sfumato.device.mechanisms.base import Mechanism

OutputOption = Annotated[Path | None, output("The release to write (.sfr).", shown="none")]
ExplainFlag = Annotated[bool, option("Say what leaves the device, in words.", "--explain")]
CHARGED = {"--ledger --no-ledger --session --cap --cap-exact": "--output"}


@applies(CHARGED)
def run(
    source: pic.Source,
    *,
    output: Annotated[
        Path | None,
        output("The release to write (.sfr); of several pictures, a new folder.", shown="none"),
    ] = None,
    protection: Protection,
    which: pic.Which,
    camera: opt.AnyCamera = None,
    selection: Selection,
    account: Account,
    beside: GlobalSending,
    explain_only: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Every descriptor becomes ω random words, with a proven ε. With --lift each becomes a
    subspace instead: no ε, and known attacks undo it. With --raw descriptors leave as they are.

    What is written with -o is charged first: to your own ledger, unless --ledger names another
    or --no-ledger says that nothing is to be counted. Without -o nothing is kept and nothing is
    charged: use --explain to see what would leave. Several pictures are charged together, all or
    none; their names stay in names.txt, which is not to be sent.

    With --global-epsilon the picture's global descriptor is sent too, as one private vector in a
    file of its own, charged in the same transaction: `sfumato localize --global` ranks with it.

    Example: sfumato protect photo.jpg --epsilon 8 -o out.sfr --explain
    """
    check_request(output, explain_only, account)
    if source.is_file():
        refuse_release(source, "ask release")
    wanted = which.of(source)
    chosen = protection.choose(selection, wanted.features_file)
    vector = beside.choose(protection.dictionary, output, several=wanted.several)
    if wanted.several:
        protect_many(wanted, chosen, selection, camera, account, output, as_json)
    else:
        _protect_one(
            wanted.items[0],
            chosen,
            selection,
            camera,
            account,
            output,
            explain_only,
            as_json,
            None if vector is None else Beside(beside, vector),
        )


@dataclass(frozen=True)
class Beside:
    """What is sent beside the words of one picture, and how it was asked for."""

    asked: GlobalSending
    vector: GlobalDescriptor


def _protect_one(
    picture: pic.Picture,
    chosen: Chosen,
    selection: Selection,
    camera: str | None,
    account: Account,
    output: Path | None,
    explain_only: bool,
    as_json: bool,
    beside: Beside | None,
) -> None:
    from sfumato.core.randomness import SecureRandom
    from sfumato.core.storage import NewFile
    from sfumato.device.mechanisms import Plain, SubsetMechanism
    from sfumato.device.protect import keep_release, release_size, send_together

    observed, rng = Observed(), SecureRandom()
    pipeline, mechanism = chosen.pipeline(selection, observed), chosen.mechanism
    mechanisms: list[Mechanism] = [mechanism] if beside is None else [mechanism, beside.vector]
    second = None if beside is None else beside.asked.global_output
    # Files are made before the long work, and nothing is charged before there is room in them.
    with (
        nullcontext() if output is None else NewFile(output) as file,
        nullcontext() if second is None else NewFile(second) as vector_file,
    ):
        features = picture.select(pipeline, rng)
        event, *more = [one.event(features) for one in mechanisms]
        known = camera_of(picture, features.image_size, camera)
        ledger = None
        if file is not None:
            file.reserve(release_size(features, mechanism))
            if vector_file is not None and beside is not None:
                vector = beside.vector
                vector_file.reserve(release_size(vector.vector(features), vector.sender))
            ledger = account.open()
            begin_output(as_json, announcement(ledger))
        intrinsics = None if known is None else known.camera
        release, *others = send_together(
            features, mechanisms, rng=rng, ledger=ledger, camera=intrinsics
        )
        if file is not None:
            keep_release(file, release.to_bytes())
        if vector_file is not None:
            keep_release(vector_file, others[0].to_bytes())
    chance = mechanism.keep_probability if isinstance(mechanism, SubsetMechanism) else None
    facts = explain(release, event, chance, observed.most_seen_by, observed.found)
    if observed.hidden:
        facts["hidden"] = suppression_facts(observed.hidden[0])
    asked = observed.most_seen_by is not None
    shown = release_text(facts, facts.get("hidden"), full=explain_only, with_object=asked)
    if isinstance(mechanism, Plain):
        facts["warning"] = RAW_WARNING
        shown = {"warning": RAW_WARNING, **shown}
    if known is not None:
        facts["camera"] = known.camera.as_dict() | {"source": known.source}
        shown["camera"] = f"focal length {known.camera.params[0]:.5g} pixels, by {known.source}"
    if beside is not None:
        facts["global"], told = beside.asked.told(others[0], event, more[0])
        shown |= told
    if output is not None:
        facts["ledger"] = ledger_facts(ledger, event, more=more)
        shown |= ledger_text(facts["ledger"], event, more=more)
    tell_written(facts, shown, output, as_json)


def check_request(output: Path | None, explain_only: bool, account: Account) -> None:
    """Refuse before any work what could not be kept, shown or counted."""
    if output is None and not explain_only:
        raise InvalidInput("give -o FILE to write a release, or --explain to see what would leave.")
    if output is not None and output.exists():
        raise InvalidInput(
            f"{output} exists already; send it again as it is, which costs nothing more, or "
            "remove it to draw (and pay) anew."
        )
    account.check()


def tell_written(
    facts: dict[str, Any], shown: dict[str, str], output: Path | None, as_json: bool
) -> None:
    """What was made and what it cost."""
    title = "nothing was written" if output is None else f"wrote {output}"
    emit(as_json, {**facts, "output": None if output is None else str(output)}, title, shown)
