"""Asking a map about several releases, here or on a server, with cameras that may be guesses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.cameras import GUESSED, Intrinsics, like_map
from sfumato.cli.output import emit, long_work, make_table, printer
from sfumato.cli.poses import write_poses
from sfumato.cli.server_options import Question, Server
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.lens import focal_lengths, with_focal
from sfumato.core.releases import KeypointRelease
from sfumato.core.types import Camera, Localization

Answer = Callable[[KeypointRelease, str], Localization]
#: What a guessed focal length is multiplied with until the picture is found: 0.6 to 1.6.
_FACTORS = (1.0, 0.8, 1.25, 0.64, 1.5625)
_SHOWN = 20


@dataclass(frozen=True)
class Query:
    """One release to ask with, under the name its answer is written."""

    name: str
    release: KeypointRelease
    intrinsics: Intrinsics | None = None


@dataclass(frozen=True)
class Asked:
    """A map that answers, and what it tells of itself."""

    answer: Answer
    extractor: str
    camera: Camera | None
    where: str
    check: Callable[[Any], None]


@contextmanager
def on_server(server: Server, map: str, deadline: float) -> Iterator[Asked]:
    """A map of a server; releases are sent as they are, nothing is drawn again."""
    from sfumato.client import Prepared
    from sfumato.client.lookup import check_map

    question = Question(map=map, deadline=deadline)
    with question.client(server) as client:
        found = client.find_map(map)

        def answer(release: KeypointRelease, name: str) -> Localization:  # noqa: ARG001
            return client.send(Prepared(release, release.to_bytes()))

        def check(pipeline: Any) -> None:
            check_map(found, pipeline)

        yield Asked(answer, found.extractor, found.usual_camera, server.server, check)


def with_cameras(queries: Sequence[Query], text: str | None, of_map: Camera | None) -> list[Query]:
    """Queries whose releases carry a camera: their own, the one given, or the map's as a guess."""
    from sfumato.cli.options import parse_camera

    made = []
    for query in queries:
        release, known = query.release, query.intrinsics
        if text is not None and text != "auto":
            if release.camera is not None and known is None:
                raise InvalidInput("the release carries a camera already; leave out --camera.")
            if release.camera is None:
                camera = parse_camera(text, release.image_size)
                release = replace(release, camera=camera)
        elif release.camera is None:
            if text is None:
                raise InvalidInput(
                    "a pose needs the camera's intrinsics and the release carries none; give "
                    "--camera, or --camera auto to begin with the map's own."
                )
            if of_map is None:
                raise InvalidInput(
                    "--camera auto needs a map that tells its own camera, this one does not; give "
                    "--camera MODEL,PARAM,…"
                )
            known = Intrinsics(like_map(of_map, release.image_size), GUESSED)
            release = replace(release, camera=known.camera)
        made.append(Query(query.name, release, known))
    return made


def ask_all(queries: Sequence[Query], asked: Asked) -> Iterator[tuple[Query, Localization]]:
    """Every query with its answer, one after the other."""
    with long_work() as progress:
        for done, query in enumerate(queries, start=1):
            yield query, ask_one(query, asked.answer)
            progress("localizing", done, len(queries))


def ask_one(query: Query, answer: Answer) -> Localization:
    """The answer to one release; a guessed focal length is tried larger and smaller too.

    The same words with another camera beside them: nothing is drawn again, and nothing charged.
    """
    guess = query.intrinsics is not None and query.intrinsics.is_guess
    best: Localization | None = None
    for factor in _FACTORS if guess else (1.0,):
        release = query.release
        if factor != 1 and release.camera is not None:
            release = replace(release, camera=with_focal(release.camera, factor))
        found = answer(release, query.name)
        if best is None or (found.localized, found.num_inliers) > (
            best.localized,
            best.num_inliers,
        ):
            best = found
            if factor != 1 and found.localized and found.camera is None:
                best = replace(found, camera=release.camera)
        if best.localized:
            break
    assert best is not None
    return best


def tell_all(
    asked: Sequence[tuple[Query, Localization]],
    facts: dict[str, Any],
    output: Path | None,
    layout: str,
    *,
    as_json: bool,
    total: int,
    problem: SfumatoError | None = None,
) -> None:
    """Write and print what was found; without any pose the exit code is 1."""
    if problem is not None and not asked:
        raise problem
    found = [(query.name, result) for query, result in asked]
    localized = sum(result.localized for _, result in found)
    if output is not None:
        write_poses(output, found, layout)
    told = {
        **facts,
        "queries": total,
        "answered": len(found),
        "localized": localized,
        "output": None if output is None else str(output),
    }
    if as_json:
        rows = [_facts(query, result) for query, result in asked]
        emit(True, {**told, "results": rows}, "", {})
    else:
        shown = {} if output is None else {"poses": f"{localized} in {output}, format {layout}"}
        title = f"{localized} of {total} localized"
        emit(False, told, title, {**facts.get("shown", {}), **shown})
        _table(asked)
    if problem is not None:
        problem.args = (f"{len(found)} of {total} were answered, then: {problem}",)
        raise problem
    if not localized:
        raise typer.Exit(1)


def _facts(query: Query, result: Localization) -> dict[str, Any]:
    pose = result.pose
    return {
        "name": query.name,
        "localized": result.localized,
        "num_inliers": result.num_inliers,
        "cam_from_world": None
        if pose is None
        else {"quaternion": pose.quaternion.tolist(), "translation": pose.translation.tolist()},
        "center": None if pose is None else pose.center.tolist(),
        "expected_position_error": None if result.error is None else result.error.position,
        "camera": None if result.camera is None else result.camera.as_dict(),
        "warning": result.warning,
        "reason": result.reason,
    }


def _table(asked: Sequence[tuple[Query, Localization]]) -> None:
    table = make_table()
    table.add_column("picture", overflow="fold")
    for name in ("inliers", "camera at", "± by", "focal"):
        table.add_column(name, justify="right", no_wrap=True)
    for query, result in asked[:_SHOWN]:
        camera = result.camera or query.release.camera
        focal = "" if camera is None else f"{focal_lengths(camera)[0]:.0f}"
        if result.pose is None:
            table.add_row(query.name, str(result.num_inliers), "not localized", "", focal)
            continue
        place = " ".join(f"{value:.2f}" for value in result.pose.center)
        error = "" if result.error is None else f"{result.error.position:.2g}"
        table.add_row(query.name, str(result.num_inliers), place, error, focal)
    with printer() as console:
        console.print(table)
        if len(asked) > _SHOWN:
            console.print(f"… and {len(asked) - _SHOWN:,} more; --json has them all")
