"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: every attack on every defence.

At most 1,000 keypoints of the middle square, 256×256. What every reconstruction scored goes to
disk as it is made. Releases are drawn with known seeds: for measuring, not for sending.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from sfumato.adversary.invert.sheet import to_pixels
from sfumato.core.errors import Missing
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import KeypointRelease
from sfumato.privacy.defence import Defence
from sfumato_papers.ldp_feat.inversion.measures import Judge
from sfumato_papers.ldp_feat.inversion.networks import Networks, Wanted
from sfumato_papers.ldp_feat.inversion.outcomes import Outcome, OutcomeFile, Setting
from sfumato_papers.ldp_feat.inversion.pictures import Picture, mean_colour
from sfumato_papers.ldp_feat.inversion.releases import RECOVERIES, Releases, timed
from sfumato_papers.ldp_feat.inversion.settings import BASELINES, Settings

PICTURES = "pictures"


def run_inversion(
    pictures: Sequence[Picture],
    releases: Releases,
    networks: Networks,
    settings: Settings,
    judge: Judge,
    file: OutcomeFile,
    *,
    progress: Progress = silent,
) -> None:
    """Make every row the grid asks for that the file does not hold yet.

    Rows whose network is there come first; then the others are trained one by one, if there is
    a budget, or are put down as absent with the reason.
    """
    step = max(len(pictures) / settings.num_shown, 1) if settings.num_shown else 1
    shown = {pictures[int(i * step)].name for i in range(min(settings.num_shown, len(pictures)))}
    run = _Run(releases, networks, judge, file, mean_colour(pictures), shown)
    file.tell("lpips", judge.without)
    rows = settings.rows()
    needed = {row: wanted for row in rows if (wanted := network_of(row)) is not None}
    ready = [row for row in rows if row not in needed or networks.has(needed[row])]
    _fill(run, pictures, ready, progress)
    for row, wanted in needed.items():
        if row in ready:
            continue
        try:
            networks.find(wanted)
        except Missing as error:
            file.absent(row, str(error))
        else:
            _fill(run, pictures, [row], progress)


def _fill(
    run: _Run, pictures: Sequence[Picture], rows: Sequence[Setting], progress: Progress
) -> None:
    for done, picture in enumerate(pictures):
        progress("painting pictures", done, len(pictures))
        for row in rows:
            if not run.file.has(row, picture.name):
                run.make(picture, row)
    progress("painting pictures", len(pictures), len(pictures))


def network_of(row: Setting) -> Wanted | None:
    """Who paints a row; None for a flat colour."""
    if row.attack == "mean colour":
        return None
    if row.attack == "positions":
        return Wanted("positions", Defence(extractor=row.defence.extractor))
    if row.attack == "direct":
        return Wanted("subspace" if row.defence.strategy else "words", row.defence)
    return Wanted("raw", Defence(extractor=row.defence.extractor))


@dataclass(frozen=True)
class _Run:
    releases: Releases
    networks: Networks
    judge: Judge
    file: OutcomeFile
    colour: NDArray[np.float32]
    shown: set[str]

    def make(self, picture: Picture, row: Setting) -> None:
        """Send, recover, paint, judge and write down one row of one picture."""
        sent = self.releases.sent(picture, row.defence)
        wanted = network_of(row)
        read, seconds = timed(lambda: self._read(picture, row))
        if wanted is None:
            made = np.broadcast_to(self.colour, picture.pixels.shape)
        else:
            self.file.tell(f"network {wanted.name}", asdict(self.networks.facts(wanted)))
            level = self.releases.level(row.defence) if wanted.kind == "words" else None
            painter = self.networks.find(wanted)
            made = painter.reconstruct(
                read, dictionary=level, one_look=self.networks.one_look
            ).picture
        if picture.name in self.shown:
            self._keep(picture, row, made)
        self.file.add(
            Outcome(
                setting=row,
                picture=picture.name,
                measures=self.judge.judge(picture, made),
                num_keypoints=len(sent),
                num_bytes=len(sent.to_bytes()) if row.attack not in BASELINES else 0,
                seconds=seconds,
                network="" if wanted is None else wanted.name,
            )
        )

    def _read(self, picture: Picture, row: Setting) -> KeypointRelease:
        if row.attack in RECOVERIES:
            return self.releases.recovered(picture, row.defence, row.attack)
        if row.attack == "posterior":
            return self.releases.guessed(picture, row.defence)
        return self.releases.sent(picture, row.defence)

    def _keep(self, picture: Picture, row: Setting, made: NDArray[np.float32]) -> None:
        folder = self.file.path.parent / PICTURES / Path(picture.name).stem
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture.pixels).save(folder / "original.png")
        Image.fromarray(to_pixels(made)).save(folder / f"{row.name}.png")
