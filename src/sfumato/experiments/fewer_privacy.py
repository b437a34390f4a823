"""How much of a picture a network rebuilds from N keypoints: 1 − SSIM [reverse, Fig. 5a].

Whole pictures, made no larger than a common size; keypoints and descriptors as they are, which is
what a server gets that asks for raw features. The network looks once: a patient attacker sees a
little more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.networks import find_network
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.metrics import compare
from sfumato.core.errors import DamagedFile, InvalidInput, Missing
from sfumato.core.progress import Progress, silent
from sfumato.device.filters.stable import survivals
from sfumato.experiments.fewer import Grid, keep_order
from sfumato.experiments.records import append_record, begin_records, read_records
from sfumato.features import extract, list_images
from sfumato.features.image import load_image

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


def run_privacy(
    folder: str | Path,
    grid: Grid,
    path: Path,
    *,
    networks: str | Path | None = None,
    num_pictures: int = 40,
    progress: Progress = silent,
) -> dict[str, str]:
    """Rebuild pictures for every extractor that has a network; why others have none, by name."""
    names = list_images(folder)
    if not names:
        raise InvalidInput(f"there is no picture in {folder} to reconstruct.")
    step = max(len(names) / num_pictures, 1.0)
    chosen = [names[int(i * step)] for i in range(min(num_pictures, len(names)))]
    done = _open(path, {"kind": "fewer-privacy", "format": 1, "pictures": chosen})
    missing: dict[str, str] = {}
    for extractor in grid.extractors:
        try:
            network = Inverter(find_network(extractor, KIND, networks))
        except Missing as error:
            missing[extractor] = str(error)
            continue
        for number, name in enumerate(chosen):
            progress(f"rebuilding from {extractor}", number, len(chosen))
            todo = [
                (keep_by, count)
                for keep_by in grid.keep_by
                for count in grid.keypoints
                if (extractor, keep_by, count, name) not in done
            ]
            if todo:
                picture = fit_picture(load_image(Path(folder) / name))
                for rebuilt in _rebuild(network, picture, extractor, name, todo):
                    append_record(path, {"kind": "picture", **asdict(rebuilt)})
        progress(f"rebuilding from {extractor}", len(chosen), len(chosen))
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
    picture: NDArray[np.uint8],
    extractor: str,
    name: str,
    todo: Sequence[tuple[str, int]],
) -> list[Rebuilt]:
    features = extract(picture, extractor)
    found = []
    survived = None
    scores: dict[tuple[str, int], float] = {}
    for keep_by, count in todo:
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


def read_privacy(path: str | Path) -> tuple[Rebuilt, ...]:
    """Every reconstruction of a file; none where there is no file."""
    if not Path(path).exists():
        return ()
    head, *lines = [*read_records(Path(path))] or [{}]
    if head.get("kind") != "fewer-privacy" or head.get("format") != 1:
        raise InvalidInput(f"{path} is not a file of reconstructions.")
    found = []
    for number, line in enumerate(lines, start=2):
        try:
            line.pop("kind")
            found.append(Rebuilt(**line))
        except (KeyError, TypeError) as error:
            raise DamagedFile(f"{path} is damaged in line {number}: {error}.") from None
    return tuple(found)


def _open(path: Path, head: dict[str, Any]) -> set[Any]:
    begin_records(path, head, "reconstructions of other pictures")
    return {rebuilt.key for rebuilt in read_privacy(path)}
