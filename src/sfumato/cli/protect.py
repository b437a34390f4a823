"""`sfumato protect`: one photograph becomes one release, and the cost is told."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.accounting import (
    Account,
    announcement,
    ledger_facts,
    ledger_text,
    release_text,
)
from sfumato.cli.command import applies
from sfumato.cli.options import option, output
from sfumato.cli.output import JsonFlag, begin_output, emit
from sfumato.cli.own_code import MechanismOptions, find_extractor, make_own, read_options
from sfumato.cli.selection import Selection, suppression_facts, words_to_send
from sfumato.core.defaults import DEFAULT_DICTIONARY, DEFAULT_SUBSET_SIZE, LIFT_STRATEGIES
from sfumato.core.errors import InvalidInput
from sfumato.device.explain import Observed, explain

OutputOption = Annotated[Path | None, output("The release to write (.sfr).", shown="none")]
ExplainFlag = Annotated[bool, option("Say what leaves the device, in words.", "--explain")]
RAW_WARNING = (
    "NOTHING IS PROTECTED: raw descriptors show what the picture shows, and a picture can be made "
    "from them again. Give this file only to a server that may see the picture."
)
CHARGED = {"--ledger --no-ledger --session --cap --cap-exact": "--output"}


@applies(
    CHARGED
    | {
        "--subset-size": "--epsilon",
        "--epsilon --decoys --object --object-detector": "not --lift",
        "--subset-size --lift": "not --mechanism",
        "--dimension --precision --dither": "--lift",
        "--mechanism-options": "--mechanism",
        "--epsilon --subset-size --lift --mechanism --words --decoys --object "
        "--object-detector": "not --raw",
    }
)
def run(
    photo: opt.Image,
    *,
    epsilon: Annotated[
        float | None, option("ε per descriptor; inf sends the nearest word unprotected.")
    ] = None,
    output: OutputOption = None,
    subset_size: opt.SubsetSize = DEFAULT_SUBSET_SIZE,
    lift: Annotated[
        str | None,
        option(
            "Instead of ε: hide descriptors in subspaces, with no guarantee; "
            f"{', '.join(LIFT_STRATEGIES)}.",
            metavar="STRATEGY",
        ),
    ] = None,
    dimension: Annotated[int, option("m, the dimension of lifted subspaces.")] = 4,
    precision: Annotated[str, option("Of lifted subspaces: float32 or float16.")] = "float32",
    dither: Annotated[
        float, option("Noise added before lifting, against the vertex attack: .1 on.")
    ] = 0.0,
    raw: Annotated[
        bool,
        option("Send descriptors as they are, to compare with. NOTHING IS PROTECTED.", "--raw"),
    ] = False,
    mechanism: Annotated[
        str | None,
        option(
            "A mechanism of your own instead of these; see docs/add-your-own.md.",
            metavar="MODULE:NAME",
        ),
    ] = None,
    mechanism_options: MechanismOptions = None,
    extractor: Annotated[
        str | None,
        option("Your own extractor.", metavar="MODULE:NAME", shown="what the dictionary names"),
    ] = None,
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    words: opt.Words = None,
    camera: opt.Camera = None,
    selection: Selection,
    account: Account,
    explain_only: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Every descriptor becomes ω random words, with a proven ε. With --lift each becomes a
    subspace instead: no ε, and known attacks undo it. With --raw descriptors leave as they are.

    What is written with -o is charged first: to your own ledger, unless --ledger names another
    or --no-ledger says that nothing is to be counted. Without -o nothing is kept and nothing is
    charged: use --explain to see what would leave.

    Example: sfumato protect photo.jpg --epsilon 8 -o out.sfr --explain
    """
    from sfumato.core.randomness import SecureRandom
    from sfumato.core.storage import NewFile
    from sfumato.device.mechanisms import Plain, SubsetMechanism, SubspaceLifting
    from sfumato.device.protect import keep_release, release_size, select, send
    from sfumato.dictionary import Dictionary

    check_request(output, explain_only, account)
    public = words_to_send(Dictionary.load(dictionary), words, epsilon, subset_size)
    chosen: Any
    if mechanism is not None:
        given = read_options(mechanism_options) | ({} if epsilon is None else {"epsilon": epsilon})
        chosen = make_own(mechanism, "a mechanism", given, dictionary=public)
    elif raw:
        chosen = Plain()
    elif lift is not None:
        chosen = SubspaceLifting(lift, dimension, public, precision=precision, dither=dither)
    elif epsilon is not None:
        chosen = SubsetMechanism(epsilon, subset_size, public)
    else:
        raise InvalidInput(
            "give --epsilon for words with a guarantee, --lift STRATEGY for subspaces without "
            "one, --mechanism MODULE:NAME for your own, or --raw to protect nothing."
        )
    observed = Observed()
    rng = SecureRandom()
    own = None if extractor is None else find_extractor(extractor)
    pipeline = selection.pipeline(chosen, public, observed, own)
    # The file is made before the long work, and nothing is charged before there is room in it.
    with nullcontext() if output is None else NewFile(output) as file:
        features = select(photo, pipeline, rng=rng)
        event = chosen.event(features)
        intrinsics = None if camera is None else opt.parse_camera(camera, features.image_size)
        ledger = None
        if file is not None:
            file.reserve(release_size(features, chosen))
            ledger = account.open()
            begin_output(as_json, announcement(ledger))
        release = send(features, chosen, rng=rng, ledger=ledger, camera=intrinsics)
        if file is not None:
            keep_release(file, release.to_bytes())
    chance = chosen.keep_probability if isinstance(chosen, SubsetMechanism) else None
    facts = explain(release, event, chance, observed.most_seen_by, observed.found)
    if observed.hidden:
        facts["hidden"] = suppression_facts(observed.hidden[0])
    asked = observed.most_seen_by is not None
    shown = release_text(facts, facts.get("hidden"), full=explain_only, with_object=asked)
    if raw:
        facts["warning"] = RAW_WARNING
        shown = {"warning": RAW_WARNING, **shown}
    if output is not None:
        facts["ledger"] = ledger_facts(ledger, event)
        shown |= ledger_text(facts["ledger"], event)
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
