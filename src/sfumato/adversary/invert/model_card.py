"""What a network was made of, written beside it while it learns: data, licences, time, figures.

Licences are read from a SOURCES.csv in a folder of pictures: columns file, licence and credit.
A picture that it does not list is counted as one of unknown licence.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.crops import Pictures
from sfumato.core.errors import InvalidInput
from sfumato.core.storage import write_file

SOURCES = "SOURCES.csv"
CARD, CREDITS = "card.md", "credits.csv"
UNKNOWN = "unknown"
_COLUMNS = ("file", "licence", "credit")


@dataclass(frozen=True)
class Provenance:
    """Which pictures a network learns from: (file, licence, credit) of each."""

    pictures: tuple[tuple[str, str, str], ...]

    @property
    def licences(self) -> dict[str, int]:
        """How many pictures there are of each licence, the most frequent first."""
        return dict(Counter(licence for _, licence, _ in self.pictures).most_common())

    def credits_csv(self) -> str:
        """A line per picture, for the credit that some licences ask for."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([_COLUMNS, *self.pictures])
        return text.getvalue()


def read_provenance(pictures: Pictures) -> Provenance:
    """Look up every picture in the SOURCES.csv of its folder."""
    listed: dict[Path, dict[str, tuple[str, str]]] = {}
    found = []
    for path, name in zip(pictures.paths, pictures.names, strict=True):
        if path.parent not in listed:
            listed[path.parent] = _read_sources(path.parent / SOURCES)
        found.append((name, *listed[path.parent].get(path.name, (UNKNOWN, ""))))
    return Provenance(tuple(found))


def _read_sources(file: Path) -> dict[str, tuple[str, str]]:
    """(licence, credit) by file; nothing where there is no list."""
    if not file.is_file():
        return {}
    lines = csv.DictReader(io.StringIO(_text(file)))
    if not {*_COLUMNS} <= {*(lines.fieldnames or ())}:
        raise InvalidInput(f"{file} must have the columns {', '.join(_COLUMNS)}; correct it.")
    return {line["file"]: (line["licence"] or UNKNOWN, line["credit"] or "") for line in lines}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} must be a table in UTF-8; write it again.") from None


def read_card(network: Path) -> dict[str, str]:
    """The table about a network in the README.md beside it; empty where there is none.

    A card is a heading with the file's name, and a table of two columns below it.
    """
    file = network.parent / "README.md"
    if not file.is_file():
        return {}
    rows: dict[str, str] = {}
    inside = False
    for line in _text(file).splitlines():
        if line.startswith("#"):
            inside = network.name in line
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if inside and line.startswith("|") and len(cells) == 2 and cells[0].strip("-"):
            rows[cells[0]] = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cells[1]).replace("`", "")
    return rows


def write_card(
    run: Path,
    architecture: Architecture,
    settings: Mapping[str, Any],
    provenance: Provenance,
    *,
    step: int,
    cpu_hours: float,
    scores: Mapping[str, float],
) -> None:
    """Write RUN/card.md and RUN/credits.csv as they are now; what nobody measured says so."""
    a = architecture
    licences = "; ".join(f"{licence}: {count}" for licence, count in provenance.licences.items())
    figures = ", ".join(f"{name} {value:.4f}" for name, value in scores.items()) or "none yet"
    before = int(settings.get("steps_before", 0))
    rows = {
        "takes": f"{a.kind} {a.extractor}, frames {a.frames}; rows of {a.channels} numbers",
        "gives": "an RGB picture of any size",
        "what it is": f"a U-Net of {a.depth} levels, width {a.width}, on blocks of 2×2 pixels",
        "data": f"{len(provenance.pictures)} pictures; credits in {CREDITS}",
        "licences of the data": licences,
        "loss": _losses(settings),
        "steps": f"{step} of {settings['batch']} crops" + (f", after {before}" if before else ""),
        "time": f"{cpu_hours:.1f} CPU hours",
        "energy": "not measured",
        "validation pictures": figures,
        "figures on other pictures": "to be filled in",
        "what it does badly": "to be filled in",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    chosen = "\n".join(f"- {name}: {value}" for name, value in sorted(settings.items()))
    card = f"# A painting network\n\n| | |\n|---|---|\n{table}\n\n## Settings\n\n{chosen}\n"
    run.mkdir(parents=True, exist_ok=True)
    write_file(run / CARD, card.encode())
    write_file(run / CREDITS, provenance.credits_csv().encode())


def _losses(settings: Mapping[str, Any]) -> str:
    parts = ["L1"]
    for name, text in (("structure", "(1 − SSIM)"), ("perceptual", "VGG16")):
        if settings[name]:
            parts.append(f"{settings[name]:g}·{text}")
    if settings["adversarial_after_epoch"] is not None:
        epoch = settings["adversarial_after_epoch"]
        parts.append(f"{settings['adversarial']:g}·discriminator from epoch {epoch}")
    return " + ".join(parts)
