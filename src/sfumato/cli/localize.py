"""`sfumato localize`: where was this release taken?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sfumato.cli.files import read_release
from sfumato.cli.output import JsonFlag, emit_facts, emit_json
from sfumato.cli.protect import parse_camera
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Localization
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from sfumato.server.mapping import Map


def run(
    release: Annotated[Path, typer.Argument(help="A release (.sfr), never a picture.")],
    world: Annotated[Path, typer.Option("--map", help="The folder of a map.")],
    dictionary: Annotated[
        str | None, typer.Option(help="The words of the release, where the map has no index.")
    ] = "bsds-16k",
    camera: Annotated[
        str | None, typer.Option(help="Intrinsics, if the release has none: MODEL,param,…")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="hloc's pairs.txt: only the images it lists for --query are searched."),
    ] = None,
    query: Annotated[str | None, typer.Option(help="The query's name in --pairs.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the pose of a release in a map, or say why there is none.

    Exit code 0: localized. 1: not localized. 2: bad input.

    Example: sfumato localize out.sfr --map map/
    """
    sent = read_release(release, purpose="localize")
    place = Map.load(world)
    words = None if dictionary is None or sent.kind != "words" else Dictionary.load(dictionary)
    shortlist = None
    if pairs is not None:
        if query is None:
            raise InvalidInput("--pairs needs --query NAME, the query's name in that file.")
        shortlist = shortlist_from_pairs(pairs, query, place)
    result = localize(
        sent,
        place,
        camera=None if camera is None else parse_camera(camera, sent.image_size),
        dictionary=words,
        shortlist=shortlist,
    )
    _tell(result, as_json)
    if result.pose is None:
        raise typer.Exit(1)


def shortlist_from_pairs(path: Path, query: str, world: Map) -> np.ndarray:
    """Images of the map that hloc's pairs.txt lists for a query: one "query image" per line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not a readable pairs file: {error}.") from None
    places = {name: i for i, name in enumerate(world.image_names)}
    wanted = [line.split()[1] for line in lines if line.split()[:1] == [query] and line.split()[1:]]
    if not wanted:
        raise InvalidInput(f"{path} lists no image for {query!r}.")
    unknown = [name for name in wanted if name not in places]
    if unknown:
        raise InvalidInput(f"{len(unknown)} images of {path} are not in the map: {unknown[0]} …")
    return np.array([places[name] for name in wanted], dtype=np.int64)


def _tell(result: Localization, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "localized": result.localized,
        "num_inliers": result.num_inliers,
        "num_matches": result.num_matches,
        "log10_chance": round(result.log10_chance, 2),
        "reason": result.reason,
    }
    if result.pose is not None:
        facts["cam_from_world"] = {
            "rotation": result.pose.rotation.tolist(),
            "translation": result.pose.translation.tolist(),
        }
        facts["center"] = result.pose.center.tolist()
    if as_json:
        emit_json(facts)
        return
    shown = {
        "inliers": f"{result.num_inliers} of {result.num_matches} candidate matches",
        "by chance": f"10^{result.log10_chance:.1f} poses as good as this one expected",
    }
    if result.pose is not None:
        shown["camera at"] = ", ".join(f"{value:.3f}" for value in result.pose.center)
    if result.reason is not None:
        shown["reason"] = result.reason
    emit_facts("localized" if result.localized else "not localized", shown)
