"""`sfumato localize`: where was this release or picture taken, by a map here or on a server?"""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.accounting import Account, announcement
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.files import read_release, refuse_existing
from sfumato.cli.global_descriptor import GlobalRanking
from sfumato.cli.local_map import Shortlist, local_map
from sfumato.cli.localize_many import Asked, Query, ask_all, on_server, tell_all, with_cameras
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, begin_output, emit_facts
from sfumato.cli.pictures import Which, holds_releases
from sfumato.cli.poses import check_format, write_poses
from sfumato.cli.protect_many import (
    Ready,
    account_facts,
    cost_text,
    keep_all,
    ledger_line,
    make_ready,
    read_names,
    release_names,
)
from sfumato.cli.protection import Protection
from sfumato.cli.selection import Selection
from sfumato.cli.server_options import MaybeServer
from sfumato.cli.tell_pose import tell_localization
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.types import Localization
from sfumato.device.explain import Observed

NO_CAMERA = (
    "a pose needs the camera's intrinsics and the release carries none; give --camera, or --camera "
    "auto to begin with the map's own."
)


_PAIRS = ("keypoints", "points")


@applies(
    {
        "--query": "--pairs",
        "--motion --odometry": "--before",
        "--before --gravity --pairs --inliers": "not --server",
        "--before": "not --pairs --gravity --output --inliers",
        "--format": "--output",
        "--inliers": "--json",
    },
)
def run(
    source: Annotated[
        Path,
        argument("SOURCE", "A release (.sfr) or a folder of them; or pictures, as for protect."),
    ],
    *,
    map: Annotated[
        str, option("The folder of a map; with --server its name there.", metavar="MAP")
    ],
    server: MaybeServer,
    output: Annotated[
        Path | None, output("Poses as text: name qw qx qy qz tx ty tz.", shown="none")
    ] = None,
    format: Annotated[
        str,
        option("Names in it: hloc (last part), benchmark (with its folder), full.", metavar="NAME"),
    ] = "hloc",
    protection: Protection,
    which: Which,
    camera: Annotated[
        str | None,
        option(
            "The camera's intrinsics, as COLMAP writes them; auto: by EXIF, else the map's own.",
            metavar="MODEL,PARAM,…|auto",
            shown="auto for pictures, a release's own",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        option("Keep the releases of pictures here before they are asked with.", metavar="FOLDER"),
    ] = None,
    selection: Selection,
    account: Account,
    pairs: Annotated[
        Path | None, option("hloc's pairs.txt: search only the images it lists for a query.")
    ] = None,
    query: Annotated[
        str | None,
        option("The query's name in --pairs.", metavar="NAME", shown="the picture's own"),
    ] = None,
    before: Annotated[
        list[Path] | None,
        option("A release the device made before this one; repeat, in order.", metavar="RELEASE"),
    ] = None,
    motion: Annotated[
        Path | None,
        option("How it moved: lines of RELEASE qw qx qy qz tx ty tz, camera from odometry."),
    ] = None,
    odometry: Annotated[
        str, option("Error of the motion between two releases: of the way, and an angle.")
    ] = "2%/0.5deg",
    measured: opt.Measured,
    ranking: GlobalRanking,
    inliers: Annotated[
        bool, option("Also tell which keypoints agree with the pose, and which points they saw.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Releases are asked with as they are. Pictures are protected first, as `sfumato protect` does
    it with the same options, charged together to your ledger, and never leave this machine. Many
    answers go to -o, as hloc and the benchmarks write them.

    With --before several releases of a moving device are asked together, and the pose of the
    last is told. Each was charged to the ledger when it was made.

    With --global the release's own global descriptor ranks the images of the map together with
    the words' votes; `sfumato protect --global-epsilon` makes it and charges it.

    Exit code 0: localized. 1: not localized. 2: bad input.

    Example: sfumato localize out.sfr --map map/
    """
    check_format(format)
    if output is not None:
        refuse_existing(output)
    if before:
        from sfumato.cli.localize_frames import localize_frames  # a device has no server inside
        from sfumato.server.shards.sharded_map import open_map

        _refuse_protection("is for pictures, and --before asks with releases")
        found = localize_frames(
            [*before, source], motion, odometry, open_map(Path(map)), protection.dictionary, camera
        )
        tell_localization(found[-1], as_json, {"frames": len(found)})
        return
    given = server.given()
    if given is None:
        import_module("sfumato.server")  # names the extra that is missing before anything is read
    if ranking.global_ is not None and (source.is_dir() or not holds_releases(source)):
        raise InvalidInput("--global goes with one release (.sfr), which was made beside it.")
    shortlist = Shortlist(pairs, query, several=source.is_dir())
    place = (
        local_map(Path(map), protection, measured.read(), shortlist, ranking)
        if given is None
        else on_server(given, map, server.deadline)
    )
    if holds_releases(source):
        _refuse_protection("is for pictures, and this is a release")
        queries = read_queries(source)
        if pairs is not None and query is None and not source.is_dir():
            raise InvalidInput("--pairs needs --query NAME, the query's name in that file.")
        if (
            given is None
            and not ranking.global_
            and any(one.release.kind != "words" for one in queries)
        ):
            kind = next(one.release.kind for one in queries if one.release.kind != "words")
            refuse_given(f"has words, and this release has {kind}", "dictionary")
        if camera is None and any(one.release.camera is None for one in queries):
            raise InvalidInput(NO_CAMERA)
        with place as asked:
            ready = with_cameras(queries, camera, asked.camera)
            _answer(
                ready,
                asked,
                ranking.facts(),
                output,
                format,
                as_json,
                inliers,
                several=source.is_dir(),
            )
        return
    account.check()
    wanted = which.of(source)
    chosen = protection.choose(selection, wanted.features_file)
    with place as asked:
        asked.check(chosen.pipeline(selection, Observed()))
        made = make_ready(wanted, chosen, selection, camera or "auto", asked.camera)
        queries, facts = _drawn(made, account, save, as_json)
        _answer(queries, asked, facts, output, format, as_json, inliers, several=wanted.several)


#: Options that say how pictures are protected; releases were protected before.
_PROTECTING = tuple(
    part.name
    for group in (Protection, Which, Selection, Account)
    for part in fields(group)
    if part.name != "dictionary"
)


def _refuse_protection(reason: str) -> None:
    refuse_given(reason, *_PROTECTING, "save")


def _drawn(
    made: Ready, account: Account, save: Path | None, as_json: bool
) -> tuple[list[Query], dict[str, Any]]:
    """Charge and draw; the releases are kept first where that is asked for."""
    if save is not None:
        ledger = keep_all(made, save, account, as_json)
        paths = (save / title for title in release_names(len(made.names)))
        releases: list[Any] = [read_release(path, purpose="localize") for path in paths]
    else:
        ledger = account.open()
        begin_output(as_json, announcement(ledger))
        releases = made.draw(ledger)
    told = made.facts()
    counted = account_facts(ledger)
    shown = cost_text(told) | ledger_line(counted)
    trios = zip(made.names, releases, made.cameras, strict=True)
    return [Query(*trio) for trio in trios], {"sent": told, "ledger": counted, "shown": shown}


def _answer(
    queries: list[Query],
    asked: Asked,
    facts: dict[str, Any],
    output: Path | None,
    layout: str,
    as_json: bool,
    inliers: bool,
    *,
    several: bool,
) -> None:
    """Ask, and tell one answer in full or many as a table."""
    if inliers and several:
        raise InvalidInput("--inliers tells of one answer, this asks for several; leave it out.")
    found: list[tuple[Query, Localization]] = []
    problem = None
    try:
        for pair in ask_all(queries, asked):
            found.append(pair)
    except SfumatoError as error:
        if not several:
            raise
        problem = error
    if several:
        tell_all(
            found,
            facts,
            output,
            layout,
            as_json=as_json,
            total=len(queries),
            problem=problem,
        )
        return
    if output is not None:
        write_poses(output, [(query.name, result) for query, result in found], layout)
    shown = facts.pop("shown", {})
    if shown and not as_json:
        emit_facts(f"asking {asked.where}", shown)
    agree = found[0][1].inliers
    if inliers:
        told = None if agree is None else {name: getattr(agree, name).tolist() for name in _PAIRS}
        facts["inliers"] = told
    tell_localization(found[0][1], as_json, facts)


def read_queries(source: Path) -> list[Query]:
    """A release, or all of a folder, under the names this device knows them by."""
    if not source.is_dir():
        return [Query(source.name, read_release(source, purpose="localize"))]
    known = read_names(source)
    return [
        Query(known.get(path.name, path.name), read_release(path, purpose="localize"))
        for path in sorted(source.glob("*.sfr"))
    ]
