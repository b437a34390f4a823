"""What a command protects: a photograph, a folder of them, or features that were found before.

Names of pictures stay on this machine: they are in no release and in no sentence about a failure,
which says the picture's number in the order of names instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from sfumato.cli.files import is_release
from sfumato.cli.options import argument, option
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.files import read_limited
from sfumato.core.progress import Progress
from sfumato.core.types import Camera, Features

if TYPE_CHECKING:
    from sfumato.core.randomness import RandomSource
    from sfumato.device.protect import Pipeline

_MAX_LIST = 64 << 20  # a million names
Source = Annotated[
    Path,
    argument("SOURCE", "A photograph, a folder of them, or features (.h5). They stay here."),
]


@dataclass(frozen=True)
class Picture:
    """One picture: its name among the others, and the photograph or the file of its features.

    camera  what a list said of it
    """

    name: str
    path: Path
    is_features: bool = False
    camera: Camera | None = None

    def select(self, pipeline: Pipeline, rng: RandomSource) -> Features:
        """The features that may be released; they are still here."""
        from sfumato.device.protect import select, select_features
        from sfumato.features.h5 import read_strongest

        if not self.is_features:
            return select(self.path, pipeline, rng=rng)
        found = read_strongest(self.path, self.name, extractor=pipeline.extractor_name)
        return select_features(found, pipeline, rng=rng)


@dataclass(frozen=True)
class Pictures:
    """What was asked for; `several` also where a folder holds a single one."""

    items: tuple[Picture, ...]
    several: bool
    features_file: Path | None = None

    def select(self, pipeline: Pipeline, rng: RandomSource, progress: Progress) -> list[Features]:
        """The features of all, or the first failure, by the picture's number."""
        found = []
        for number, picture in enumerate(self.items, start=1):
            try:
                found.append(picture.select(pipeline, rng))
            except SfumatoError as error:
                raise self.named(number, error) from None
            progress("describing pictures", number, len(self.items))
        return found

    def named(self, number: int, error: SfumatoError) -> SfumatoError:
        """An error about one of several, without the picture's name."""
        if not self.several:
            return error
        picture = self.items[number - 1]
        text = str(error).replace(f"{picture.path}: ", "").replace(picture.name, "it")
        sentence = f"picture {number} of {len(self.items)}, in the order of names: {text}"
        error.args = (f"{sentence} Nothing was charged.",)
        return error


@dataclass(frozen=True, kw_only=True)
class Which:
    """Which pictures of a file or folder."""

    rules: ClassVar = {"--list": "not --name"}

    name: Annotated[
        str | None, option("Of features: this picture.", metavar="NAME", shown="all")
    ] = None
    list: Annotated[
        Path | None,
        option(
            "Only the pictures this file names, one to a line; hloc's lists of queries bring "
            "their cameras along.",
            shown="all",
        ),
    ] = None

    def of(self, source: Path) -> Pictures:
        """The pictures of a photograph, a folder or a features file."""
        from sfumato.features.folder import list_images
        from sfumato.features.h5 import is_features_file, list_feature_names

        if is_features_file(source):
            names: Iterable[str] = list_feature_names(source)
            if self.name is not None:
                if self.name not in set(names):
                    raise InvalidInput(
                        f"{source} holds no picture of the name that --name gives, of "
                        f"{len(tuple(names))}; `sfumato extract` and hloc name them by their path."
                    )
                return Pictures((Picture(self.name, source, True),), False, source)
            chosen = self._listed(tuple(names), source)
            items = tuple(Picture(name, source, True, camera) for name, camera in chosen)
            return Pictures(items, True, source)
        if self.name is not None:
            raise InvalidInput("--name is for a features file, and this is none; leave it out.")
        if source.is_dir():
            chosen = self._listed(list_images(source), source)
            return Pictures(
                tuple(Picture(name, source / name, False, camera) for name, camera in chosen), True
            )
        if self.list is not None:
            raise InvalidInput("--list is for folders and features files; leave it out.")
        return Pictures((Picture(source.name, source),), False)

    def _listed(self, names: Sequence[str], source: Path) -> Sequence[tuple[str, Camera | None]]:
        if not names:
            raise InvalidInput(f"{source} holds no pictures.")
        if self.list is None:
            return [(name, None) for name in names]
        chosen = read_list(self.list)
        known = set(names)
        absent = [number for number, (name, _) in enumerate(chosen, 1) if name not in known]
        if absent:
            raise InvalidInput(
                f"{len(absent)} of the {len(chosen)} pictures of {self.list} are not in {source}, "
                f"the first is number {absent[0]}; names count from that folder."
            )
        return chosen


def read_list(path: Path) -> list[tuple[str, Camera | None]]:
    """Names and, where the list has them, cameras; in the order of the list, each once.

    A line is a name alone, or name MODEL width height parameters, as hloc writes it.
    """
    try:
        lines = read_limited(path, _MAX_LIST, what="list of pictures").decode().splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"there is no list of pictures in UTF-8 at {path}.") from None
    found: dict[str, Camera | None] = {}
    for line, words in enumerate(map(str.split, lines), start=1):
        if not words or words[0].startswith("#"):
            continue
        if words[0] in found:
            raise InvalidInput(f"line {line} of {path} names a picture again; keep one of them.")
        try:
            found[words[0]] = _camera(*words[1:]) if len(words) > 1 else None
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"line {line} of {path} must say a name, or name MODEL width height parameters: "
                f"{error}"
            ) from None
    if not found:
        raise InvalidInput(f"{path} names no pictures.")
    return list(found.items())


def _camera(model: str, width: str, height: str, *params: str) -> Camera:
    return Camera(model, int(width), int(height), tuple(float(value) for value in params))


def holds_releases(source: Path) -> bool:
    """Whether a file is a release, or a folder holds some; what is not there is refused."""
    if source.is_dir():
        return next(source.glob("*.sfr"), None) is not None
    return is_release(source)
