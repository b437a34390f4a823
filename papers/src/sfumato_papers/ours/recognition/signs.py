"""Ours: is text read again? Signs are painted onto photographs; PaddleOCR's network reads them.

It is told where the lines of the photograph are, which favours the attacker. A word counts if it
was read in the photograph itself, and is read letter by letter in the painting.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.detectors.base import Boxes
from sfumato.detectors.reading import TextReader
from sfumato.detectors.text import TextDetector
from sfumato.execution.threads import Threads
from sfumato_papers.harness.work import seed_of
from sfumato_papers.ldp_feat.inversion.releases import Picture, load_squares
from sfumato_papers.ours.recognition.outcomes import Measures

#: Heights of letters, in pixels of a picture of 256 × 256: from small print to a shop's name.
HEIGHTS = (12, 18, 27, 40)
_SIDE, _EDGE, _LINES = 256, 10, 3
#: Public domain: the Declaration of Independence, 1776.
_PASSAGE = """when in the course of human events it becomes necessary for one people to dissolve
the political bands which have connected them with another and to assume among the powers of the
earth the separate and equal station to which the laws of nature and of nature entitle them a
decent respect to the opinions of mankind requires that they should declare the causes which impel
them to the separation"""
TEXT = tuple(word for word in _PASSAGE.split() if len(word) > 2)
_COLOURS = (((20, 20, 20), (245, 243, 235)), ((250, 250, 250), (18, 60, 120)))


@dataclass(frozen=True, eq=False)
class Sign(Picture):
    """A photograph with a sign on it, of letters so many pixels high."""

    height: int


def read_signs(folder: Path, num_pictures: int) -> list[Sign]:
    """Photographs with a sign on each; heights take turns."""
    squares, _ = load_squares(folder, num_pictures)
    signs = []
    for number, one in enumerate(squares):
        turn, place = divmod(number, len(HEIGHTS))
        seed = seed_of(one.name) // 2 * 2 + turn % 2  # both colours of every height
        made = with_sign(one.pixels, HEIGHTS[place], seed)
        signs.append(Sign(f"{one.name} {HEIGHTS[place]}", made, HEIGHTS[place]))
    return signs


def with_sign(picture: NDArray[np.uint8], height: int, seed: int) -> NDArray[np.uint8]:
    """A plate with up to three lines of words across the middle of a picture."""
    from matplotlib import font_manager
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image)
    bold = font_manager.FontProperties(family="DejaVu Sans", weight="bold")
    font = ImageFont.truetype(font_manager.findfont(bold), round(height / 0.73))  # capitals
    ink, plate = _COLOURS[seed % len(_COLOURS)]
    words = TEXT[seed % len(TEXT) :] + TEXT
    lines = [""]
    for word in (one.upper() for one in words):
        longer = f"{lines[-1]} {word}".strip()
        if pen.textlength(longer, font=font) <= image.width - 2 * _EDGE:
            lines[-1] = longer
        elif len(lines) < _LINES and pen.textlength(word, font=font) <= image.width - 2 * _EDGE:
            lines.append(word)
        elif len(lines) == _LINES:
            break
    step = round(1.6 * height)
    top = (image.height - step * len(lines)) // 2
    bottom = top + step * len(lines) + height // 3
    pen.rectangle((0, top - height // 3, image.width, bottom), fill=plate)
    for number, line in enumerate(lines):
        place = (image.width / 2, top + step * (number + 0.5))
        pen.text(place, line, font=font, fill=ink, anchor="mm")
    return np.asarray(image, dtype=np.uint8)


@dataclass(eq=False)
class SignJudge:
    """Reads the lines of a photograph, and the same lines of a painting."""

    _networks: tuple[TextDetector, TextReader] | None = None
    _last: tuple[str, Boxes, list[str]] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"_networks": None, "_last": None}  # a worker opens its own

    def judge(self, picture: Picture, made: NDArray[np.uint8]) -> Measures:
        """Words of the photograph that are read in the painting, of how many."""
        if self._networks is None:
            self._networks = open_reader()
        detector, reader = self._networks
        if self._last is None or self._last[0] != picture.name:
            lines = detector(picture.pixels)
            known = [word for word in reader.words(picture.pixels, lines) if word in TEXT]
            self._last = picture.name, lines, known
        _, lines, known = self._last
        again = Counter(reader.words(made, lines)) & Counter(known)
        return Measures(found=again.total(), total=len(known))


def open_reader() -> tuple[TextDetector, TextReader]:
    return TextDetector(threads=Threads.only), TextReader(threads=Threads.only)
