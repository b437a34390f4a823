"""Ours: who and what is recognised in paintings, `sfumato experiment recognition`.

A picture is protected, attacked and painted again. Then machines look at the painting as a person
would: is it the same face as in another photograph, can its text be read?
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.dictionary import Dictionary
from sfumato.execution import current
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import Checked, option
from sfumato_papers.harness.outcomes import (
    Kept,
    append_record,
    decode,
    plain,
    records_of,
)
from sfumato_papers.harness.table import Table
from sfumato_papers.harness.work import evenly, worked_through
from sfumato_papers.ldp_feat.inversion.outcomes import Setting
from sfumato_papers.ldp_feat.inversion.releases import Picture
from sfumato_papers.ours.recognition.attackers import WORD_ATTACKS, Attackers, rows_of
from sfumato_papers.ours.recognition.faces import FaceJudge, read_portraits
from sfumato_papers.ours.recognition.outcomes import (
    JOURNAL,
    Outcome,
    better_of,
    face_rows,
    text_rows,
)
from sfumato_papers.ours.recognition.signs import SignJudge, read_signs
from sfumato_papers.ours.recognition.tables import (
    face_notes,
    face_table,
    sent,
    shared_notes,
    text_notes,
    text_table,
)


@dataclass(frozen=True)
class Settings(Checked):
    """Are people recognised and signs read in pictures painted from what was sent of them?

    Needs dlib for faces and rapidocr for text. Outcomes are written as they are made; the same
    command goes on where it was stopped, and one that asks for more pictures adds them.

    Example: sfumato experiment recognition --faces people --signs photos -o recognition
    """

    faces: Path | None = option(None, "A folder for each person, with photographs of them.")
    per_person: int = option(2, "Photographs of each that are sent and painted.", low=1)
    scale: int = option(3, "Enlarge them so many times before features are taken.", low=1)
    signs: Path | None = option(None, "Photographs to put signs with text on.")
    num_pictures: int = option(20, "How many of these, spread evenly.", low=1)
    dimensions: tuple[int, ...] = option((2, 4), "m of lifts, several.", "--dimension", low=2)
    database: tuple[str, ...] = option(
        (), "Lifts: pictures whose descriptors are W; else the dictionary.", repeat=True
    )
    epsilons: tuple[float, ...] = option(
        (12.0, 10.0, 8.0, 6.0), "ε per descriptor, several.", "--epsilon", epsilon=True
    )
    word_attacks: tuple[str, ...] = option(
        WORD_ATTACKS,
        "direct: a network that reads words; posterior: the word painted as raw.",
        "--word-attack",
        choices=WORD_ATTACKS,
    )
    dictionary: str = option("open-64k", "Of the words, by name or folder.")
    networks: Path | None = option(None, "Folder of networks besides the shipped ones.")
    false_accept: float = option(0.01, "Share of pairs of two people that may pass for one.")
    num_shown: int = option(6, "Pictures of each kind kept to look at.", "--show", low=0)
    threads: int | None = option(None, "Of the networks.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.false_accept < 1:
            raise InvalidInput(f"false-accept must be between 0 and 1, got {self.false_accept!r}.")


@dataclass(frozen=True, eq=False)
class _Work:
    """Pictures of one part, and who judges what is painted of them."""

    part: str
    pictures: Sequence[Any]
    judge: Any


def _run(settings: Settings, path: Path) -> None:
    parts = []
    head: dict[str, Any] = {"dictionary": "", "database": ""}
    if settings.faces is None and settings.signs is None:
        raise InvalidInput("give --faces or --signs with a folder, or --evaluate with outcomes.")
    if settings.faces is not None:
        judge, portraits = read_portraits(settings.faces, settings.per_person, settings.scale)
        parts.append(_Work("faces", portraits, judge))
        head["faces"] = _about_faces(settings, judge)
    if settings.signs is not None:
        parts.append(_Work("text", read_signs(settings.signs, settings.num_pictures), SignJudge()))
    words = Dictionary.load(settings.dictionary)
    attackers = Attackers(
        words, settings.database, settings.networks, path.parent, settings.threads
    )
    head["dictionary"] = words.fingerprint
    head["database"] = attackers.knowledge.words.fingerprint
    kept = JOURNAL.begin(path, head, "outcomes of other people, words or settings")
    current().check_path(path.parent)  # where workers read and write
    rows = []
    asked = (settings.dimensions, settings.epsilons, settings.word_attacks)
    for row in rows_of(*asked, words):
        reason = attackers.why_not(row)
        if reason:
            append_record(path, {"kind": "absent", "row": plain(row), "reason": reason})
            continue
        _check_painter(kept, row, attackers.painter_of(row))
        rows.append(row)
    for work in parts:
        _fill(kept, work, attackers, rows, settings.num_shown)


def _about_faces(settings: Settings, judge: FaceJudge) -> dict[str, Any]:
    known = hashlib.sha256(judge.references.encode()).hexdigest()[:16]
    return {
        "data": Path(settings.faces or "").resolve().name,
        "scale": settings.scale,
        "people": list(judge.people),
        "fingerprint": known,
    }


def _check_painter(kept: Kept[Outcome], row: Setting, painter: str) -> None:
    """A table must not mix painters: one row is painted by one network."""
    others = {one.network for one in kept.outcomes.values() if one.row == row} - {painter}
    if others:
        raise Mismatch(
            f"{kept.path} has pictures painted by {min(others)}, now it would be {painter}; give "
            "another folder."
        )


def _fill(
    kept: Kept[Outcome], work: _Work, attackers: Attackers, rows: Sequence[Setting], show: int
) -> None:
    shown = {one.name for one in evenly(work.pictures, show)} if show else set()
    todo = [
        (picture, row)
        for picture in work.pictures
        for row in rows
        if (work.part, row, picture.name) not in kept
    ]
    folder = kept.path.parent / "pictures" / work.part
    light = replace(work, pictures=())
    stage = f"painting, {work.part}"
    for outcome in worked_through(_outcome, todo, stage, attackers, light, shown, folder):
        kept.add(outcome)


def _outcome(
    attackers: Attackers, work: _Work, shown: set[str], folder: Path, item: tuple[Picture, Setting]
) -> Outcome:
    picture, row = item
    painted = attackers.paint(picture, row)
    if picture.name in shown:
        place = folder / picture.name.replace("/", "-")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(painted.pixels).save(place / f"{row.name}.png")
    return Outcome(
        part=work.part,
        row=row,
        picture=picture.name,
        measures=work.judge.judge(picture, painted.pixels),
        num_keypoints=painted.num_keypoints,
        network=painted.network,
        person=getattr(picture, "person", ""),
        height=getattr(picture, "height", 0),
    )


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, outcomes = JOURNAL.read(path)
    made = {one.row for one in outcomes}
    absent = {
        sent(row): str(line["reason"])
        for line in records_of(path, "absent")
        if (row := decode(Setting, line["row"], f"{path} is damaged")) not in made
    }
    lines: list[str | Table] = []
    facts: dict[str, Any] = {**head, "absent": absent}
    parts = {one.part for one in outcomes}
    if "faces" in parts:
        rows, threshold = face_rows(outcomes, head["faces"]["people"], settings.false_accept)
        others = next(row["others"] for row in rows if row["setting"].attack == "photograph")
        lines += ["Faces: is the painting the same person?"]
        lines += [face_table(better_of(rows), len(head["faces"]["people"]))]
        lines += [*face_notes(head, threshold, others), ""]
        facts |= {"faces_rows": rows, "threshold": threshold}
    if "text" in parts:
        rows = text_rows(outcomes)
        lines += ["Text: which words are read again?", text_table(better_of(rows))]
        lines += [*text_notes(rows), ""]
        facts |= {"text_rows": rows}
    networks = list(dict.fromkeys(one.network for one in outcomes if one.network))
    lines += [*shared_notes(head, networks, absent), f"outcomes: {path}"]
    return Report(lines, facts)


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-recognition",
    writes="Folder for outcomes and pictures.",
)
