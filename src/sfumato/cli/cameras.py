"""Intrinsics of a picture: given, from a list, from EXIF, or as the map's own cameras."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.cli.options import parse_camera
from sfumato.cli.pictures import Picture, Pictures
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.lens import check_possible
from sfumato.core.types import Camera, Features

AUTO = "auto"
GUESSED = "the map's own camera"


@dataclass(frozen=True)
class Intrinsics:
    """A camera and who says so; a guessed one is tried with other focal lengths too."""

    camera: Camera
    source: str

    @property
    def is_guess(self) -> bool:
        return self.source == GUESSED


def camera_of(
    picture: Picture,
    size: tuple[int, int],
    text: str | None,
    of_map: Callable[[], Camera | None] = lambda: None,
) -> Intrinsics | None:
    """The intrinsics of one picture; None where nothing was asked for and no list says it.

    of_map  gives a camera of the map, asked for where nothing else is known
    """
    if picture.camera is not None:
        known = picture.camera
        if (known.width, known.height) != size:
            raise InvalidInput(
                f"the list says {known.width}×{known.height} pixels, the picture has "
                f"{size[0]}×{size[1]}; give the list of these pictures."
            )
        check_possible(known)
        return Intrinsics(known, "the list")
    if text is None:
        return None
    if text != AUTO:
        return Intrinsics(parse_camera(text, size), "--camera")
    if not picture.is_features:
        from sfumato.features.exif import read_focal

        found = read_focal(picture.path)
        if found is not None:
            return Intrinsics(found.camera(size), found.source)
    like = of_map()
    if like is None:
        what = "features say" if picture.is_features else "photograph's EXIF says"
        raise InvalidInput(
            f"the {what} nothing of the focal length; give --camera MODEL,PARAM,… or a list with "
            "cameras, or leave it out and let `sfumato localize --camera auto` use the map's own."
        )
    return Intrinsics(like_map(like, size), GUESSED)


def cameras_of(
    pictures: Pictures,
    found: Sequence[Features],
    text: str | None,
    of_map: Camera | None = None,
) -> list[Intrinsics | None]:
    """The intrinsics of every picture; the first that has none is refused by its number."""
    made = []
    for number, (picture, features) in enumerate(zip(pictures.items, found, strict=True), start=1):
        try:
            made.append(camera_of(picture, features.image_size, text, lambda: of_map))
        except SfumatoError as error:
            raise pictures.named(number, error) from None
    return made


def like_map(camera: Camera, size: tuple[int, int]) -> Camera:
    """The map's camera for a picture of another size: the same angle over the longer side.

    The principal point goes to the middle and the lens is taken for a plain one: it is a guess.
    """
    width, height = size
    focal = sum(camera.params[: camera.num_focals]) / camera.num_focals
    focal *= max(width, height) / max(camera.width, camera.height)
    return Camera("SIMPLE_RADIAL", width, height, (focal, width / 2, height / 2, 0.0))


def sources_text(made: Sequence[Intrinsics | None]) -> str:
    """Where the cameras came from, in one phrase."""
    counts = Counter("none" if one is None else one.source for one in made)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} by {source}" for source, count in counts.most_common())
