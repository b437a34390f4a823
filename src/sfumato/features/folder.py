"""A folder of pictures in, features out, one after the other and resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidInput, Mismatch, UnreadableImage, WorkerLost
from sfumato.core.progress import Progress, silent
from sfumato.core.threads import FEW_THREADS
from sfumato.core.types import Features
from sfumato.execution import current
from sfumato.features.extractors import (
    Extractor,
    check_request,
    extract,
    extractor_name,
    weights_file,
)
from sfumato.features.image import MAX_SIFT_PIXELS, decode_image

_SUFFIXES = "jpg jpeg png tif tiff webp bmp gif ppm pgm pbm pnm jp2 avif heic heif"
SUFFIXES = frozenset(f".{kind}" for kind in _SUFFIXES.split())


@dataclass(frozen=True)
class FolderReport:
    """What became of the pictures of a folder.

    done              extracted in this run; keypoints counts theirs
    skipped_existing  complete from an earlier run
    unreadable        (name, reason) of those left out
    """

    done: int
    skipped_existing: int
    unreadable: tuple[tuple[str, str], ...]
    keypoints: int


def list_images(folder: str | Path) -> tuple[str, ...]:
    """Names of all pictures below a folder, relative, with "/", sorted.

    Pictures are known by their suffix; hidden files and folders are left out.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInput(f"there is no folder of pictures at {folder}.")
    names = []
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        hidden = any(part.startswith(".") for part in relative.parts)
        if not hidden and path.suffix.lower() in SUFFIXES and path.is_file():
            names.append(relative.as_posix())
    if not names:
        known = ", ".join(sorted(SUFFIXES))
        raise InvalidInput(f"the folder {folder} holds no picture (looked for {known}).")
    return tuple(sorted(names))


def extract_folder(
    folder: str | Path,
    output: str | Path,
    *,
    extractor: str | Extractor = "sift",
    max_keypoints: int | None = None,
    weights: str | Path | None = None,
    strict: bool = False,
    progress: Progress = silent,
    names: Sequence[str] | None = None,
) -> FolderReport:
    """Extract every picture below a folder, or those named, into one features file.

    Stopped at any moment, even killed, the file is what it was before, and the same call
    goes on where it stopped. Pictures are distinguished by name: one that changed since is not
    extracted again. Unreadable pictures are named, counted and left out; strict=True makes
    the first of them an error.
    """
    from sfumato.features.writer import FeatureWriter

    if isinstance(extractor, str):
        check_request(extractor, max_keypoints=max_keypoints, weights=weights)
    names = list_images(folder) if names is None else tuple(names)
    unreadable: list[tuple[str, str]] = []
    done = keypoints = 0
    with FeatureWriter(
        output,
        extractor=extractor_name(extractor),
        max_keypoints=max_keypoints,
        weights=weights_file(extractor, weights),
        progress=progress,
    ) as writer:
        wanted = [name for name in names if name not in writer]
        recipe = _Recipe(Path(folder).absolute(), extractor, max_keypoints, weights)
        current().check_path(recipe.root)
        current().check_path(writer.parts)
        # Workers store what they find: it does not come through this process.
        given = (recipe, writer.parts.absolute())
        for _, count in _work_through(_store_named, wanted, given, strict, unreadable, progress):
            done += 1
            keypoints += count
        if names and len(unreadable) == len(names):
            name, reason = unreadable[0]
            raise InvalidInput(
                f"none of the {len(names)} pictures in {folder} can be read; "
                f"the first is {name}: {reason}"
            )
    return FolderReport(done, len(names) - len(wanted), tuple(unreadable), keypoints)


def iter_folder_features(
    folder: str | Path,
    *,
    extractor: str | Extractor = "sift",
    max_keypoints: int | None = None,
    weights: str | Path | None = None,
    strict: bool = False,
    unreadable: list[tuple[str, str]] | None = None,
    progress: Progress = silent,
    names: Sequence[str] | None = None,
) -> Iterator[tuple[str, Features]]:
    """Yield (name, features) of every readable picture below a folder, in order of name.

    (name, reason) of the unreadable ones is appended to `unreadable`, or the first is raised
    with strict=True. `names` limits the walk to those. Extraction runs some pictures ahead
    on several workers; only a few pictures' features are in memory at a time.
    """
    if isinstance(extractor, str):
        check_request(extractor, max_keypoints=max_keypoints, weights=weights)
    root = Path(folder)
    todo = list(list_images(folder) if names is None else names)
    recipe = _Recipe(root.absolute(), extractor, max_keypoints, weights)
    current().check_path(root)
    yield from _work_through(_extract_named, todo, (recipe,), strict, unreadable, progress)


@dataclass(frozen=True)
class _Recipe:
    """How the pictures of a folder become features."""

    root: Path
    extractor: str | Extractor
    max_keypoints: int | None
    weights: str | Path | None


def _work_through(
    work: Callable[..., Any],
    names: Sequence[str],
    given: tuple[Any, ...],
    strict: bool,
    unreadable: list[tuple[str, str]] | None,
    progress: Progress,
) -> Iterator[tuple[str, Any]]:
    """(name, what the work gave) of every picture that can be read."""
    found = current().map(work, names, *given, threads=FEW_THREADS)
    for done, (name, result) in enumerate(zip(names, found, strict=True), start=1):
        if not isinstance(result, InvalidInput):
            yield name, result
        else:
            shown = name.encode("utf-8", "backslashreplace").decode()
            if strict:
                raise UnreadableImage(f"{shown}: {result}") from result
            if unreadable is not None:
                unreadable.append((shown, str(result)))
        progress("extracting", done, len(names))


def _store_named(recipe: _Recipe, parts: Path, name: str) -> int | InvalidInput:
    """Store the features of one picture where a writer will find them; how many they are."""
    from sfumato.features.writer import write_part

    features = _extract_named(recipe, name)
    if isinstance(features, InvalidInput):
        return features
    if features.extractor != extractor_name(recipe.extractor):
        raise Mismatch(
            f"the features file takes {extractor_name(recipe.extractor)} features, got "
            f"{features.extractor}."
        )
    write_part(parts, name, features)
    return len(features)


def _extract_named(recipe: _Recipe, name: str) -> Features | InvalidInput:
    """The features of one picture, or why there are none."""
    if not recipe.root.is_dir():
        raise WorkerLost(
            f"a worker cannot see the folder {recipe.root} any more; work on several machines "
            "needs shared storage."
        )
    try:
        name.encode()
        pixels = decode_image(recipe.root / name, max_pixels=MAX_SIFT_PIXELS)
        return extract(
            pixels, recipe.extractor, max_keypoints=recipe.max_keypoints, weights=recipe.weights
        )
    except UnicodeEncodeError:
        return UnreadableImage("its name is not valid UTF-8; rename the file.")
    except InvalidInput as error:
        return error
