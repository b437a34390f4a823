"""ArcFace-style networks from ONNX files: an aligned square of a face in, an embedding out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.core.onnx_file import OnnxFile
from sfumato.faces.alignment import align_eyes, check_picture, resize
from sfumato.faces.embeddings import check_vectors

_SIDES = range(32, 513)


class EyeFinder(Protocol):
    """What finds the eyes; dlib's finder does."""

    def find(self, picture: NDArray[Any]) -> Any: ...


class OnnxFaces:
    """A network with one input (N, 3, S, S) and one output (N, n).

    Pixels go in as ArcFace's networks take them: RGB, (value − 127.5) / 127.5.
    finder  aligns by the eyes; None takes the whole picture as the face
    """

    def __init__(self, path: str | Path, *, finder: EyeFinder | None = None) -> None:
        self._file = OnnxFile(path, what="a network for faces")
        self._finder = finder
        self.side = _input_side(self._file)
        self.name = "onnx"

    def embed(self, picture: NDArray[Any]) -> NDArray[np.float32]:
        """(n,) for the face of a picture."""
        if self._finder is None:
            chip = resize(check_picture(picture), self.side)
        else:
            face = self._finder.find(picture)
            chip = align_eyes(face.image, face.eyes, self.side)
        values = (chip.astype(np.float32) - 127.5) / 127.5
        batch = np.ascontiguousarray(values.transpose(2, 0, 1)[None])
        answer = self._file.run({self._file.inputs[0].name: batch})[0]
        if answer.ndim != 2 or len(answer) != 1:
            raise InvalidInput(
                f"{self._file.path} must answer one embedding (1, n) per face, it answers "
                f"{answer.shape}."
            )
        return np.asarray(check_vectors(answer)[0])


def _input_side(file: OnnxFile) -> int:
    if len(file.inputs) != 1 or len(file.outputs) != 1 or len(file.inputs[0].shape) != 4:
        raise InvalidInput(
            f"{file.path} must have one input (N, 3, S, S) and one output to embed faces."
        )
    _, channels, height, width = file.inputs[0].shape
    if channels not in (3, None) or height != width or height not in _SIDES:
        raise InvalidInput(
            f"{file.path} must take squares of 3 colours and 32 to 512 pixels, it takes "
            f"{file.inputs[0].shape}."
        )
    return int(height or 0)
