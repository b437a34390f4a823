"""Inversion networks as files: opened, and checked before they are believed.

A file may come from anybody. `core/onnx_file.py` keeps what onnxruntime says against it to one
sentence; here its own description is read, and compared with the inputs it really has.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.encoders import Encoded
from sfumato.adversary.invert.export import INPUTS, METADATA
from sfumato.adversary.invert.sparse import PixelMap
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.files import parse_json
from sfumato.core.onnx_file import OnnxFile

_COLOURS = 3
_DIMENSIONS = (2, 4, 5)  # of rows, index and offsets


@dataclass(frozen=True)
class Session:
    """A network ready to run.

    step  training steps behind it; None where the file does not tell
    view  what of the releases it was trained on, in words of `View.label`; empty for features
    """

    file: OnnxFile
    architecture: Architecture
    step: int | None
    view: str = ""

    def paint(self, seen: Encoded, pixels: PixelMap) -> NDArray[np.float32]:
        """The picture (H, W, 3) in 0…1, without the padding of the map."""
        rows = np.vstack([np.zeros((1, seen.rows.shape[1]), np.float32), seen.rows])
        values = (rows, pixels.index[None], pixels.offsets[None])
        made = self.file.run(dict(zip(INPUTS, values, strict=True)))[0]
        wide, high = pixels.image_size
        if (
            made.ndim != 4
            or made.shape[:2] != (1, _COLOURS)
            or made.shape[2] < high
            or made.shape[3] < wide
            or not np.isfinite(made).all()
        ):
            raise InvalidInput(
                f"{self.file.path} painted no picture of {wide}×{high} pixels; it is not an "
                "inversion network of sfumato."
            )
        picture = pixels.crop(made[0].transpose(1, 2, 0))
        return np.ascontiguousarray(np.clip(picture, 0, 1), dtype=np.float32)


def open_session(path: str | Path, *, threads: int | None = None) -> Session:
    """Load a network of `export.py`; any other file is refused.

    threads  of onnxruntime; None leaves its choice
    """
    file = OnnxFile(path, threads=threads, what="an inversion network")
    try:
        description = parse_json(file.metadata[METADATA])
        architecture = Architecture.from_json(description["architecture"])
        step, view = description.get("step"), description.get("view", "")
    except (KeyError, TypeError, ValueError, AttributeError, SfumatoError):
        raise InvalidInput(
            f"{path} is not an inversion network of sfumato: it does not describe itself; make "
            "one with `sfumato invert export`."
        ) from None
    _check_inputs(file, architecture)
    steps = step if isinstance(step, int) else None
    return Session(file, architecture, steps, view if isinstance(view, str) else "")


def _check_inputs(file: OnnxFile, architecture: Architecture) -> None:
    """Refuse a file whose inputs are not those of the network it says it is."""
    shapes = {port.name: port.shape for port in file.inputs}
    names = sorted(shapes) == sorted(INPUTS)
    if not names or tuple(len(shapes[name]) for name in INPUTS) != _DIMENSIONS:
        raise InvalidInput(
            f"{file.path} is not an inversion network of sfumato: its inputs must be "
            f"{', '.join(INPUTS)}."
        )
    wanted = {
        "channels": (shapes["rows"][1], architecture.channels),
        "neighbours": (shapes["index"][1], architecture.map_options.slots),
        "coordinates": (shapes["offsets"][2], architecture.map_options.coordinates),
    }
    for name, (real, described) in wanted.items():
        if real is not None and real != described:
            raise InvalidInput(
                f"{file.path} describes another network than it holds: {described} {name} are "
                f"said, {real} are there; export it again."
            )
