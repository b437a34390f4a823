"""From what was sent to a picture, with a shipped or exported network; no torch needed."""

from __future__ import annotations

import importlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.encoders import Encoded, Source, encode
from sfumato.adversary.invert.export import INPUTS, METADATA
from sfumato.adversary.invert.sparse import map_pixels
from sfumato.core.errors import InvalidInput, Mismatch, Missing
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
        if importlib.util.find_spec("onnxruntime") is None:
            raise Missing(
                "reconstruction needs onnxruntime, not installed here; pip install onnxruntime."
            )
        if not Path(path).is_file():
            raise Missing(f"there is no network at {path}; export one or name another file.")
        runtime: Any = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        if threads is not None:
            options.intra_op_num_threads = threads
        try:
            self._session: Any = runtime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
            told = self._session.get_modelmeta().custom_metadata_map[METADATA]
            content = json.loads(told)
            self.architecture = Architecture.from_json(content["architecture"])
        except Exception as error:
            # onnxruntime raises its own classes, one for each way a file can be wrong.
            raise InvalidInput(f"{path} is not an inversion network of sfumato.") from error

    def reconstruct(
        self, source: Source, *, dictionary: Dictionary | None = None
    ) -> Reconstruction:
        """Guess the picture behind features or a release.

        No keypoints give a gray picture, and the remark says so.
        """
        wanted = self.architecture
        if source.extractor != wanted.extractor:
            raise Mismatch(
                f"the network was trained on {wanted.extractor}, these are {source.extractor}; "
                "use a network of the same extractor."
            )
        seen = encode(source, wanted.kind, dictionary=dictionary, geometry=wanted.geometry)
        return self.reconstruct_rows(seen)

    def reconstruct_rows(self, seen: Encoded) -> Reconstruction:
        """The same, from rows that are encoded already."""
        width, height = seen.image_size
        if not len(seen):
            blank = np.full((height, width, 3), _GRAY, dtype=np.float32)
            return Reconstruction(blank, 0, "no keypoints: nothing to reconstruct from, blank.")
        channels = self.architecture.channels
        if seen.rows.shape[1] != channels:
            raise Mismatch(
                f"the network takes rows of {channels} numbers, got {seen.rows.shape[1]}; "
                "use one trained for this mechanism and dimension."
            )
        pixels = map_pixels(
            seen.keypoints,
            seen.image_size,
            self.architecture.map_options,
            scales=seen.scales,
            angles=seen.angles,
        )
        rows = np.vstack([np.zeros((1, channels), np.float32), seen.rows])
        values = (rows, pixels.index[None], pixels.offsets[None])
        made = self._session.run(None, dict(zip(INPUTS, values, strict=True)))[0][0]
        picture = np.ascontiguousarray(pixels.crop(made.transpose(1, 2, 0)))
        return Reconstruction(picture, len(seen))
