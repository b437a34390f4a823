"""Reverse engineering, Fig. 5a: how much of a picture is rebuilt from N keypoints, 1 − SSIM.

Whole pictures, made no larger than a common size; keypoints and descriptors as they are, which is
what a server gets that asks for raw features. The network looks once: a patient attacker sees a
little more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.networks import find_network
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.metrics import compare
from sfumato.core.errors import InvalidInput, Missing
from sfumato.device.filters.stable import survivals
from sfumato.features import extract, list_images
from sfumato.features.image import load_image
from sfumato_papers.harness.outcomes import Journal, stored
from sfumato_papers.harness.table import grouped
from sfumato_papers.harness.work import evenly, worked_through
from sfumato_papers.reverse.keypoint_count import Settings
from sfumato_papers.reverse.posed_pairs import keep_order

#: The longer side of a picture, in pixels: the networks were trained on pictures of this kind.
MAX_SIDE = 512
KIND = "raw"


@dataclass(frozen=True)
class Rebuilt:
    """One picture from N keypoints of it; there may have been fewer."""

    extractor: str
    keep_by: str
    num_keypoints: int
    picture: str
    num_kept: int
    ssim: float

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.extractor, self.keep_by, self.num_keypoints, self.picture


def run_privacy(folder: Path, settings: Settings, path: Path) -> dict[str, str]:
    """Rebuild pictures for every extractor that has a network; why others have none, by name."""
    names = list_images(folder)
    if not names:
        raise InvalidInput(f"there is no picture in {folder} to reconstruct.")
    chosen = evenly(names, settings.num_pictures)
    kept = JOURNAL.begin(path, {"pictures": chosen}, "reconstructions of other pictures")
    missing: dict[str, str] = {}
    for extractor in settings.extractors:
        try:
            network = Inverter(find_network(extractor, KIND, settings.networks))
        except Missing as error:
            missing[extractor] = str(error)
            continue
        wanted = [
            (name, keep_by, count)
            for name in chosen
            for keep_by in settings.keep_by
            for count in settings.keypoints
            if (extractor, keep_by, count, name) not in kept
        ]
        todo = list(grouped(wanted, lambda one: one[0]).items())
        stage = f"rebuilding from {extractor}"
        for found in worked_through(_rebuild, todo, stage, network, folder, extractor):
            kept.add(*found)
    return missing


def fit_picture(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The picture, made smaller where its longer side is above MAX_SIDE."""
    height, width = picture.shape[:2]
    scale = MAX_SIDE / max(height, width)
    if scale >= 1:
        return picture
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _rebuild(
    network: Inverter,
    folder: Path,
    extractor: str,
    work: tuple[str, Sequence[tuple[str, str, int]]],
) -> list[Rebuilt]:
    """One picture from as many of its keypoints as each of these rules keeps."""
    name, todo = work
    picture = fit_picture(load_image(folder / name))
    features = extract(picture, extractor)
    found = []
    survived = None
    scores: dict[tuple[str, int], float] = {}
    for _, keep_by, count in todo:
        if keep_by == "stable" and survived is None:
            survived = survivals(features, picture)
        kept = features.take(keep_order(features, keep_by, survived)[:count])
        # Where fewer keypoints were found than may be kept, every rule keeps all of them.
        same = ("all" if len(kept) == len(features) else keep_by), len(kept)
        if same not in scores:
            made = network.reconstruct(kept, one_look=True)
            scores[same] = compare(picture, np.clip(made.picture, 0, 1)).ssim
        found.append(Rebuilt(extractor, keep_by, count, name, len(kept), scores[same]))
    return found


JOURNAL = Journal("fewer-privacy", "reconstructions", Rebuilt, label="picture", version=1)


def read_privacy(path: Path) -> tuple[Rebuilt, ...]:
    """Every reconstruction of a file; none where there is no file."""
    return JOURNAL.read(path)[1] if stored(path).exists() else ()
