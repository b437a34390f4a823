"""The map-maker's pictures in, features out; from a folder also resumable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import write_file
from sfumato.core.types import Features
from sfumato.features.exif import read_focal_35mm
from sfumato.features.extractors import Extractor, extract
from sfumato.features.folder import extract_folder, iter_folder_features, list_images

Images = str | Path | Sequence[tuple[str, NDArray[Any]]]
HoldOut = Callable[[str], bool]


@dataclass(frozen=True)
class Gathered:
    """Features by name, in order of name, and what was left out on the way.

    unreadable  (name, reason)
    held_out    names of images kept for queries
    focal_35mm  from EXIF, for the images that have it
    """

    features: dict[str, Features]
    unreadable: tuple[tuple[str, str], ...]
    held_out: tuple[str, ...]
    focal_35mm: dict[str, float]


def list_names(images: Images, only: Sequence[str] | None = None) -> tuple[str, ...]:
    """Names of the images, or of those named, sorted; refused if two are the same."""
    if only is not None:
        names = list(only)
    elif isinstance(images, str | Path):
        return list_images(images)
    else:
        names = [name for name, _ in images]
    if len(set(names)) != len(names):
        raise InvalidInput(f"{len(names)} images have {len(set(names))} names; names must differ.")
    return tuple(sorted(names))


def gather_features(
    images: Images,
    *,
    extractor: str | Extractor = "sift",
    max_keypoints: int | None = None,
    hold_out: HoldOut | None = None,
    work: str | Path | None = None,
    strict: bool = False,
    progress: Progress = silent,
    only: Sequence[str] | None = None,
) -> Gathered:
    """Extract all images that are not held out, or of those named only.

    With `work`, a folder, features of a folder of pictures are kept in it: stopped and called
    again, extraction goes on where it was. The folder belongs to one source of pictures.
    """
    names = list_names(images, only)
    held = tuple(name for name in names if hold_out is not None and hold_out(name))
    wanted = [name for name in names if name not in set(held)]
    unreadable: list[tuple[str, str]] = []
    found: dict[str, Features] = {}
    focals: dict[str, float] = {}
    if not isinstance(images, str | Path):
        arrays = dict(images)
        for done, name in enumerate(wanted, start=1):
            found[name] = extract(arrays[name], extractor, max_keypoints=max_keypoints)
            progress("extracting", done, len(wanted))
        return Gathered(found, (), held, focals)
    if work is not None:
        file = _claim(Path(work), Path(images))
        report = extract_folder(
            images,
            file,
            extractor=extractor,
            max_keypoints=max_keypoints,
            strict=strict,
            progress=progress,
            names=names,
        )
        unreadable.extend(report.unreadable)
        from sfumato.features.h5 import read_features

        bad = {name for name, _ in unreadable}
        found = {name: read_features(file, name) for name in wanted if name not in bad}
    else:
        found = dict(
            iter_folder_features(
                images,
                extractor=extractor,
                max_keypoints=max_keypoints,
                strict=strict,
                unreadable=unreadable,
                progress=progress,
                names=wanted,
            )
        )
    for name in found:
        focal = read_focal_35mm(Path(images) / name)
        if focal is not None:
            focals[name] = focal
    return Gathered(found, tuple(unreadable), held, focals)


def _claim(work: Path, source: Path) -> Path:
    """Make `work` the folder of this source, or see that it is; the features file inside."""
    work.mkdir(parents=True, exist_ok=True)
    note = work / "source.txt"
    mine = str(source.resolve())
    if not note.exists():
        if any(work.iterdir()):
            raise InvalidInput(f"{work} is not empty and not from an earlier run; remove it.")
        write_file(note, mine.encode("utf-8", "surrogateescape"))
    elif note.read_bytes() != mine.encode("utf-8", "surrogateescape"):
        raise Mismatch(f"{work} was begun from other pictures than {source}; remove it.")
    return work / "features.h5"
