"""From what was sent to a picture, with a shipped or exported network; no torch needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.encoders import Encoded, Source, encode, shows_frames
from sfumato.adversary.invert.refine_frames import refine_frames
from sfumato.adversary.invert.session import open_session
from sfumato.adversary.invert.sparse import map_pixels
from sfumato.adversary.invert.turned_views import quarters_of, turned
from sfumato.core.errors import Mismatch
from sfumato.dictionary import Dictionary

_GRAY = 0.5


@dataclass(frozen=True)
class Reconstruction:
    """A picture (H, W, 3) float32 in 0…1, and a remark where there was nothing to go on."""

    picture: NDArray[np.float32]
    num_keypoints: int
    remark: str = ""


class Inverter:
    """A network on onnxruntime, loaded once, for any picture size.

    threads  of onnxruntime; None leaves its choice
    """

    def __init__(self, path: str | Path, *, threads: int | None = None) -> None:
        self._session = open_session(path, threads=threads)
        self.path, self._threads = Path(path), threads
        self.architecture = self._session.architecture
        self.step = self._session.step
        #: Names of the defences it learned from, and the fingerprint of their dictionary.
        self.trained_on = tuple(self._session.view.split())
        #: Whether it learned from private words too, and reads them as they are sent.
        self.reads_words = self.architecture.kind == "words" or any(
            name.startswith("words-") for name in self.trained_on
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes open the same file."""
        return partial(Inverter, threads=self._threads), (self.path,)

    def reconstruct(
        self,
        source: Source,
        *,
        dictionary: Dictionary | None = None,
        one_look: bool = False,
        refine: bool = True,
    ) -> Reconstruction:
        """Guess the picture behind features or a release.

        Descriptors that an attack recovered come as a release too: `recovered.as_sent_plainly`.

        dictionary  the public words, where the network takes words
        one_look    a quarter of the time, and a little worse: see `turned_views.py`; a network that
                    knows frames is given one look at any rate
        refine      find frames by painting, see `refine_frames.py`; worth it where most descriptors
                    are right, and only for networks with frames "either"

        No keypoints give a gray picture, and the remark says so.
        """
        wanted = self.architecture
        if source.extractor != wanted.extractor:
            raise Mismatch(
                f"the network was trained on {wanted.extractor}, these are {source.extractor}; "
                "use a network of the same extractor."
            )
        if not len(source):
            return _blank(source.image_size)
        seen = encode(source, wanted.kind, dictionary=dictionary, frames=wanted.frames)
        if refine and wanted.frames == "either" and shows_frames(source):
            seen = refine_frames(seen, self._paint)
        return self.reconstruct_rows(seen, one_look=one_look)

    def reconstruct_rows(self, seen: Encoded, *, one_look: bool = False) -> Reconstruction:
        """The same, from rows that are encoded already."""
        if not len(seen):
            return _blank(seen.image_size)
        channels = self.architecture.channels
        if seen.rows.shape[1] != channels:
            raise Mismatch(
                f"the network takes rows of {channels} numbers, got {seen.rows.shape[1]}; "
                "use one trained for this mechanism and dimension."
            )
        once = one_look or self.architecture.frames == "either"
        turns = (0,) if once else quarters_of(self.architecture.extractor)
        total = sum(np.rot90(self._paint(turned(seen, quarters)), quarters) for quarters in turns)
        picture = np.ascontiguousarray(total, dtype=np.float32) / np.float32(len(turns))
        return Reconstruction(picture, len(seen))

    def _paint(self, seen: Encoded) -> NDArray[np.float32]:
        pixels = map_pixels(
            seen.keypoints,
            seen.image_size,
            self.architecture.map_options,
            scales=seen.scales,
            angles=seen.angles,
        )
        return self._session.paint(seen, pixels)


def _blank(image_size: tuple[int, int]) -> Reconstruction:
    width, height = image_size
    blank = np.full((height, width, 3), _GRAY, dtype=np.float32)
    return Reconstruction(blank, 0, "no keypoints: nothing to reconstruct from, blank.")
