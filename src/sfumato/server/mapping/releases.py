"""A map from releases alone: no picture, no raw descriptor, every view private.

    candidates of each pair (`private_pairs`) → geometry of each pair, against a null (`two_view`)
    → COLMAP places the images → matches guided by poses, points, adjustment (`complete`)

What the server learns is positions, as before, and whatever the releases say about points that
several of them show: k views of one point of the scene cost k·ε about it (`private_points`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.checks import as_number, check_count
from sfumato.core.errors import InvalidInput, MalformedRelease, Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.releases import (
    KeypointRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    WordRelease,
)
from sfumato.core.types import Camera
from sfumato.server.mapping.assemble import SparseModel, map_of_model, share_cameras
from sfumato.server.mapping.compare_releases import Candidates, compare_all
from sfumato.server.mapping.complete import CompletionOptions, work_out
from sfumato.server.mapping.map import Map
from sfumato.server.mapping.private_points import descriptors_for_map, file_under_words
from sfumato.server.mapping.two_view import PairOptions, View
from sfumato.server.mapping.unknown_poses import MAX_SEED

SUFFIX = ".sfr"
_KINDS = (WordRelease, SubspaceRelease, PlainRelease)


@dataclass(frozen=True)
class ReleaseMapOptions:
    """All that can be tuned: how pairs are judged, and how the model is worked out."""

    pairs: PairOptions = field(default_factory=PairOptions)
    completion: CompletionOptions = field(default_factory=CompletionOptions)


def read_releases(folder: str | Path) -> dict[str, KeypointRelease]:
    """All releases (*.sfr) of a folder, by the name of their file; one bad file refuses all."""
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInput(f"there is no folder of releases at {folder}.")
    files = sorted(path for path in root.iterdir() if path.suffix == SUFFIX and path.is_file())
    if len(files) < 2:
        raise _too_few(len(files), f" ({SUFFIX} files) in {folder}")
    found: dict[str, KeypointRelease] = {}
    for path in files:
        try:
            release = Release.from_bytes(path.read_bytes())
        except OSError as error:
            raise InvalidInput(f"{path.name} cannot be read: {error.strerror}.") from None
        except InvalidInput as error:
            raise MalformedRelease(
                f"{path.name} is not a whole release: {error} Send it again or remove it."
            ) from None
        if not isinstance(release, KeypointRelease):
            raise _wrong_kind(release.kind)
        found[path.stem] = release
    return found


def build_map_from_releases(
    releases: Mapping[str, KeypointRelease],
    *,
    focal: float | None = None,
    options: ReleaseMapOptions | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Map:
    """Structure from motion on releases of one kind, and a map others can be localized in.

    focal  in pixels, to begin with where a release carries no camera; it is then refined

    A map of words answers releases of the same dictionary, a map of subspaces or raw
    descriptors the same kind of release. Every pair of images is compared: time grows with the
    square of their number.
    """
    model, facts = reconstruct_releases(
        releases, focal=focal, options=options, seed=seed, progress=progress
    )
    rows = [releases[name] for name in model.image_names]
    seen = np.concatenate(model.point_of_feature)
    indices = {}
    if isinstance(rows[0], WordRelease):
        words = [release for release in rows if isinstance(release, WordRelease)]
        indices[rows[0].dictionary] = file_under_words(words, seen)
    return map_of_model(model, rows, seen, descriptors_for_map(rows, seen), facts, indices)


def reconstruct_releases(
    releases: Mapping[str, KeypointRelease],
    *,
    focal: float | None = None,
    options: ReleaseMapOptions | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[SparseModel, dict[str, Any]]:
    """Poses and points of releases of one kind, and the facts worth keeping.

    Images that could not be placed are named in facts["unregistered"].
    """
    from sfumato.server.mapping import colmap  # not before it is needed: it takes a second

    check_count("seed", seed, low=0, high=MAX_SEED)
    options = options or ReleaseMapOptions()
    names = sorted(releases)
    rows = [releases[name] for name in names]
    check_releases(rows)
    cameras, has_given = cameras_of_releases(rows, focal)
    views = [View(release.keypoints, camera) for release, camera in zip(rows, cameras, strict=True)]
    candidates_of = Candidates(rows)
    matches, motions = compare_all(views, candidates_of, options.pairs, seed, progress)
    if not matches:
        pairs = len(rows) * (len(rows) - 1) // 2
        raise InvalidInput(
            f"none of the {len(rows)} releases shows the same place as another beyond chance "
            f"({pairs} pairs compared); pictures must overlap, and be taken from different places."
        )
    shared, camera_of_image = share_cameras(cameras)
    fixed = {camera for camera, given in zip(cameras, has_given, strict=True) if given}
    models = colmap.reconstruct(
        names,
        [release.keypoints for release in rows],
        matches,
        [colmap.CameraStart(camera, trusted=True, fixed=camera in fixed) for camera in shared],
        camera_of_image,
        motions=motions,
        seed=seed,
        progress=progress,
    )
    if not models:
        raise InvalidInput(
            f"no two of the {len(rows)} releases could be placed ({len(matches)} pairs have "
            "matches); take pictures from different places, or check the focal length."
        )
    placed = [names.index(name) for name in models[0].image_names]
    model, facts = work_out(
        models[0],
        [rows[row].keypoints for row in placed],
        lambda a, b: candidates_of(placed[a], placed[b]),
        options.completion,
        refine_cameras=not any(has_given),
        seed=seed,
        progress=progress,
    )
    return model, {
        "method": f"structure from motion on releases of {rows[0].kind}, "
        f"pycolmap {colmap.version()}",
        "releases": describe_releases(rows),
        "pairs": len(rows) * (len(rows) - 1) // 2,
        "accepted_pairs": len(matches),
        "unregistered": [name for name in names if name not in set(model.image_names)],
        "other_models": [list(other.image_names) for other in models[1:]],
        "seed": seed,
        **facts,
    }


def check_releases(releases: Sequence[KeypointRelease]) -> None:
    """Refuse what cannot become one map: too few, mixed kinds, dictionaries or extractors."""
    if len(releases) < 2:
        raise _too_few(len(releases))
    for release in releases:
        if not isinstance(release, _KINDS):
            raise _wrong_kind(release.kind)
    for what, values in (
        ("kind", [release.kind for release in releases]),
        ("extractor", [release.extractor for release in releases]),
        ("size of descriptor", [_dimension(release) for release in releases]),
        (
            "dictionary",
            [
                f"{release.dictionary[:12]}…"
                for release in releases
                if isinstance(release, WordRelease)
            ],
        ),
    ):
        counted = Counter(values)
        if len(counted) > 1:
            listed = ", ".join(f"{count} of {name}" for name, count in sorted(counted.items()))
            raise Mismatch(
                f"releases of one map must have one {what}, got {listed}; "
                "build one map of each, or protect the pictures in the same way."
            )


def describe_releases(releases: Sequence[KeypointRelease]) -> dict[str, Any]:
    """What was sent, in figures; ε is per descriptor, and views of one point add up."""
    counts = [len(release) for release in releases]
    facts: dict[str, Any] = {
        "kind": releases[0].kind,
        "count": len(releases),
        "mean_keypoints": float(np.mean(counts)),
    }
    words = [release for release in releases if isinstance(release, WordRelease)]
    if words:
        facts |= {
            "dictionary": words[0].dictionary,
            "num_words": words[0].num_words,
            "subset_sizes": sorted({release.subset_size for release in words}),
            "epsilons": sorted({release.epsilon for release in words}),
        }
    spaces = {release.dimension for release in releases if isinstance(release, SubspaceRelease)}
    return facts | ({"dimensions": sorted(spaces)} if spaces else {})


def cameras_of_releases(
    rows: Sequence[KeypointRelease], focal: float | None
) -> tuple[list[Camera], list[bool]]:
    """A camera for every release, and whether it came with it."""
    missing = sum(release.camera is None for release in rows)
    if missing and focal is None:
        raise InvalidInput(
            f"structure from motion needs the camera of every release, {missing} of {len(rows)} "
            "carry none; protect with a camera, or give a focal length in pixels to begin with."
        )
    if focal is not None and not (as_number("focal", focal) > 0 and np.isfinite(focal)):
        raise InvalidInput(f"focal must be a length in pixels above 0, got {focal!r}.")
    found = []
    for release in rows:
        width, height = release.image_size
        guess = (float(focal or 0), width / 2, height / 2, 0.0)
        found.append(release.camera or Camera("SIMPLE_RADIAL", width, height, guess))
    return found, [release.camera is not None for release in rows]


def _dimension(release: KeypointRelease) -> int:
    if isinstance(release, SubspaceRelease):
        return int(release.offsets.shape[1])
    if isinstance(release, PlainRelease):
        return int(release.descriptors.shape[1])
    return release.num_words if isinstance(release, WordRelease) else 0


def _too_few(count: int, where: str = "") -> InvalidInput:
    return InvalidInput(
        f"a map needs at least two releases that see the same points, got {count}{where}."
    )


def _wrong_kind(kind: str) -> InvalidInput:
    return InvalidInput(
        f"releases of {kind} cannot be placed; send words, subspaces or raw descriptors."
    )
