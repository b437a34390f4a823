"""Golden files of SIFT: crops of photographs with the features and words that Python finds.

    python tests/golden_sift.py              write the files that are missing
    python tests/golden_sift.py --overwrite  write all anew, after a change that was meant

`NAME.json` says the sizes. `NAME.bin` holds, one after the other: pixels (RGBA, or one byte of
gray), N rows of x, y, diameter, angle and score (float32), N descriptors (128 bytes), and for each
number of words in LEVELS the nearest words of N descriptors in the bundled dictionary open-64k
(uint32); numbers are little-endian. The device in the browser (`web/device`) is tested against
them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage import data

from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato.features import extract

FOLDER = Path(__file__).parent / "golden" / "sift"
#: Numbers of words: the first are compared one by one, the last two in cells.
LEVELS = (1024, 8192, 16_384, 32_768, 65_536)


def pictures() -> dict[str, NDArray[np.uint8]]:
    """Opaque, half transparent, and gray with odd sides."""
    astronaut, cat, camera = (
        np.asarray(photograph(), dtype=np.uint8)  # type: ignore[no-untyped-call]
        for photograph in (data.astronaut, data.chelsea, data.camera)
    )
    opaque = np.full((120, 160), 255, np.uint8)
    ramp = np.tile(np.linspace(40, 255, 144).astype(np.uint8), (96, 1))
    return {
        "opaque": np.dstack([astronaut[60:180, 150:310], opaque]),
        "transparent": np.dstack([cat[60:156, 130:274], ramp]),
        "gray": camera[80:199, 170:331],
    }


def content(picture: NDArray[np.uint8]) -> tuple[str, bytes]:
    """What both files of a picture hold."""
    features = extract(picture)
    sizes = {
        "width": picture.shape[1],
        "height": picture.shape[0],
        "channels": 1 if picture.ndim == 2 else 4,
        "keypoints": len(features),
        "levels": LEVELS,
    }
    parts = (
        np.ascontiguousarray(picture),
        rows_of(features).astype("<f4"),
        features.descriptors,
        words_of(features.descriptors).astype("<u4"),
    )
    return json.dumps(sizes, indent=1) + "\n", b"".join(part.tobytes() for part in parts)


def words_of(descriptors: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The nearest words, a row for each of LEVELS."""
    dictionary = Dictionary.load("open-64k")
    return np.stack([dictionary.at(size).nearest(descriptors) for size in LEVELS])


def rows_of(features: Features) -> NDArray[np.float32]:
    """x, y, diameter, angle and score of each keypoint."""
    columns = (features.keypoints, features.scales, features.angles, features.scores)
    return np.column_stack(columns).astype(np.float32)


def main(overwrite: bool) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        if overwrite or not (FOLDER / f"{name}.bin").exists():
            sizes, values = content(picture)
            (FOLDER / f"{name}.json").write_text(sizes, encoding="utf-8")
            (FOLDER / f"{name}.bin").write_bytes(values)
            print(f"wrote {name}")


if __name__ == "__main__":
    main("--overwrite" in sys.argv[1:])
