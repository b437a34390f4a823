"""Reverse engineering, Table 2: `sfumato experiment suppression`, from pictures to the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfumato.adversary.invert import networks
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.storage import write_file
from sfumato.datasets.pascal import read_annotated
from sfumato.detectors import DETECTORS, Detector, YoloFile, detect, find_detectors
from sfumato.dictionary import Dictionary
from sfumato.features import load_image
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.reverse.suppression import JOURNAL, Settings, run_suppression
from sfumato_papers.reverse.suppression_attacks import find_again, read_again, tell_decoys_apart
from sfumato_papers.reverse.suppression_page import draw_sheet, suppression_page
from sfumato_papers.reverse.suppression_table import Results, notes, table

AGAIN, DECOYS, SHEET, PAGE = "again.jsonl", "decoys.json", "suppression.png", "suppression.html"


def _run(settings: Settings, path: Path) -> list[str]:
    folder = path.parent
    pictures = read_annotated(needed(settings.data))
    if not 0 <= settings.shown < len(pictures):
        raise InvalidInput(f"--shown must be below {len(pictures)}, got {settings.shown}.")
    words = Dictionary.load(settings.dictionary)
    eyes = _detector(settings.detector)
    run_suppression(pictures, eyes, words, settings, path)
    if not (folder / DECOYS).exists():
        auc = tell_decoys_apart(pictures, words, settings)
        write_file(folder / DECOYS, json.dumps(auc).encode())
    inverter, remarks = None, []
    try:
        inverter = Inverter(networks.find_network(words.extractor, "raw", settings.networks))
    except Missing as error:
        remarks = [f"found again was not measured: {error}"]
    else:
        find_again(pictures, eyes, inverter, settings, folder / AGAIN)
    picture = pictures[settings.shown]
    (found,) = detect([eyes], load_image(picture.picture), timeout=600)
    draw_sheet(picture, found, words, settings, folder / SHEET, inverter=inverter)
    chosen = f"--margin {settings.margin:g} --epsilon {settings.epsilon:g}"
    page = suppression_page(
        _read(path), load_image(folder / SHEET), f"sfumato experiment suppression {chosen}"
    )
    write_file(folder / PAGE, page.encode())
    return remarks


def _detector(name: str) -> Detector:
    return find_detectors([name])[0] if name in DETECTORS else YoloFile(name, classes=["person"])


def _read(path: Path) -> Results:
    head, outcomes = JOURNAL.read(path)
    decoys = path.parent / DECOYS
    try:
        auc = json.loads(decoys.read_text(encoding="utf-8")) if decoys.exists() else None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        raise InvalidInput(f"{decoys} is damaged; remove it and run again.") from None
    return Results(head, outcomes, read_again(path.parent / AGAIN), auc)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    results, remarks = _read(path), list(ran or ())
    facts = {"decoys_auc": results.auc, "remark": "".join(remarks)}
    where = f"page: {path.parent / PAGE}   outcomes: {path}"
    return Report(
        [table(results.rows()), "", *notes(results), *remarks, where],
        {**results.head, "rows": results.rows(), **facts},
    )


command = make_command(
    Settings, _run, _report, "experiment-suppression", writes="Folder for outcomes, PNG and HTML."
)
