"""`sfumato plan`: the settings that localize a wanted share at the least price."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from sfumato.cli import options as opt
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.options import option
from sfumato.cli.output import JsonFlag, emit_facts, emit_json, long_work, make_table, printer
from sfumato.cli.own_code import find_extractor
from sfumato.cli.protection import no_words
from sfumato.cli.selection import parse_object
from sfumato.cli.values import names
from sfumato.core.accounting import DELTA
from sfumato.core.defaults import DEFAULT_DICTIONARY
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.types import NOT_PROTECTED
from sfumato.device.explain import advantage_sentence, short
from sfumato.dictionary import Dictionary
from sfumato.privacy.price import price_text

if TYPE_CHECKING:
    from sfumato.privacy.plan import Choice, Plan


@applies({"--object --extractor": "--photos", "--seen-by": "not --object"})
def run(
    map: opt.Map,
    *,
    share: Annotated[
        float | None,
        option(
            "The share of queries to localize, 0 to 1.", shown="0.9, or the most --at-most buys"
        ),
    ] = None,
    at_most: Annotated[
        float | None, option("The most a picture or an object may pay.", shown="no limit")
    ] = None,
    unit: Annotated[
        str,
        option(
            "What is paid: picture (E at δ = 1e-6), total (N·ε) or object (advantage).",
            metavar="UNIT",
        ),
    ] = "picture",
    epsilon: Annotated[
        float | None, option("ε per descriptor, where it is fixed.", shown="searched for")
    ] = None,
    keep: Annotated[
        int | None, option("Devices send the N best keypoints: try this N only.", shown="several")
    ] = None,
    keep_by: Annotated[
        str,
        option("How N are chosen: strength, spread, stable; try several.", metavar="NAME,…"),
    ] = "strength",
    object: Annotated[
        str | None, option("Size in pixels of the object that pays.", metavar="WIDTHxHEIGHT")
    ] = None,
    seen_by: Annotated[
        int | None, option("How many descriptors see the object, where that is known.")
    ] = None,
    photos: Annotated[
        Path | None, option("The photographs the map was made of.", metavar="FOLDER")
    ] = None,
    extractor: Annotated[
        str | None,
        option(
            "What describes --photos: a name, an .onnx file, module:name.",
            metavar="NAME",
            shown="the map's",
        ),
    ] = None,
    hidden: Annotated[
        float, option("Share of the keypoints that suppression will take, 0 to 1.")
    ] = 0.0,
    view_change: Annotated[
        float | None,
        option(
            "Degrees by which queries differ from the nearest view of the map, turn and parallax.",
            shown="as a left-out stretch of the map does",
        ),
    ] = None,
    dictionary: Annotated[
        str, option("Public words: folders or names.", metavar="DICTIONARY,…")
    ] = DEFAULT_DICTIONARY,
    trials: Annotated[
        int, option("Made for the prediction, on as many images of the map as there are.")
    ] = 80,
    max_distance: Annotated[
        float, option("A trial succeeds within this distance, in the map's unit …")
    ] = 0.25,
    max_angle: Annotated[float, option("… and within this angle, in degrees.")] = 2.0,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """Images of the map are localized in the map without them and their neighbours, with many
    settings; the best one is tried again. Features are the map's own, of whatever extractor;
    --dictionary must hold words of the same.

    Example: sfumato plan map/ --share 0.9 --at-most 2000
    """
    from sfumato.features import EXTRACTORS
    from sfumato.privacy.photos import MapPhotos
    from sfumato.privacy.plan import plan
    from sfumato.privacy.plan_grid import Grid
    from sfumato.privacy.rehearsal import Question
    from sfumato.server.mapping import Map

    question = Question(
        hidden=hidden,
        degrees=view_change,
        object_size=None if object is None else parse_object(object),
        seen_by=seen_by,
        max_distance=max_distance,
        max_angle_deg=max_angle,
    )
    if object is None and "stable" not in names(keep_by):
        refuse_given("is looked at for --object or --keep-by stable", "photos")
    world = Map.load(map)
    given = [Dictionary.load(name) for name in names(dictionary)]
    for one in given:
        if one.extractor != world.extractor:
            raise Mismatch(no_words(world.extractor, one.extractor))
    pictures = None if photos is None else MapPhotos(photos, world.image_names)
    if pictures is not None and extractor is None and world.extractor not in EXTRACTORS:
        raise InvalidInput(
            f"the map is of {world.extractor}, which does not come with sfumato; give --extractor "
            "what describes the photographs, an .onnx file or module:name."
        )
    with long_work() as progress, running.started():
        made = plan(
            world,
            given,
            share=share,
            at_most=at_most,
            unit=unit,
            epsilon=epsilon,
            keep=keep,
            photos=pictures,
            extractor=None if extractor is None else find_extractor(extractor),
            num_trials=trials,
            grid=Grid(keep_by=names(keep_by)),
            question=question,
            progress=progress,
        )
    if as_json:
        emit_json(_as_dict(made, names(dictionary)))
    else:
        _print(made, names(dictionary))


def _as_dict(made: Plan, dictionaries: tuple[str, ...]) -> dict[str, Any]:
    turn, distance, degrees = _median_change(made)
    return {
        "unit": made.unit,
        "share_wanted": made.share,
        "at_most": made.at_most,
        "share_reached": made.reaches,
        "hidden_share": made.question.hidden,
        "recommended": _choice(made.recommended, dictionaries),
        "others": [_choice(choice, dictionaries) for choice in made.others],
        "meant_for": {"turn_deg": turn, "distance": distance, "view_change_deg": degrees},
        "trials": made.num_trials,
        "seconds": made.seconds,
        "delta": DELTA,
        "not_protected": list(NOT_PROTECTED),
    }


def _choice(choice: Choice, dictionaries: tuple[str, ...]) -> dict[str, Any]:
    facts = asdict(choice.setting)
    return {
        **facts,
        "dictionary": dictionaries[choice.setting.dictionary],
        "epsilon_per_descriptor": choice.epsilon,
        "share_localized": choice.share,
        "share_interval_95": list(choice.interval),
        "trials": choice.trials,
        "epsilon_per_picture": choice.price.total,
        "exact_epsilon_per_picture": choice.price.picture,
        "object_seen_by": choice.price.seen_by,
        "advantage_per_object": choice.price.object,
        "bytes_per_picture": choice.bytes_per_picture,
        "server_seconds_median": choice.seconds,
        "tried_again": choice.is_fresh,
    }


def _median_change(made: Plan) -> tuple[float, float, float]:
    turn, distance, degrees = (
        float(np.median([getattr(change, name) for change in made.view_changes]))
        for name in ("turn_deg", "distance", "degrees")
    )
    return turn, distance, degrees


def _print(made: Plan, dictionaries: tuple[str, ...]) -> None:
    best, price = made.recommended, made.recommended.price
    low, high = best.interval
    turn, distance, degrees = _median_change(made)
    facts = {
        "localized": f"{best.share:.0%} of queries like those tried, 95 %: {low:.0%} to {high:.0%}",
        "whole picture": f"E = {short(price.picture)}, the ε of all descriptors together, except "
        f"with probability {DELTA:g}; never more than N·ε = {short(price.total)}",
    }
    if made.share is not None and round(best.share, 2) < round(made.share, 2):
        facts["localized"] += f"; {made.share:.0%} were wanted, " + (
            "which may still be"
            if high >= made.share
            else "no setting tried gives that" + ("" if made.at_most is None else " for the limit")
        )
    if price.object is not None:
        facts["one object"] = (
            f"seen by {price.seen_by:,} descriptors: {advantage_sentence(price.object)}"
        )
    facts["meant for"] = (
        f"queries about as far from the map as the images tried: turned by {turn:.0f}° and "
        f"{distance:.2g} away from the nearest view, {degrees:.0f}° with parallax (medians). "
        "Other light, seasons and cameras do worse"
    )
    if made.question.hidden:
        facts["hidden"] = f"{made.question.hidden:.0%} of each picture's keypoints, in one box"
    facts["not protected"] = ", ".join(NOT_PROTECTED)
    facts["it took"] = f"{made.num_trials:,} trials, {made.seconds:,.0f} s"
    emit_facts(_title(best, dictionaries), facts)
    if made.others:
        _print_others(made, dictionaries)


def _title(best: Choice, dictionaries: tuple[str, ...]) -> str:
    setting = best.setting
    words = f"{setting.subset_size} of {setting.num_words:,} words"
    if len(dictionaries) > 1:
        words += f" of {dictionaries[setting.dictionary]}"
    limit = setting.object_limit
    return (
        f"ε = {best.epsilon:g} per descriptor; send at most {setting.max_keypoints:,} keypoints"
        + ("" if setting.keep_by == "strength" else f" by {setting.keep_by}")
        + f", {words} each"
        + ("" if limit is None else f", at most {limit} that see one object")
    )


def _print_others(made: Plan, dictionaries: tuple[str, ...]) -> None:
    table = make_table()
    several, by_object = len(dictionaries) > 1, made.unit == "object"
    heads = ["|K|", "ω", "keypoints", "ε", "localized", "E", "object" if by_object else "N·ε"]
    for name in [*heads, "words" if several else "server s"]:
        table.add_column(name, justify="right", no_wrap=True)
    for choice in made.others:
        setting, price = choice.setting, choice.price
        kept = f"{setting.max_keypoints:,}"
        kept += "" if setting.keep_by == "strength" else f" {setting.keep_by}"
        kept += "" if setting.object_limit is None else f" ≤{setting.object_limit}"
        table.add_row(
            f"{setting.num_words:,}",
            str(setting.subset_size),
            kept,
            f"{choice.epsilon:g}",
            f"{choice.localized}/{choice.trials}",
            price_text(price, "picture"),
            price_text(price, "object" if by_object else "total"),
            Path(dictionaries[setting.dictionary]).name if several else f"{choice.seconds:.2f}",
        )
    with printer() as console:
        console.print("\nother settings, in the draws that chose among them", style="bold")
        console.print(table)
