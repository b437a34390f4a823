"""`sfumato protect`: one photograph becomes one release, and the cost is told."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.accounting import (
    CapOption,
    LedgerOption,
    NoLedgerOption,
    SessionOption,
    announcement,
    check_account,
    ledger_facts,
    ledger_text,
    open_account,
)
from sfumato.cli.output import JsonFlag, begin_output, emit_facts, emit_json
from sfumato.cli.protect_codes import CodesRequest, protect_codes
from sfumato.cli.suppression import (
    BoxesOption,
    ClassesOption,
    DecoysOption,
    DetectorOption,
    MarginOption,
    MaskOption,
    ReachOption,
    SuppressOption,
    TimeoutOption,
    make_suppress,
    suppression_facts,
    suppression_text,
)
from sfumato.core.errors import InvalidInput
from sfumato.core.randomness import SecureRandom
from sfumato.core.storage import NewFile
from sfumato.core.types import Camera
from sfumato.device.explain import explain, explanation_text
from sfumato.device.filters import ConstantCount, Suppression
from sfumato.device.filters.keep import keep_filter
from sfumato.device.mechanisms import SubsetMechanism, SubspaceLifting
from sfumato.device.mechanisms.lifting import STRATEGIES
from sfumato.device.protect import (
    Filter,
    PictureFilter,
    Pipeline,
    keep_release,
    release_size,
    select,
    send,
)
from sfumato.dictionary import Dictionary

_SHORT = ("leaves the device", "guarantee", "whole picture", "not protected")


def run(
    photo: Annotated[Path, typer.Argument(help="The photograph. It stays on this machine.")],
    epsilon: Annotated[
        float | None,
        typer.Option(help="ε per descriptor; inf sends the nearest word unprotected."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the release is written (.sfr).")
    ] = None,
    subset_size: Annotated[int, typer.Option(help="ω, words sent per descriptor.")] = 2,
    lift: Annotated[
        str | None,
        typer.Option(
            help="Instead of ε: hide descriptors in subspaces, with no guarantee. The strategy: "
            f"{', '.join(STRATEGIES)}."
        ),
    ] = None,
    dimension: Annotated[int, typer.Option(help="m, the dimension of lifted subspaces.")] = 4,
    precision: Annotated[
        str, typer.Option(help="Numbers of lifted subspaces: float32 or float16.")
    ] = "float32",
    dither: Annotated[
        float, typer.Option(help="Noise added before lifting, against the vertex attack: .1 on.")
    ] = 0.0,
    dictionary: Annotated[str, typer.Option(help="A dictionary's folder or name.")] = "bsds-16k",
    words: Annotated[
        int | None, typer.Option(help="|K|: one of the dictionary's levels; all words by default.")
    ] = None,
    keep: Annotated[int | None, typer.Option(help="Send only N keypoints.")] = None,
    keep_by: Annotated[
        str,
        typer.Option(
            help="Which N: by strength, spread (strongest of every part) or stable (found again "
            "from elsewhere)."
        ),
    ] = "strength",
    constant_count: Annotated[
        int | None, typer.Option(help="Send exactly N keypoints, with decoys where too few.")
    ] = None,
    suppress: SuppressOption = None,
    boxes: BoxesOption = None,
    mask: MaskOption = None,
    detector: DetectorOption = None,
    classes: ClassesOption = None,
    margin: MarginOption = 0.1,
    reach: ReachOption = 0.0,
    decoys: DecoysOption = False,
    timeout: TimeoutOption = 60.0,
    camera: Annotated[
        str | None, typer.Option(help="Intrinsics to send along: MODEL,param,param,…")
    ] = None,
    ledger: LedgerOption = None,
    no_ledger: NoLedgerOption = False,
    session: SessionOption = "default",
    cap: CapOption = None,
    codes: Annotated[
        bool,
        typer.Option("--codes", help="PHOTO is a file of pictures or codes: one release for each."),
    ] = False,
    encoder: Annotated[
        Path | None, typer.Option(help="--codes: encode pictures with this encoder's file.")
    ] = None,
    values: Annotated[
        int | None, typer.Option(help="--codes: d, the values a code can have, without --encoder.")
    ] = None,
    num_sent: Annotated[
        int | None,
        typer.Option("--send", help="--codes: send k codes of each picture, drawn at random."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="--codes: send these labels along, unprotected.")
    ] = None,
    explain_only: Annotated[
        bool, typer.Option("--explain", help="Say what leaves the device, in words.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Replace every descriptor of a photograph by random public words, with a proven ε.

    With --lift each becomes a subspace instead: no ε, and known attacks undo it.

    With --codes the input is a file of many pictures, sent as randomized codes to learn from.

    What is written with -o is charged first: to your own ledger, unless --ledger names another
    or --no-ledger says that nothing is to be counted. Without -o nothing is kept and nothing is
    charged: use --explain to see what would leave.

    Example: sfumato protect photo.jpg --epsilon 10 --subset-size 2 -o out.sfr --explain
    """
    if output is None and not explain_only:
        raise InvalidInput("give -o FILE to write a release, or --explain to see what would leave.")
    if output is not None and output.exists():
        raise InvalidInput(
            f"{output} exists already; send it again as it is, which costs nothing more, or "
            "remove it to draw (and pay) anew."
        )
    check_account(ledger, no_ledger, cap)
    if codes:
        if lift is not None or keep is not None or constant_count is not None or camera is not None:
            raise InvalidInput("--codes sends no keypoints; leave out --lift, --keep and the like.")
        if (suppress, boxes, mask, detector) != (None, None, None, None) or decoys:
            raise InvalidInput("--codes sends whole pictures; nothing in them can be suppressed.")
        request = CodesRequest(
            epsilon, encoder, values, num_sent, labels, output, ledger, no_ledger, session, cap
        )
        protect_codes(photo, request, as_json=as_json)
        return
    if (encoder, values, num_sent, labels) != (None, None, None, None):
        raise InvalidInput("--encoder, --values, --send and --labels belong to --codes; add it.")
    public = Dictionary.load(dictionary)
    if words is not None:
        public = public.at(words)
    mechanism = _mechanism(public, epsilon, subset_size, lift, dimension, precision, dither)
    if decoys and lift is not None:
        raise InvalidInput(
            "--decoys needs --epsilon: a decoy is a public word, which lifting does not hide."
        )
    hidden: list[Suppression] = []
    hide = make_suppress(
        public,
        hidden.append,
        suppress=suppress,
        boxes=boxes,
        mask=mask,
        detector=detector,
        classes=classes,
        margin=margin,
        reach=reach,
        decoys=decoys,
        timeout=timeout,
    )
    filters: list[Filter | PictureFilter] = [] if hide is None else [hide]
    if keep is not None:
        filters.append(keep_filter(keep, keep_by))
    elif keep_by != "strength":
        raise InvalidInput("--keep-by chooses among keypoints; say how many with --keep N.")
    if constant_count is not None:
        filters.append(ConstantCount(constant_count, public))
    rng = SecureRandom()
    pipeline = Pipeline(mechanism, extractor=public.extractor, filters=tuple(filters))
    # The file is made before the long work, and nothing is charged before there is room in it.
    with nullcontext() if output is None else NewFile(output) as file:
        features = select(photo, pipeline, rng=rng)
        event = mechanism.event(features)
        intrinsics = None if camera is None else parse_camera(camera, features.image_size)
        account = None
        if file is not None:
            file.reserve(release_size(features, mechanism))
            account = open_account(ledger, no_ledger, session, cap)
            begin_output(as_json, announcement(account))
        release = send(features, mechanism, rng=rng, ledger=account, camera=intrinsics)
        if file is not None:
            keep_release(file, release.to_bytes())
    chance = mechanism.keep_probability if isinstance(mechanism, SubsetMechanism) else None
    facts = explain(release, event, chance)
    if hidden:
        facts["hidden"] = suppression_facts(hidden[0])
    counted: dict[str, str] = {}
    if output is not None:
        facts["ledger"] = ledger_facts(account, event)
        counted = ledger_text(facts["ledger"], event)
    _tell(facts, counted, output, explain_only, as_json)


def _mechanism(
    public: Dictionary,
    epsilon: float | None,
    subset_size: int,
    lift: str | None,
    dimension: int,
    precision: str,
    dither: float,
) -> SubsetMechanism | SubspaceLifting:
    if epsilon is not None and lift is None:
        return SubsetMechanism(epsilon, subset_size, public)
    if lift is not None and epsilon is None:
        return SubspaceLifting(lift, dimension, public, precision=precision, dither=dither)
    raise InvalidInput(
        "give --epsilon for words with a guarantee, or --lift STRATEGY for subspaces without one; "
        "one of the two."
    )


def parse_camera(text: str, image_size: tuple[int, int]) -> Camera:
    """A camera from "MODEL,param,param,…", as COLMAP writes it."""
    model, *numbers = text.split(",")
    try:
        params = tuple(float(number) for number in numbers)
    except ValueError:
        raise InvalidInput(
            f"camera must be MODEL,param,param,… with numbers, got {text!r}."
        ) from None
    return Camera(model, *image_size, params)


def _tell(
    facts: dict[str, Any],
    counted: dict[str, str],
    output: Path | None,
    explained: bool,
    as_json: bool,
) -> None:
    if as_json:
        emit_json({**facts, "output": None if output is None else str(output)})
        return
    text = explanation_text(facts)
    if not explained:
        text = {key: value for key, value in text.items() if key in _SHORT}
    if "hidden" in facts:
        text["hidden"] = suppression_text(facts["hidden"])
    emit_facts(f"wrote {output}" if output else "nothing was written", text | counted)
