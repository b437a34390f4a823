"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: `sfumato experiment inversion`."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sfumato.adversary.metrics import Interval
from sfumato.core.progress import Progress
from sfumato.core.storage import write_file
from sfumato.detectors import DETECTORS, Detector, YoloFile, find_detectors
from sfumato.dictionary import Dictionary
from sfumato_papers.attacker_knowledge import load_words
from sfumato_papers.harness import plot as draw
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.ldp_feat.inversion.networks import Budget, Networks
from sfumato_papers.ldp_feat.inversion.outcomes import (
    LADDER,
    OutcomeFile,
    Row,
    Setting,
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
from sfumato_papers.ldp_feat.inversion.tables import report_lines

_COLORS = {
    "vertex": draw.RED,
    "database": draw.GOLD,
    "clustering": draw.BLUE,
    "nearest": draw.GRAY,
    "direct": draw.GREEN,
}
_GAP, _HEAD = 4, 30


def draw_sheet(
    folder: Path, columns: Sequence[tuple[str, str]], path: Path, *, side: int = 160
) -> int:
    """Kept pictures as rows, settings as columns, as PNG or JPEG by the name of the file.

    columns  (title, file name without .png); "original" is the photograph
    A picture that lacks a column is left out; returns how many rows there are.
    """
    rows = [
        [home / f"{name}.png" for _, name in columns]
        for home in sorted(entry for entry in folder.glob("*") if entry.is_dir())
        if all((home / f"{name}.png").is_file() for _, name in columns)
    ]
    if not rows:
        return 0
    wide = len(columns) * (side + _GAP) - _GAP
    sheet = Image.new("RGB", (wide, _HEAD + len(rows) * (side + _GAP)), "white")
    pen, font = ImageDraw.Draw(sheet), _font(max(10, side // 11))
    for i, (title, _) in enumerate(columns):
        middle = i * (side + _GAP) + side // 2
        pen.text((middle, _HEAD // 2), title, fill=draw.INK, font=font, anchor="mm")
    for j, files in enumerate(rows):
        for i, file in enumerate(files):
            with Image.open(file) as picture:
                small = picture.convert("RGB")
                if side != SIDE:
                    small = small.resize((side, side), Image.Resampling.LANCZOS)
            sheet.paste(small, (i * (side + _GAP), _HEAD + j * (side + _GAP)))
    data = io.BytesIO()
    jpeg = path.suffix.lower() in (".jpg", ".jpeg")
    sheet.save(data, format="JPEG" if jpeg else "PNG", **({"quality": 88} if jpeg else {}))
    write_file(path, data.getvalue())
    return len(rows)


def _font(size: int) -> ImageFont.FreeTypeFont:
    """Pillow's own font has no ε; matplotlib brings one that has."""
    from matplotlib import get_data_path

    return ImageFont.truetype(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)


def sheets_of(rows: Sequence[Row]) -> dict[str, list[tuple[str, str]]]:
    """The contact sheets these rows can fill, by name: one for each m, one for each (|K|, ω)."""
    settings = {row.setting for row in rows}
    first = [("photograph", "original"), ("raw", Setting("raw").name)]
    sheets: dict[str, list[tuple[str, str]]] = {}
    baselines = [(name, Setting(name).name) for name in ("positions", "mean colour")
                 if Setting(name) in settings]  # fmt: skip
    sheets["raw"] = [*first, *baselines]
    for row in rows:
        defence, attack = row.setting.defence, row.setting.attack
        if defence.strategy:
            key = f"{defence.strategy}-m{defence.dimension}"
            title = f"{attack}, m = {defence.dimension}"
        elif defence.subset_size:
            key = f"words-{defence.num_words}-{defence.subset_size}-{attack}"
            title = f"word{'s' * (defence.subset_size > 1)}, ε = {defence.epsilon:g}"
        else:
            continue
        sheets.setdefault(key, list(first)).append((title, row.setting.name))
    for key, columns in sheets.items():
        if "-m" in key:
            columns.sort(key=lambda column: _rank(column[0]))
    return sheets


def _rank(title: str) -> int:
    """Photograph, then the ladder from most to least shown, then the rest."""
    name = title.split(",")[0]
    order = ("photograph", *LADDER)
    return order.index(name) if name in order else len(order)


def draw_plot(rows: Sequence[Row], path: Path) -> Path:
    """SSIM over m for every attack on lifts, and over ε for words, with intervals."""
    figure, (left, right) = draw.panels(2, (9.5, 3.8), share_y=True)
    lifts: dict[str, list[tuple[float, Interval]]] = {}
    words: dict[str, list[tuple[float, Interval]]] = {}
    for row in rows:
        defence, attack = row.setting.defence, row.setting.attack
        if defence.strategy == "sub-hybrid":
            lifts.setdefault(attack, []).append((defence.dimension, row.ssim))
        elif defence.epsilon is not None and math.isfinite(defence.epsilon):
            name = f"{attack}, |K| = {defence.num_words:,}, ω = {defence.subset_size}"
            words.setdefault(name, []).append((defence.epsilon, row.ssim))
    for attack, points in lifts.items():
        _curve(left, points, _COLORS.get(attack, draw.INK), attack)
    for number, (name, points) in enumerate(words.items()):
        _curve(right, points, f"C{number}", name)
    dimensions = sorted({int(place) for points in lifts.values() for place, _ in points})
    if dimensions:
        draw.log2_ticks(left, dimensions)
    left.set_xlabel("dimension of the subspace, m (no guarantee)")
    left.set_ylabel("SSIM, mean over pictures")
    right.set_xlabel("ε per descriptor (× keypoints for a picture)")
    flat = {row.setting.attack: row.ssim.mean for row in rows
            if row.setting.defence == Setting("raw").defence}  # fmt: skip
    for axis in (left, right):
        for name, style in (("raw", "--"), ("positions", ":"), ("mean colour", "-.")):
            if name in flat:
                axis.axhline(flat[name], color=draw.INK, linestyle=style, linewidth=1, label=name)
        draw.legend(axis)
    return draw.save(figure, path, dpi=150)


def _curve(axis: Any, points: Sequence[tuple[float, Interval]], color: str, label: str) -> None:
    shown = []
    for place, value in sorted(points, key=lambda point: point[0]):
        low, high = np.nan_to_num([value.mean - value.low, value.high - value.mean])
        shown.append((place, value.mean, (low, high)))
    draw.curve(axis, shown, color=color, capsize=2, label=label)


def _run(settings: Settings, path: Path, progress: Progress) -> None:
    settings.check_database()
    spend = _budget(settings)
    folder = needed(settings.pictures)
    squares, unreadable = load_squares(folder, settings.num_pictures, progress=progress)
    listed = "\n".join(f"{one.name} {one.fingerprint}" for one in squares)
    problem: dict[str, Any] = {
        "data": folder.resolve().name,
        "pictures": len(squares),
        "fingerprint": hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest()[:16],
        "unreadable": unreadable,
        "side": SIDE,
        "max_keypoints": MAX_KEYPOINTS,
        "detector": settings.detector or "",
    }
    judge = make_judge(_detector(settings.detector))
    file = OutcomeFile(path, problem)
    knowledge = ldp = None
    if settings.has_lifts:
        known = load_words(settings.database, settings.public, settings.words, progress=progress)
        knowledge = Knowledge(*known)
        file.tell("database", knowledge.facts())
    if "words" in settings.parts:
        ldp = Dictionary.load(settings.dictionary)
        facts = {"fingerprint": ldp.fingerprint, "provenance": ldp.manifest["provenance"]}
        file.tell("dictionary", facts)
    releases = Releases(knowledge, ldp, path.parent / "recovered")
    networks = Networks(
        settings.networks or path.parent / "networks",
        spend,
        dictionary=ldp,
        database=None if knowledge is None else knowledge.words,
        threads=settings.threads,
        one_look=settings.one_look,
        progress=progress,
    )
    run_inversion(squares, releases, networks, settings, judge, file, progress=progress)


def _budget(settings: Settings) -> Budget | None:
    if not settings.train:
        return None
    return Budget(
        settings.train,
        settings.budget,
        settings.width,
        settings.minutes,
        0.03 if settings.perceptual else 0.0,
        settings.threads,
        settings.start_from,
    )


def _detector(name: str | None) -> Detector | None:
    if name is None:
        return None
    if name in DETECTORS or not Path(name).is_file():
        return find_detectors([name])[0]
    return YoloFile(name)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    results = read_outcomes(path)
    rows = summarise(results)
    plot = draw_plot(rows, path.parent / "inversion.png")
    sheets = []
    for name, columns in sheets_of(rows).items():
        sheet = path.parent / f"sheet-{name}.png"
        if draw_sheet(path.parent / PICTURES, columns, sheet):
            sheets.append(str(sheet))
    facts = {
        **results.facts,
        "rows": [row.as_dict() for row in rows],
        "steps": {name: gap.__dict__ for name, gap in steps_down(results)},
        "absent": {row.name: reason for row, reason in results.absent.items()},
        "plot": str(plot),
        "sheets": sheets,
    }
    where = ["", f"outcomes: {path}   plot: {plot}", *sheets]
    return Report([*report_lines(results), *where], facts)


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-inversion",
    writes="Folder for outcomes, pictures and the plot.",
)
