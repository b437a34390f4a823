"""`sfumato plan`: which settings suit a map and an ε."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.options import option
from sfumato.cli.output import JsonFlag, emit_json, long_work, make_table, printer
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.types import NOT_PROTECTED
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.privacy.plan import Choice, Plan


def run(
    map: opt.Map,
    epsilon: Annotated[float, option("ε per descriptor.")],
    picture_epsilon: Annotated[
        float | None, option("The most a whole picture may spend, N·ε.", shown="no limit")
    ] = None,
    keep: Annotated[
        int | None, option("Devices send the N strongest keypoints: try this N only.")
    ] = None,
    hidden: Annotated[
        float, option("Share of the keypoints that suppression will take, 0 to 1.")
    ] = 0.0,
    dictionary: opt.Dictionary = DEFAULT_DICTIONARY,
    images: Annotated[int, option("Images of the map to try each setting on.")] = 10,
    max_distance: Annotated[
        float, option("A trial succeeds within this distance, in the map's unit …")
    ] = 0.25,
    max_angle: Annotated[float, option("… and within this angle, in degrees.")] = 2.0,
    as_json: JsonFlag = False,
) -> None:
    """Images of the map are localized in the map without them. Queries that look different
    will do worse.

    Example: sfumato plan map/ --epsilon 8 --picture-epsilon 8000
    """
    from sfumato.privacy.plan import plan
    from sfumato.server.mapping import Map

    with long_work() as progress:
        made = plan(
            Map.load(map),
            Dictionary.load(dictionary),
            epsilon=epsilon,
            picture_epsilon=picture_epsilon,
            keep=keep,
            hidden=hidden,
            num_images=images,
            max_distance=max_distance,
            max_angle_deg=max_angle,
            progress=progress,
        )
    if as_json:
        emit_json(_as_dict(made))
    else:
        _print(made)


def _as_dict(made: Plan) -> dict[str, Any]:
    return {
        "epsilon_per_descriptor": made.epsilon,
        "picture_epsilon_limit": made.picture_epsilon,
        "hidden_share": made.hidden,
        "recommended": _choice(made.recommended),
        "choices": [_choice(choice) for choice in made.choices],
        "not_protected": list(NOT_PROTECTED),
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "num_words": choice.num_words,
        "subset_size": choice.subset_size,
        "max_keypoints": choice.max_keypoints,
        "share_localized": choice.share,
        "share_interval_95": list(choice.interval),
        "trials": choice.trials,
        "epsilon_per_picture": choice.picture_epsilon,
        "bytes_per_picture": choice.bytes_per_picture,
        "server_seconds_median": choice.seconds,
    }


def _print(made: Plan) -> None:
    best = made.recommended
    keypoints = "all keypoints" if best.max_keypoints is None else f"{best.max_keypoints} keypoints"
    table = make_table()
    for name in (
        "|K|",
        "ω",
        "keypoints",
        "localized",
        "95 %",
        "ε per picture",
        "bytes",
        "server s",
    ):
        table.add_column(name, justify="right")
    for choice in made.choices[:12]:
        low, high = choice.interval
        table.add_row(
            f"{choice.num_words:,}",
            str(choice.subset_size),
            "all" if choice.max_keypoints is None else str(choice.max_keypoints),
            f"{choice.localized}/{choice.trials}",
            f"{low:.0%}–{high:.0%}",
            f"{choice.picture_epsilon:,.0f}",
            f"{choice.bytes_per_picture:,.0f}",
            f"{choice.seconds:.2f}",
        )
    with printer() as console:
        console.print(
            f"ε = {made.epsilon:g} per descriptor: send {keypoints}, "
            f"{best.subset_size} of {best.num_words:,} words each",
            style="bold",
        )
        if made.hidden:
            console.print(f"{made.hidden:.0%} of each picture's keypoints hidden in one box")
        console.print(table)
        if len(made.choices) > 12:
            console.print(f"… and {len(made.choices) - 12} more; --json shows all", style="dim")
        console.print(f"not protected: {', '.join(NOT_PROTECTED)}", style="dim")
