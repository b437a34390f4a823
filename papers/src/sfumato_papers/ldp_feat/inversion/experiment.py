"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: `sfumato experiment inversion`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from sfumato.detectors import DETECTORS, Detector, YoloFile, find_detectors
from sfumato.dictionary import Dictionary
from sfumato.execution import current
from sfumato.execution.threads import Threads
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.ldp_feat.attacker_knowledge import load_words
from sfumato_papers.ldp_feat.inversion.networks import Networks
from sfumato_papers.ldp_feat.inversion.outcomes import (
    OutcomeFile,
    read_outcomes,
    steps_down,
    summarise,
)
from sfumato_papers.ldp_feat.inversion.painting import PICTURES, Settings, run_inversion
from sfumato_papers.ldp_feat.inversion.releases import (
    MAX_KEYPOINTS,
    SIDE,
    Knowledge,
    Releases,
    load_squares,
    make_judge,
)
from sfumato_papers.ldp_feat.inversion.sheets import draw_plot, draw_sheet, sheets_of
from sfumato_papers.ldp_feat.inversion.tables import report_lines


def _run(settings: Settings, path: Path) -> None:
    settings.check_database()
    folder = needed(settings.pictures)
    squares, unreadable = load_squares(folder, settings.num_pictures)
    listed = "\n".join(f"{one.name} {one.fingerprint}" for one in squares)
    detector, said = open_detector(settings.detector, settings.min_score)
    problem: dict[str, Any] = {
        "data": folder.resolve().name,
        "pictures": len(squares),
        "fingerprint": hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()[:16],
        "unreadable": unreadable,
        "side": SIDE,
        "max_keypoints": MAX_KEYPOINTS,
        "detector": said,
    }
    judge = make_judge(detector)
    file = OutcomeFile(path, problem)
    knowledge = ldp = None
    if settings.has_lifts:
        known = load_words(settings.database, settings.public, settings.words)
        knowledge = Knowledge(*known)
        file.tell("database", knowledge.facts())
    if "words" in settings.parts:
        ldp = Dictionary.load(settings.dictionary)
        facts = {"fingerprint": ldp.fingerprint, "provenance": ldp.manifest["provenance"]}
        file.tell("dictionary", facts)
    releases = Releases(knowledge, ldp, path.parent / "recovered")
    networks = Networks(
        settings.networks or path.parent / "networks",
        settings,
        dictionary=ldp,
        database=None if knowledge is None else knowledge.words,
    )
    current().check_path(path.parent)  # where workers read and write
    run_inversion(squares, releases, networks, settings, judge, file)


def open_detector(name: str | None, min_score: float) -> tuple[Detector | None, str]:
    """What finds objects, by name or from a YOLO file, and how outcomes name it."""
    if name is None:
        return None, ""
    path = Path(name)
    if name in DETECTORS or not path.is_file():
        return find_detectors([name])[0], name
    fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    found = YoloFile(path, min_score=min_score, threads=Threads.only)
    return found, f"{path.name} {fingerprint}, score at least {min_score:g}"


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    results = read_outcomes(path)
    rows = summarise(results)
    plot = draw_plot(rows, path.parent / "inversion.png")
    sheets = []
    for name, columns in sheets_of(rows).items():
        sheet = path.parent / f"sheet-{name}.png"
        if draw_sheet(path.parent / PICTURES, columns, sheet):
            sheets.append(sheet)
    facts = {
        **results.facts,
        "rows": rows,
        "steps": dict(steps_down(results)),
        "absent": {row.name: reason for row, reason in results.absent.items()},
        "plot": plot,
        "sheets": sheets,
    }
    where = ["", f"outcomes: {path}   plot: {plot}", *map(str, sheets)]
    return Report([*report_lines(results), *where], facts)


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-inversion",
    writes="Folder for outcomes, pictures and the plot.",
)
