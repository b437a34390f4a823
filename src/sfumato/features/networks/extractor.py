"""An extractor that is an ONNX file: a picture in; keypoints, scores and descriptors out.

Files of `sfumato extractor export` say how they are called. Any other network does too, SuperPoint
or DISK for instance, if it takes pictures (1, 1 or 3, H, W) of any size and answers with outputs
called keypoints, scores and descriptors; it is then given a name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.frozen import check_extractor_name
from sfumato.core.onnx_file import OnnxFile, Port
from sfumato.core.types import Features
from sfumato.features.networks.export import METADATA

WHAT = "an extractor"
#: The most keypoints of a picture that are asked for where no number is given.
MAX_KEYPOINTS = 4096
#: Networks hold a picture many times over: 16 megapixels take about 4 GB.
MAX_PIXELS = 16_000_000
#: Shorter sides than this have no keypoint off the border.
_MIN_SIDE = 16
#: What networks see of a keypoint has no one size; this stands for it, in pixels.
DIAMETER = 16.0
_OUTPUTS = ("keypoints", "scores", "descriptors")
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


@dataclass(frozen=True)
class NetworkExtractor:
    """An `Extractor` made of a file; it is read when the first picture comes.

    path    an ONNX file, of `sfumato extractor export` or another's
    called  the features' name; needed where the file does not say one

    Keypoints have no angle and one size. Its features go through words, lifting and maps as any
    float descriptors do; words need a dictionary of the same name.
    """

    path: Path
    called: str | None = None

    @property
    def name(self) -> str:
        return self._network().name

    def check(self) -> None:
        """Refuse a file that is no extractor, before any picture is opened."""
        self._network()

    def __call__(self, picture: NDArray[np.uint8], max_keypoints: int | None = None) -> Features:
        """The strongest features of an upright RGB picture, strongest first."""
        limit = MAX_KEYPOINTS
        if max_keypoints is not None:
            limit = check_count("max_keypoints", max_keypoints, low=1)
        return self._network().extract(picture, limit)

    def _network(self) -> _Network:
        # A folder asks for the same network at every picture; a file that changed is read again.
        changed = self.path.stat().st_mtime_ns if self.path.is_file() else 0
        return _load(self.path.absolute(), self.called, changed)


def network_extractor(text: str) -> NetworkExtractor:
    """Of FILE.onnx or NAME:FILE.onnx, the extractor; what cannot be one is refused now."""
    name, colon, file = text.rpartition(":")
    if Path(text).is_file() or not colon:
        name, file = "", text
    made = NetworkExtractor(Path(file), check_extractor_name(name) if name else None)
    made.check()
    return made


@lru_cache(maxsize=2)
def _load(path: Path, called: str | None, _modified: int) -> _Network:
    return _Network(path, called)


class _Network:
    """A file that was read and fits."""

    def __init__(self, path: Path, called: str | None) -> None:
        # Pictures of a folder are worked on side by side; one alone is small work.
        self._file = OnnxFile(path, what=WHAT, threads=1)
        self._picture, self._limit = _inputs(self._file)
        missing = [name for name in _OUTPUTS if name not in _named(self._file.outputs)]
        if missing:
            raise InvalidInput(
                f"{path} is not {WHAT}: it must have the outputs keypoints, scores and "
                f"descriptors, {missing[0]} is missing."
            )
        columns = _named(self._file.outputs)["descriptors"].shape[-1:]
        self._dimension = columns[0] if columns else None
        own = _told_name(self._file.metadata)
        if called is None and own is None:
            raise InvalidInput(
                f"{path} does not say how its features are called; give a name before the file, "
                f"superpoint:{path.name} for instance."
            )
        if called is not None and own not in (None, called):
            raise InvalidInput(
                f"{path} holds {own}, it was given as {called}; name it as it is, or leave it out."
            )
        self.name = check_extractor_name(called or own)

    def extract(self, picture: NDArray[np.uint8], limit: int) -> Features:
        height, width = picture.shape[:2]
        if height * width > MAX_PIXELS:
            raise InvalidInput(
                f"a network extracts features from at most {MAX_PIXELS:,} pixels, got "
                f"{width}×{height}; make the picture smaller."
            )
        if min(height, width) < _MIN_SIDE:
            none = np.zeros((0, self._dimension or 1), dtype=np.float32)
            return self._features(none[:, :1].repeat(2, axis=1), none[:, 0], none, (width, height))
        values = picture.astype(np.float32) / np.float32(255)
        if self._picture.shape[1] == 1:
            values = (values @ _LUMA)[:, :, None]
        given: dict[str, NDArray[Any]] = {
            self._picture.name: np.ascontiguousarray(values.transpose(2, 0, 1))[None]
        }
        if self._limit is not None:
            given[self._limit.name] = np.array([limit], dtype=np.int64)
        keypoints, scores, rows = (
            np.asarray(one, dtype=np.float32) for one in self._file.run(given, _OUTPUTS)
        )
        return self._checked(keypoints, scores, rows, (width, height), limit)

    def _checked(
        self,
        keypoints: NDArray[np.float32],
        scores: NDArray[np.float32],
        rows: NDArray[np.float32],
        size: tuple[int, int],
        limit: int,
    ) -> Features:
        # Many exports answer for a batch of one picture.
        if keypoints.ndim == 3 and len(keypoints) == 1:
            keypoints, scores, rows = (
                keypoints[0],
                scores.reshape(-1),
                rows.reshape(rows.shape[-2:]),
            )
        count = len(keypoints)
        fits = keypoints.shape == (count, 2) and scores.shape == (count,) and rows.ndim == 2
        if not fits or len(rows) != count or rows.shape[1] == 0:
            raise InvalidInput(
                f"{self._file.path} must answer with keypoints (N, 2), scores (N,) and "
                f"descriptors (N, D), got {keypoints.shape}, {scores.shape} and {rows.shape}."
            )
        if not all(np.isfinite(one).all() for one in (keypoints, scores, rows)):
            raise InvalidInput(
                f"{self._file.path} answered with values that are not finite; its weights are "
                "damaged, or it takes pictures of another kind."
            )
        inside = ((keypoints >= 0) & (keypoints <= np.array(size) - 1)).all(axis=1)
        order = np.flatnonzero(inside)
        order = order[np.argsort(-scores[order], kind="stable")][:limit]
        return self._features(keypoints[order], scores[order], rows[order], size)

    def _features(
        self,
        keypoints: NDArray[np.float32],
        scores: NDArray[np.float32],
        rows: NDArray[np.float32],
        size: tuple[int, int],
    ) -> Features:
        count = len(keypoints)
        return Features(
            keypoints=keypoints,
            descriptors=rows,
            scores=scores,
            scales=np.full(count, DIAMETER, dtype=np.float32),
            angles=np.full(count, -1, dtype=np.float32),
            image_size=size,
            extractor=self.name,
        )


def _named(ports: tuple[Port, ...]) -> dict[str, Port]:
    return {port.name: port for port in ports}


def _inputs(file: OnnxFile) -> tuple[Port, Port | None]:
    """The picture, and the number of keypoints where the network takes one."""
    pictures = [port for port in file.inputs if len(port.shape) == 4]
    others = [port for port in file.inputs if len(port.shape) != 4]
    fits = (
        len(pictures) == 1
        and pictures[0].dtype == "tensor(float)"
        and (
            pictures[0].shape[1] in (1, 3)
            and not any(port.name != "limit" or port.dtype != "tensor(int64)" for port in others)
        )
    )
    if not fits:
        raise InvalidInput(
            f"{file.path} is not {WHAT}: it must take one picture (1, 1 or 3, H, W) of floats "
            "from 0 to 1, and nothing besides but a whole number called limit."
        )
    if any(side is not None for side in pictures[0].shape[2:]):
        raise InvalidInput(
            f"{file.path} takes pictures of one size only; export it so that height and width "
            "are free."
        )
    return pictures[0], others[0] if others else None


def _told_name(metadata: dict[str, str]) -> str | None:
    try:
        told = json.loads(metadata[METADATA])
        return check_extractor_name(told["name"])
    except (KeyError, ValueError, TypeError, RecursionError):
        return None
