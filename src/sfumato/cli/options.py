"""Options and arguments that several commands have, each declared once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from sfumato.core import types
from sfumato.core.errors import InvalidInput
from sfumato.core.gravity import Gravity, parse_direction
from sfumato.core.lens import check_possible


def option(
    text: str, *names: str, metavar: str | None = None, shown: bool | str = True
) -> typer.models.OptionInfo:
    """An option with its help.

    names    how it is written, where that is not the parameter's own name
    shown    the default in words, where the value itself says nothing
    """
    made: typer.models.OptionInfo = typer.Option(
        *names, help=text, metavar=metavar, show_default=shown
    )
    return made


def output(text: str, metavar: str = "FILE", *, shown: bool | str = True) -> Any:
    """`-o`: what a command writes."""
    return option(text, "-o", "--output", metavar=metavar, shown=shown)


def argument(metavar: str, text: str) -> Any:
    """What a command works on."""
    return typer.Argument(metavar=metavar, help=text)


Image = Annotated[Path, argument("IMAGE", "A photograph. It stays on this machine.")]
Release = Annotated[Path, argument("RELEASE", "A release (.sfr) of `sfumato protect`.")]
Map = Annotated[Path, argument("MAP", "The folder of a map.")]
Store = Annotated[Path, argument("STORE", "The service's folder.")]
StoreGiven = Annotated[Path, option("The service's folder.", metavar="STORE")]

Dictionary = Annotated[
    str, option("Public words: a dictionary's folder or name.", metavar="DICTIONARY")
]
CAMERA_SCALE = (
    "Pictures are so many times as large as the intrinsics say: 0.5 for halved ones; auto."
)
CameraScale = Annotated[str, option(CAMERA_SCALE, metavar="NUMBER|auto")]
Words = Annotated[int | None, option("|K|, one of the dictionary's levels.", shown="by ε")]
SubsetSize = Annotated[int, option("ω, words sent per descriptor.")]
Camera = Annotated[
    str | None, option("The camera's intrinsics, as COLMAP writes them.", metavar="MODEL,PARAM,…")
]
AnyCamera = Annotated[
    str | None,
    option(
        "The camera's intrinsics, as COLMAP writes them; auto: by EXIF.",
        metavar="MODEL,PARAM,…|auto",
    ),
]
Up = Annotated[
    str | None,
    option(
        "Which way is up in the map's world: devices may then send gravity.",
        metavar="X,Y,Z",
        shown="not known",
    ),
]
Extractor = Annotated[str, option("What describes the pictures.", metavar="NAME")]
MaxKeypoints = Annotated[
    int | None, option("Keep only the strongest of each picture.", shown="all")
]
Strict = Annotated[bool, option("Stop at the first picture that cannot be read.", "--strict")]
Seed = Annotated[int, option("Of every draw: the same seed gives the same result.")]
Networks = Annotated[
    Path | None,
    option("Folder of further networks, <extractor>-<kind>.onnx.", metavar="FOLDER"),
]
Threads = Annotated[int | None, option("Of the networks.", shown="all")]
Minutes = Annotated[
    float | None, option("Stop after this long; the same command goes on.", shown="never")
]
Labels = Annotated[Path | None, option("One label for each picture (idx, .npy, .npz).")]
Encoder = Annotated[Path | None, option("An encoder's file (.npz).")]


@dataclass(frozen=True)
class Measured:
    """What a device with an accelerometer knows beside its picture; told only where it is given."""

    rules: ClassVar = {"--gravity-error": "--gravity"}

    gravity: Annotated[
        str | None,
        option(
            "Which way is down in the camera: x right, y down, z forward; NOT PROTECTED.",
            metavar="X,Y,Z",
        ),
    ] = None
    gravity_error: Annotated[
        float, option("Its standard deviation in degrees; phones at rest: 1 to 3.")
    ] = 2.0

    def read(self) -> Gravity | None:
        if self.gravity is None:
            return None
        return Gravity(parse_direction("--gravity", self.gravity), self.gravity_error)


@dataclass(frozen=True)
class Running:
    """Where long work runs, and on how many workers. The result is the same everywhere."""

    on: Annotated[
        str, option("Where the work runs: local, ray or ray://HOST:PORT.", metavar="PLACE")
    ] = "local"
    workers: Annotated[
        int | None,
        option("Processes that work at once.", shown="threads of this one; all of a cluster"),
    ] = None

    @contextmanager
    def started(self) -> Iterator[None]:
        """The place is open inside, and ended afterwards."""
        from sfumato.execution import started

        with started(self.on, self.workers):
            yield


def parse_camera(text: str, image_size: tuple[int, int]) -> types.Camera:
    """A camera from "MODEL,param,param,…", as COLMAP writes it."""
    model, *numbers = text.split(",")
    try:
        params = tuple(float(number) for number in numbers)
    except ValueError:
        raise InvalidInput(
            f"camera must be MODEL,param,param,… with numbers, got {text!r}."
        ) from None
    camera = types.Camera(model, *image_size, params)
    check_possible(camera)  # before anything is charged or sent
    return camera
