"""From a rough model of releases to its final points: guided matches, positions, adjustment.

With poses known, three things become possible that were not before: candidates of every word are
believed when they lie on each other's epipolar line with their neighbours; a point that two
pictures agree on is looked for in all others, where it must be; and poses are fitted to the
tracks that three or more pictures agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sfumato.core.errors import InvalidInput
from sfumato.core.lens import focal_lengths, project
from sfumato.core.progress import Progress, silent
from sfumato.core.types import Camera
from sfumato.matching.support import SupportOptions
from sfumato.server.mapping import colmap
from sfumato.server.mapping.assemble import SparseModel
from sfumato.server.mapping.private_pairs import PairCandidates, Rows
from sfumato.server.mapping.tracks import without_conflicts
from sfumato.server.mapping.triangulate import TriangulationOptions, Views, triangulate_matches
from sfumato.server.mapping.two_view import View, guided_matches

_BESIDE = (8.0, 20.0)  # pixels; near enough to be the same crowd, too far to be the same corner

CandidatesOf = Callable[[int, int], PairCandidates]


@dataclass(frozen=True)
class CompletionOptions:
    """How a rough model is worked out.

    bands         distance to the epipolar line of each pass, in pixels; poses are adjusted
                  between passes, so that it can shrink
    radius        how far from where a point must be a keypoint is taken for it, in pixels
    completions   how often points are looked for in further pictures; 0 for never
    """

    bands: tuple[float, ...] = (3.0, 2.0, 2.0, 2.0)
    radius: float = 0.75
    completions: int = 2
    triangulation: TriangulationOptions = field(
        default_factory=lambda: TriangulationOptions(max_reprojection_error=2.0)
    )
    support: SupportOptions = field(default_factory=SupportOptions)

    def __post_init__(self) -> None:
        if not self.bands or min(self.bands) <= 0 or self.radius <= 0 or self.completions < 0:
            raise InvalidInput("bands and radius must be above 0, completions at least 0.")


def work_out(
    model: SparseModel,
    keypoints: Sequence[NDArray[np.float32]],
    candidates_of: CandidatesOf,
    options: CompletionOptions,
    *,
    refine_cameras: bool,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[SparseModel, dict[str, Any]]:
    """The final points and poses of a model, and facts.

    keypoints and the numbers candidates_of is asked for are in the order of the model's images.
    In facts, `points_by_matches` and `long_tracks_by_matches` count before any keypoint was
    added by its position alone, and `long_tracks_by_chance` estimates how many points owe their
    third image to a keypoint that was there by chance.
    """
    matches: dict[tuple[int, int], Rows] = {}
    by_matches, views = model, list[View]()
    for turn, band in enumerate(options.bands):
        if turn:
            model = colmap.adjust(model, keypoints, refine_cameras=refine_cameras)
        views = [
            View(positions, camera)
            for positions, camera in zip(keypoints, cameras_of(model), strict=True)
        ]
        matches = _match_all(views, model, candidates_of, band, options.support)
        rough = replace(
            options.triangulation,
            max_reprojection_error=max(band, options.triangulation.max_reprojection_error),
        )
        by_matches = triangulate_model(model, views, matches, rough, seed=seed)
        model = complete_tracks(by_matches, views, options, rough, seed=seed)
        progress("completing", turn + 1, len(options.bands))
    if not len(model.points):
        raise InvalidInput("no point of the model is seen from two places; take pictures apart.")
    facts = {
        "verified_matches": sum(len(rows) for rows in matches.values()),
        "points_by_matches": len(by_matches.points),
        "long_tracks_by_matches": int((track_lengths(by_matches) >= 3).sum()),
        "long_tracks_by_chance": count_by_chance(by_matches, views, options, seed=seed),
        "triangulation": asdict(options.triangulation),
    }
    return model, facts


def cameras_of(model: SparseModel) -> list[Camera]:
    """The camera of each image."""
    return [model.cameras[row] for row in model.camera_of_image]


def track_lengths(model: SparseModel) -> NDArray[np.int64]:
    """How many images see each point."""
    seen = np.concatenate([np.empty(0, dtype=np.int32), *model.point_of_feature])
    return np.bincount(seen[seen >= 0], minlength=len(model.points))


def triangulate_model(
    model: SparseModel,
    views: Sequence[View],
    matches: Mapping[tuple[int, int], Rows],
    options: TriangulationOptions,
    *,
    seed: int = 0,
) -> SparseModel:
    """The model with the points of these matches instead of its own; poses stay."""
    start = _starts(views)
    edges = [np.empty((0, 2), dtype=np.int64)]
    edges += [rows + start[[a, b]] for (a, b), rows in matches.items()]
    # Of every pair the best supported come first, and so they do over all pairs.
    rank = [np.empty(0), *(np.arange(len(rows)) / len(rows) for rows in matches.values())]
    order = np.argsort(np.concatenate(rank), kind="stable")
    return _with_points(model, views, np.concatenate(edges)[order], options, seed)


def complete_tracks(
    model: SparseModel,
    views: Sequence[View],
    options: CompletionOptions,
    triangulation: TriangulationOptions,
    *,
    seed: int = 0,
) -> SparseModel:
    """The model with points also seen by images that have a keypoint where they must be.

    No word is asked, only the position; `count_by_chance` says how often that errs. What was
    found is triangulated anew, so that halves of one track come together and every observation
    meets the same limits.
    """
    trees = [cKDTree(view.keypoints) if len(view.keypoints) else None for view in views]
    start = _starts(views)
    for _ in range(options.completions):
        seen = np.concatenate(model.point_of_feature)
        rows = np.flatnonzero(seen >= 0)
        one = np.zeros(len(model.points), dtype=np.int64)
        one[seen[rows]] = rows  # some feature of each point, to be joined with what is found
        known = _chain(seen, rows)
        edges, distances = [known], [np.full(len(known), -1.0)]  # what was found before is first
        for image, tree in enumerate(trees):
            if tree is not None:
                asked, pixels = _expected(model, views, image)
                distance, nearest = tree.query(pixels, distance_upper_bound=options.radius)
                found = np.isfinite(distance)
                edges.append(np.stack([one[asked[found]], nearest[found] + start[image]], axis=1))
                distances.append(distance[found])
        order = np.argsort(np.concatenate(distances), kind="stable")
        model = _with_points(model, views, np.concatenate(edges)[order], triangulation, seed)
    return model


def count_by_chance(
    model: SparseModel, views: Sequence[View], options: CompletionOptions, *, seed: int = 0
) -> int:
    """How many two-view points a completion would lengthen by a keypoint that is not theirs.

    The null: the same points looked for 8 to 20 pixels beside where they must be, in the same
    crowd of keypoints. With r the share that meets a keypoint there and n the points that met
    none at their own place, about n·r/(1 − r) of those that met one owe it to chance alone.
    """
    if not options.completions:
        return 0
    rng = np.random.default_rng(seed)
    met, beside = np.zeros((2, len(model.points)), dtype=np.bool_)
    for image, view in enumerate(views):
        if not len(view.keypoints):
            continue
        tree = cKDTree(view.keypoints)
        asked, pixels = _expected(model, views, image)
        angle = 2 * np.pi * rng.random(len(asked))
        away = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        away *= rng.uniform(*_BESIDE, len(asked))[:, None]
        for found, places in ((met, pixels), (beside, pixels + away)):
            distance, _ = tree.query(places, distance_upper_bound=options.radius)
            found[asked[np.isfinite(distance)]] = True
    two = track_lengths(model) == 2
    rate = float(beside[two].mean()) if two.any() else 0.0
    return round(int((~met[two]).sum()) * rate / (1 - rate)) if rate < 1 else int(two.sum())


def _expected(
    model: SparseModel, views: Sequence[View], image: int
) -> tuple[Rows, NDArray[np.float64]]:
    """Points an image may see but has no feature of, and where in it they must be."""
    known = np.zeros(len(model.points), dtype=np.bool_)
    seen = model.point_of_feature[image]
    known[seen[seen >= 0]] = True
    inside = model.poses[image].apply(model.points)
    rows = np.flatnonzero((inside[:, 2] > 0) & ~known)
    pixels = project(views[image].camera, inside[rows])
    good = np.isfinite(pixels).all(axis=1)
    return rows[good], pixels[good]


def _match_all(
    views: Sequence[View],
    model: SparseModel,
    candidates_of: CandidatesOf,
    band: float,
    support: SupportOptions,
) -> dict[tuple[int, int], Rows]:
    found = {}
    for b in range(len(views)):
        for a in range(b):
            rows = guided_matches(
                views[a],
                views[b],
                candidates_of(a, b),
                model.poses[a],
                model.poses[b],
                band=band,
                support=support,
            )
            if len(rows):
                found[a, b] = rows
    return found


def _with_points(
    model: SparseModel,
    views: Sequence[View],
    edges: Rows,
    options: TriangulationOptions,
    seed: int,
) -> SparseModel:
    start = _starts(views)
    image_of = np.repeat(np.arange(len(views)), np.diff(start))
    looks = Views(
        rays=np.concatenate([view.rays[:, :2] for view in views]),
        image_of=image_of,
        rotations=np.stack([pose.rotation for pose in model.poses]),
        translations=np.stack([pose.translation for pose in model.poses]),
        focals=np.array([focal_lengths(view.camera) for view in views]),
    )
    edges = without_conflicts(edges, image_of)
    points, seen = triangulate_matches(looks, edges, options, seed=seed)
    return replace(model, points=points, point_of_feature=tuple(np.split(seen, start[1:-1])))


def _starts(views: Sequence[View]) -> NDArray[np.int64]:
    counts = [len(view.keypoints) for view in views]
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _chain(seen: NDArray[np.int32], rows: NDArray[np.int64]) -> Rows:
    """Features of one point joined one to the next: (E, 2)."""
    order = rows[np.argsort(seen[rows], kind="stable")]
    same = seen[order[1:]] == seen[order[:-1]]
    return np.stack([order[:-1][same], order[1:][same]], axis=1)
