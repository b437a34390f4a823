"""`sfumato localize`: where was this release taken, by a map here or by a server's?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sfumato.cli.accounting import CapOption, LedgerOption, NoLedgerOption, SessionOption
from sfumato.cli.files import read_release
from sfumato.cli.output import JsonFlag, emit_facts, emit_json
from sfumato.cli.protect import parse_camera
from sfumato.cli.server_options import AllowHttpOption, CaFileOption, KeyFileOption
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
)
from sfumato.core.errors import InvalidInput
from sfumato.core.types import Localization
from sfumato.dictionary import Dictionary

if TYPE_CHECKING:
    from sfumato.server.mapping import Map


def run(
    release: Annotated[
        Path,
        typer.Argument(help="A release (.sfr); with --server also a photograph, which stays here."),
    ],
    world: Annotated[
        str, typer.Option("--map", help="The folder of a map; with --server its name or id there.")
    ],
    dictionary: Annotated[
        str | None,
        typer.Option(
            help="The words of the release, where the map has no index; with --server the words "
            "to draw from, or the fingerprint of words to fetch."
        ),
    ] = "bsds-16k",
    camera: Annotated[
        str | None, typer.Option(help="Intrinsics, if the release has none: MODEL,param,…")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="hloc's pairs.txt: only the images it lists for --query are searched."),
    ] = None,
    query: Annotated[str | None, typer.Option(help="The query's name in --pairs.")] = None,
    server: Annotated[
        str | None, typer.Option(help="Ask this server instead of a map here: https://…")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="--server: ε per descriptor of the photograph.")
    ] = None,
    subset_size: Annotated[
        int | None, typer.Option(help="--server: ω, words sent per descriptor; 2 by default.")
    ] = None,
    words: Annotated[
        int | None, typer.Option(help="--server: |K|, one of the dictionary's levels.")
    ] = None,
    keep: Annotated[int | None, typer.Option(help="--server: send only N keypoints.")] = None,
    keep_by: Annotated[
        str, typer.Option(help="--server: which N: by strength, spread or stable.")
    ] = "strength",
    constant_count: Annotated[
        int | None, typer.Option(help="--server: send exactly N keypoints, with decoys.")
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
    ledger: LedgerOption = None,
    no_ledger: NoLedgerOption = False,
    session: SessionOption = "default",
    cap: CapOption = None,
    save: Annotated[
        Path | None,
        typer.Option(help="--server: keep the release in this file before it is sent."),
    ] = None,
    key_file: KeyFileOption = None,
    cache: Annotated[
        Path | None, typer.Option(help="--server: folder for words that are fetched.")
    ] = None,
    max_epsilon: Annotated[
        float | None, typer.Option(help="--server: refuse to send more ε per descriptor.")
    ] = None,
    min_words: Annotated[
        int, typer.Option(help="--server: refuse to send words of a smaller |K|.")
    ] = 1024,
    follow_plan: Annotated[
        bool,
        typer.Option("--follow-plan", help="--server: take its advice, within these limits."),
    ] = False,
    deadline: Annotated[float, typer.Option(help="--server: seconds it may take.")] = 120.0,
    allow_http: AllowHttpOption = False,
    ca_file: CaFileOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the pose of a release in a map, or say why there is none.

    With --server the map is there and the picture stays here: a photograph is protected as
    `sfumato protect` does it, charged to your own ledger unless --ledger names another or
    --no-ledger says that nothing is to be counted, and its words are sent; a release is sent as
    it is, and costs nothing more.

    Exit code 0: localized. 1: not localized. 2: bad input, or no answer.

    Example: sfumato localize out.sfr --map map/
    """
    if server is not None:
        if pairs is not None or query is not None:
            raise InvalidInput("--pairs and --query belong to a map here; leave out --server.")
        from sfumato.cli.localize_server import ServerRequest, ask_server

        request = ServerRequest(
            server=server,
            map=world,
            camera=camera,
            dictionary=dictionary,
            epsilon=epsilon,
            subset_size=subset_size,
            words=words,
            keep=keep,
            keep_by=keep_by,
            constant_count=constant_count,
            hiding={
                "suppress": suppress,
                "boxes": boxes,
                "mask": mask,
                "detector": detector,
                "classes": classes,
                "margin": margin,
                "reach": reach,
                "decoys": decoys,
                "timeout": timeout,
            },
            ledger=ledger,
            no_ledger=no_ledger,
            session=session,
            cap=cap,
            save=save,
            key_file=key_file,
            cache=cache,
            max_epsilon=max_epsilon,
            min_words=min_words,
            follow_plan=follow_plan,
            deadline=deadline,
            allow_http=allow_http,
            ca_file=ca_file,
        )
        answer, facts = ask_server(release, request, quiet=as_json)
        _tell(answer, as_json, facts)
        if answer.pose is None:
            raise typer.Exit(1)
        return
    drawing = (epsilon, subset_size, words, keep, constant_count, suppress, boxes, mask, detector)
    if no_ledger or any(
        one is not None for one in (*drawing, ledger, save, key_file, cache, max_epsilon)
    ):
        raise InvalidInput(
            "a map here is asked with a release; --epsilon, --ledger and the like belong to "
            "--server, or to `sfumato protect`."
        )
    from sfumato.server.localize import localize
    from sfumato.server.mapping import Map

    sent = read_release(release, purpose="localize")
    place = Map.load(Path(world))
    public = None if dictionary is None or sent.kind != "words" else Dictionary.load(dictionary)
    shortlist = None
    if pairs is not None:
        if query is None:
            raise InvalidInput("--pairs needs --query NAME, the query's name in that file.")
        shortlist = shortlist_from_pairs(pairs, query, place)
    result = localize(
        sent,
        place,
        camera=None if camera is None else parse_camera(camera, sent.image_size),
        dictionary=public,
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


def _tell(result: Localization, as_json: bool, more: dict[str, Any] | None = None) -> None:
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
        emit_json(facts | (more or {}))
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
