"""Text read by PaddleOCR's network: a line of a picture in, its characters out.

The file is the recognition network of the package rapidocr (Apache-2.0), which names its characters
itself. It answers with a distribution over characters for every step across the line; the likeliest
of each are taken, repeats are joined and blanks left out (CTC).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.onnx_file import OnnxFile
from sfumato.detectors.base import Boxes, file_of_package

_HEIGHT, _NARROWEST, _WIDEST = 48, 48, 3200  # pixels of a line as the network sees it
_WORD = re.compile(r"[^\W_]+")


class TextReader:
    """Reads lines of text at places that are known.

    min_score  mean chance of the characters of a line; below it nothing was read
    """

    def __init__(
        self, path: str | Path | None = None, *, min_score: float = 0.5, threads: int | None = None
    ) -> None:
        file = file_of_package("text", "rapidocr", "models/*rec*.onnx") if path is None else path
        self._network = OnnxFile(file, threads=threads, what="a network that reads text")
        self._min_score = min_score
        told = self._network.metadata.get("character", "")
        if len(self._network.inputs) != 1 or len(self._network.outputs) != 1 or not told:
            raise InvalidInput(
                f"{file} must take one line of text, answer with one list of characters and name "
                "them under 'character'; give a recognition network of PaddleOCR."
            )
        self._characters = ("", *told.split("\n"), " ")  # blank first

    def line(self, picture: NDArray[np.uint8]) -> str:
        """What stands in a picture (H, W, 3) of one line; empty where that is not sure."""
        import cv2

        height, width = picture.shape[:2]
        across = min(max(round(_HEIGHT * width / height), _NARROWEST), _WIDEST)
        blue_first = cv2.cvtColor(cv2.resize(picture, (across, _HEIGHT)), cv2.COLOR_RGB2BGR)
        pixels = (blue_first.transpose(2, 0, 1)[None] / np.float32(127.5) - 1).astype(np.float32)
        answer = self._network.run({self._network.inputs[0].name: pixels})[0]
        if answer.ndim != 3 or answer.shape[::2] != (1, len(self._characters)):
            raise InvalidInput(
                f"the network that reads text must answer (1, steps, {len(self._characters)}), "
                f"got {answer.shape}; restore its file."
            )
        return _decoded(answer[0], self._characters, self._min_score)

    def words(self, picture: NDArray[np.uint8], lines: Boxes, *, shortest: int = 3) -> list[str]:
        """Words of at least so many letters or digits in the lines of a picture, in lower case."""
        found: list[str] = []
        for left, top, right, bottom in np.rint(lines.corners).astype(int).tolist():
            part = picture[max(top, 0) : bottom + 1, max(left, 0) : right + 1]
            if part.size:
                found += _WORD.findall(self.line(part).lower())
        return [word for word in found if len(word) >= shortest]


def _decoded(chances: NDArray[Any], characters: tuple[str, ...], min_score: float) -> str:
    best = chances.argmax(axis=1)
    fresh = np.flatnonzero((best != 0) & (best != np.concatenate([[-1], best[:-1]])))
    if not len(fresh) or float(chances[fresh, best[fresh]].mean()) < min_score:
        return ""
    return "".join(characters[i] for i in best[fresh])
