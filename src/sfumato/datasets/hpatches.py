"""Image sequences with homographies: HPatches, and Oxford's affine set in the same layout.

A folder of sequences. Each holds six pictures, 1.ppm … 6.ppm or img1.png … img6.png, and the
homographies from picture 1 to the others, H_1_2 … or H1to2p …
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Missing

_SUFFIXES = (".ppm", ".png", ".jpg", ".jpeg", ".pgm")
#: What changes in Oxford's sequences; those of HPatches say it in their name.
_OXFORD = {
    "leuven": "illumination",
    "graf": "viewpoint",
    "wall": "viewpoint",
    "boat": "viewpoint",
    "bark": "viewpoint",
}


@dataclass(frozen=True, eq=False)
class Sequence:
    """One scene: a first picture, and others with the homography from the first to each.

    change  "illumination", "viewpoint" or "other"
    """

    name: str
    change: str
    first: Path
    others: tuple[tuple[Path, NDArray[np.float64]], ...]


def read_sequences(folder: str | Path) -> tuple[Sequence, ...]:
    """All sequences of a folder, by name; a folder that is one sequence counts as one."""
    root = Path(folder)
    if not root.is_dir():
        raise Missing(f"there is no folder of image sequences at {root}.")
    folders = [root, *sorted(path for path in root.iterdir() if path.is_dir())]
    sequences = tuple(read_sequence(part) for part in folders if _homographies(part))
    if not sequences:
        raise InvalidInput(
            f"{root} holds no image sequence; each needs pictures 1 to 6 and files H_1_2 … as in "
            "HPatches, or H1to2p … as in Oxford's set."
        )
    return sequences


def read_sequence(folder: Path) -> Sequence:
    """One sequence: pictures and homographies must both be there."""
    others = []
    for number, file in sorted(_homographies(folder).items()):
        others.append((_picture(folder, number), read_homography(file)))
    return Sequence(folder.name, _change(folder.name), _picture(folder, 1), tuple(others))


def read_homography(file: Path) -> NDArray[np.float64]:
    """A 3×3 matrix of numbers, as text."""
    try:
        lines = [line.split() for line in file.read_text().splitlines() if line.strip()]
        matrix = np.array(lines, dtype=np.float64)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} is not a homography of 3×3 numbers: {error}.") from None
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all() or np.linalg.det(matrix) == 0:
        raise InvalidInput(f"{file} must hold 3×3 finite numbers of an invertible homography.")
    return matrix


def transfer(homography: NDArray[Any], points: NDArray[Any]) -> NDArray[np.float64]:
    """(N, 2) points of the first picture, in the other."""
    moved = np.column_stack([points, np.ones(len(points))]) @ homography.T
    return np.asarray(moved[:, :2] / moved[:, 2:])


def _homographies(folder: Path) -> dict[int, Path]:
    named = {number: (f"H_1_{number}", f"H1to{number}p") for number in range(2, 7)}
    return {
        number: folder / name
        for number, names in named.items()
        for name in names
        if (folder / name).is_file()
    }


def _picture(folder: Path, number: int) -> Path:
    for suffix in _SUFFIXES:
        for stem in (f"{number}", f"img{number}"):
            if (folder / f"{stem}{suffix}").is_file():
                return folder / f"{stem}{suffix}"
    raise InvalidInput(f"the sequence {folder.name} lacks picture {number}; restore it.")


def _change(name: str) -> str:
    kinds = {"i_": "illumination", "v_": "viewpoint"}
    return kinds.get(name[:2], _OXFORD.get(name, "other"))
