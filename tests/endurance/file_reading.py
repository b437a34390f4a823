"""The process in which mutated files are read; `files.py` starts it, once for each batch.

    python file_reading.py SEEDS GIVEN NUMBER KIND [NUMBER KIND …]

It prints one line of JSON for each file. What Python opens is seen by an audit hook; what C
libraries open is seen from outside, from the moment when READY is looked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sfumato.core.arrays import read_arrays
from sfumato.core.errors import SfumatoError
from sfumato.core.onnx_file import OnnxFile
from sfumato.datasets.idx import read_idx
from sfumato.dictionary import Dictionary
from sfumato.faces.embeddings import load_embeddings
from sfumato.features import list_feature_names, read_features
from sfumato.features.exif import read_focal_35mm
from sfumato.features.image import MAX_SIFT_PIXELS, load_image
from sfumato.server.mapping.cameras import read_cameras_json
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.model_files import read_model

READY = "/sfumato-files-ready"
MARK = b"CANARY!!"  # what the files that nobody may read consist of
_MORE_MEMORY = 2 << 30  # address space beyond what the warm process has
_MAX_INPUT = 1 << 20

Found = Iterable[Any]


def _features(path: Path) -> Found:
    for name in (*list_feature_names(path), "db/1.jpg"):
        found = read_features(path, name, extractor=None if "db/0" in name else "tiny")
        yield from (found.keypoints, found.descriptors, found.scores, found.scales)


def _network(path: Path) -> Found:
    network = OnnxFile(path, threads=1)
    shapes = {port.name: tuple(side or 4 for side in port.shape) for port in network.inputs}
    if all(0 < np.prod(shape, dtype=float) < _MAX_INPUT for shape in shapes.values()):
        yield from network.run({name: np.zeros(s, np.float32) for name, s in shapes.items()})


def _archive(path: Path) -> Found:
    yield from read_arrays(path).values()
    yield load_embeddings(path).vectors


def _picture(path: Path) -> Found:
    read_focal_35mm(path)
    yield load_image(path, max_pixels=MAX_SIFT_PIXELS)


def _map(path: Path) -> Found:
    world = Map.load(path)
    for image in range(world.num_images):
        world.pose(image)
        world.camera(image)
    yield from (world.points, world.descriptors, world.keypoints, world.rotations)


def _dictionary(path: Path) -> Found:
    words = Dictionary.load(path)
    yield words.words
    yield words.nearest(np.asarray(words.words[:5]))


def _model(path: Path) -> Found:
    model = read_model(path)
    yield model.points
    yield from (image.xy for image in model.images)


READERS: dict[str, Callable[[Path], Found]] = {
    "h5": _features,
    "onnx": _network,
    "npy": lambda path: read_arrays(path).values(),
    "npz": _archive,
    "idx": lambda path: [read_idx(path)],
    "image": _picture,
    "map": _map,
    "dictionary": _dictionary,
    "colmap-bin": _model,
    "colmap-txt": _model,
    "cameras": lambda path: [
        [camera.params for camera in read_cameras_json(path).cameras.values()]
    ],
}


def read(kind: str, path: Path) -> str:
    """ "read", the name of our own error, or what was broken in capital letters."""
    try:
        found = [np.asarray(value) for value in READERS[kind](path)]
    except SfumatoError as error:
        text = str(error)
        # A name of a picture may hold any character; the sentence itself is one line.
        return type(error).__name__ if text.strip() and len(text) < 2000 else f"MESSAGE {text!r}"
    except BaseException as error:  # noqa: BLE001 - all others are what we are looking for
        return f"RAISED {type(error).__name__}: {str(error)[:200]}"
    leaked = any(MARK in array.tobytes() for array in found if array.dtype != object)
    return "LEAKED" if leaked else "read"


def _watch_opens(allowed: tuple[str, ...], opened: list[str]) -> None:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            path = os.fsdecode(arguments[0])
            if not Path(path).resolve().as_posix().startswith(allowed):
                opened.append(path)

    sys.addaudithook(hook)


def main() -> None:
    seeds, given = Path(sys.argv[1]), Path(sys.argv[2])
    warnings.simplefilter("error")
    for path, kind in json.loads((seeds / "kinds.json").read_text()):
        outcome = read(kind, seeds / path)
        if outcome != "read":
            raise SystemExit(f"the seed {path} is not read: {outcome}")
    opened: list[str] = []
    allowed = (str(given.resolve()), sys.prefix, sys.base_prefix, "/proc", "/sys", "/usr/lib")
    _watch_opens((*allowed, str(Path(__file__).resolve().parents[2])), opened)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + _MORE_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with contextlib.suppress(OSError):
        os.open(READY, os.O_RDONLY)
    opened.clear()
    for number, kind in zip(sys.argv[3::2], sys.argv[4::2], strict=True):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcome = read(kind, given / number)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        told = {"number": int(number), "outcome": outcome, "opened": opened, "grown": grown << 10}
        print(json.dumps(told), flush=True)
        opened.clear()


if __name__ == "__main__":
    main()
