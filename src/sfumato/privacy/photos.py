"""The photographs that a map was made of, found by the names of its images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput
from sfumato.features import load_image


class MapPhotos(Mapping[str, NDArray[np.uint8]]):
    """Photographs in a folder, or in the folders of several scenes; opened when asked for."""

    def __init__(self, folder: str | Path, names: tuple[str, ...]) -> None:
        self._folder, self._names = Path(folder), names
        if not self._folder.is_dir():
            raise InvalidInput(f"there is no folder of photographs at {folder}.")
        if names:
            self._path(names[0])  # a wrong folder is refused before the long work

    def __getitem__(self, name: str) -> NDArray[np.uint8]:
        return load_image(self._path(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _path(self, name: str) -> Path:
        scene, _, inside = name.partition("/")
        for path in (
            self._folder / name,
            self._folder / "images" / name,
            self._folder / scene / "images" / inside,
            self._folder / "images" / inside,
        ):
            if path.is_file():
                return path
        raise InvalidInput(
            f"the map has an image {name}, and {self._folder} no photograph of that name; give the "
            "photographs that the map was made of."
        )
