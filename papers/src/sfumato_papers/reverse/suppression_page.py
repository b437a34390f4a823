"""Reverse engineering, Table 2: suppression as a picture and as a page of HTML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.infer.holes import HolesAttack
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Features
from sfumato.datasets.pascal import Annotated
from sfumato.detectors.base import Boxes
from sfumato.device.filters import Decoys
from sfumato.dictionary import Dictionary
from sfumato.features import extract, load_image
from sfumato.pages.render import render
from sfumato_papers.reverse.suppression import NOTHING, Sent, Settings, hide_and_keep
from sfumato_papers.reverse.suppression_table import Results, notes
from sfumato_papers.reverse.suppression_table import table as figures

_TRUE, _DECOY, _BOX, _GUESS = "#17646d", "#a8522f", "#a8522f", "#7a4213"


def draw_sheet(
    item: Annotated,
    boxes: Boxes,
    dictionary: Dictionary,
    settings: Settings,
    path: Path,
    *,
    inverter: Inverter | None = None,
) -> None:
    """One picture through all ways of hiding, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    picture = load_image(item.picture)
    features = extract(picture, dictionary.extractor)
    ways: dict[str, Sent] = {
        name: hide_and_keep(features, picture, hidden, settings, decoys, SeededRandom(0))
        for name, hidden, decoys in (
            ("everything is sent", NOTHING, None),
            ("regions are suppressed", boxes, None),
            ("and filled with decoys", boxes, Decoys(dictionary)),
        )
    }
    num_rows = 1 if inverter is None else 2
    height, width = picture.shape[:2]
    figure, axes = pyplot.subplots(
        num_rows, 4, figsize=(12, 3.0 * num_rows * height / width + 0.5), squeeze=False
    )
    axes[0][0].imshow(picture)
    axes[0][0].set_title("the picture stays on the device", fontsize=10)
    _outline(axes[0][0], boxes, _BOX, "-")
    for axis, (name, sent) in zip(axes[0][1:], ways.items(), strict=True):
        _dots(axis, sent, picture.shape)
        _outline(axis, _best_guess(sent.features), _GUESS, "--")
        axis.set_title(name, fontsize=10)
    if inverter is not None:
        axes[1][0].axis("off")
        axes[1][0].text(0.5, 0.5, "reconstructed from\nraw descriptors →", ha="center", fontsize=11)
        for axis, sent in zip(axes[1][1:], ways.values(), strict=True):
            axis.imshow(np.clip(inverter.reconstruct(sent.features, one_look=True).picture, 0, 1))
    for axis in axes.ravel():
        axis.set_xticks([])
        axis.set_yticks([])
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _dots(axis: Any, sent: Sent, shape: tuple[int, ...]) -> None:
    for rows, color in ((~sent.is_decoy, _TRUE), (sent.is_decoy, _DECOY)):
        places = sent.features.keypoints[rows]
        axis.scatter(places[:, 0], places[:, 1], s=2, color=color, linewidths=0)
    axis.set_xlim(-0.5, shape[1] - 0.5)
    axis.set_ylim(shape[0] - 0.5, -0.5)
    axis.set_aspect("equal")


def _best_guess(features: Features) -> Boxes:
    return HolesAttack(max_guesses=1).guess_from(features.keypoints, features.image_size)


def _outline(axis: Any, boxes: Boxes, color: str, style: str) -> None:
    from matplotlib.patches import Rectangle

    for left, top, right, bottom in boxes.corners:
        place = Rectangle((left, top), right - left, bottom - top)
        place.set(fill=False, edgecolor=color, linewidth=1.3, linestyle=style)
        axis.add_patch(place)


def suppression_page(results: Results, sheet: NDArray[np.uint8], command: str) -> str:
    """The whole result as one page of HTML."""
    rows = results.rows()
    shown = figures(rows)
    hidden = [row for row in rows if row["hide"] != "nothing"]
    inside, releases = (sum(row[name] for row in hidden) for name in ("num_inside", "num_releases"))
    return render(
        "report.html",
        title="nothing around people",
        kicker="selective suppression",
        heading="Nothing is sent from where people were found.",
        verdict=f"{inside} keypoints in a hidden region, in {releases} releases. What the detector "
        "misses is sent like everything else, and an empty region shows that something was "
        "hidden, unless decoys fill it.",
        picture=sheet,
        alt="A picture, the keypoints that are sent without hiding, with hiding and with decoys, "
        "and reconstructions from them.",
        caption="Dots are keypoints that are sent, in the other colour decoys; the dashed box is "
        "the attacker's first guess at a hidden region.",
        headings=shown.heads,
        rows=shown.rows,
        words=2,
        notes=notes(results),
        command=command,
    )
