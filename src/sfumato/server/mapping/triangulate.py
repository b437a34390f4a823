"""Points from tracks and known poses, all tracks at once.

A track is a set of features that matches have joined, some of them wrongly. Every match is a
hypothesis: two rays make a point, and the other features of the track vote on it. The best
point is refined on those who agree; what they leave over is tried again, so that two points
joined by one wrong match become two points. Poses are never touched.

Errors are measured in the undistorted picture, in pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import as_number
from sfumato.core.errors import InvalidInput
from sfumato.core.geometry import unit_vectors
from sfumato.core.progress import Progress, silent
from sfumato.execution import current
from sfumato.server.mapping.tracks import Tracks, join_tracks, one_per_image, spread

_MAX_HYPOTHESES = 30  # matches of one track that are tried
_ROUNDS = 6
_REFINEMENTS = 4
_CHUNK = 1 << 19  # votes counted at a time
_BLOCK = 1 << 15  # features whose tracks one worker places at a time
_BEHIND = np.inf

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class TriangulationOptions:
    """What a point must meet.

    max_epipolar_error      of a match, in pixels
    max_reprojection_error  of every observation, in pixels
    min_angle_deg           between the two rays that differ most
    """

    max_epipolar_error: float = 2.0
    max_reprojection_error: float = 4.0
    min_angle_deg: float = 1.5

    def __post_init__(self) -> None:
        for name in ("max_epipolar_error", "max_reprojection_error", "min_angle_deg"):
            value = as_number(name, getattr(self, name))
            if not (value > 0 and math.isfinite(value)):
                raise InvalidInput(f"{name} must be above 0, got {value!r}.")


@dataclass(frozen=True)
class Views:
    """Where every feature looks: undistorted positions, and the pose of its image.

    rays          (F, 2) x/z, y/z
    image_of      (F,)
    rotations     (I, 3, 3) and translations (I, 3) of cam_from_world
    focals        (I, 2) in pixels
    """

    rays: Floats
    image_of: Rows
    rotations: Floats
    translations: Floats
    focals: Floats

    def errors(self, rows: Rows, points: Floats) -> Floats:
        """How far each row's feature is from its point's picture, ∞ behind the camera."""
        offset, in_camera = self._offset(rows, points)
        error = np.hypot(offset[:, 0], offset[:, 1])
        return np.where((in_camera[:, 2] > 0) & np.isfinite(error), error, _BEHIND)

    def _offset(self, rows: Rows, points: Floats) -> tuple[Floats, Floats]:
        image = self.image_of[rows]
        in_camera = np.matvec(self.rotations[image], points) + self.translations[image]
        with np.errstate(divide="ignore", invalid="ignore"):
            offset = in_camera[:, :2] / in_camera[:, 2:] - self.rays[rows]
        return offset * self.focals[image], in_camera

    def centers(self) -> Floats:
        """(I, 3) positions of the images in the world."""
        return np.asarray(-np.matvec(self.rotations.transpose(0, 2, 1), self.translations))

    def directions(self, rows: Rows) -> Floats:
        """Unit vectors in the world along which features look."""
        flat = np.hstack([self.rays[rows], np.ones((len(rows), 1))])
        world = np.matvec(self.rotations[self.image_of[rows]].transpose(0, 2, 1), flat)
        return unit_vectors(world)


def triangulate_matches(
    views: Views,
    edges: Rows,
    options: TriangulationOptions,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Floats, NDArray[np.int32]]:
    """Points (P, 3) and the point of each feature (F,), −1 for none.

    Each point is seen by at least two images, once by each, within the options.
    """
    rng = np.random.default_rng(seed)
    seen = np.full(len(views.rays), -1, dtype=np.int32)
    found: list[Floats] = []
    count = 0
    for turn in range(_ROUNDS):
        if not len(edges):
            break
        tracks = join_tracks(edges)
        points, rows, owner = _best_points(views, tracks, options, rng)
        kept = np.unique(owner)
        seen[rows] = count + np.searchsorted(kept, owner)
        found.append(points[kept])
        count += len(kept)
        # Only tracks that gave a point are tried again, with what it left over.
        again = np.isin(tracks.edge_of, kept) & (seen[edges] < 0).all(axis=1)
        edges = edges[again]
        progress("triangulating", turn + 1, _ROUNDS)
    progress("triangulating", _ROUNDS, _ROUNDS)
    return np.concatenate([np.empty((0, 3)), *found]), seen


def _best_points(
    views: Views, tracks: Tracks, options: TriangulationOptions, rng: np.random.Generator
) -> tuple[Floats, Rows, Rows]:
    """One point per track: positions (T, 3), and the rows that see them with their track."""
    chosen = _some_per_track(tracks.edge_of, rng)
    cuts = np.searchsorted(tracks.start, np.arange(_BLOCK, len(tracks.rows), _BLOCK))
    ends = np.unique([0, *cuts.tolist(), len(tracks)]).tolist()
    blocks = (_Block.of(tracks, chosen, low, high) for low, high in pairwise(ends))
    points, rows, owner = [np.empty((0, 3))], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    found = current().map(_place_block, blocks, views, options)
    for low, (placed, seen_by, owned) in zip(ends, found, strict=False):
        points.append(placed)
        rows.append(seen_by)
        owner.append(owned + low)
    return np.concatenate(points), np.concatenate(rows), np.concatenate(owner)


@dataclass(frozen=True)
class _Block:
    """Some tracks, counted from 0, and the matches of each that are tried, in their order."""

    tracks: Tracks
    edges: Rows
    edge_of: Rows

    @staticmethod
    def of(tracks: Tracks, chosen: Rows, low: int, high: int) -> _Block:
        start = tracks.start[low : high + 1]
        owner = tracks.edge_of[chosen]  # ascending
        tried = chosen[np.searchsorted(owner, low) : np.searchsorted(owner, high)]
        none = np.empty(0, np.int64)
        some = Tracks(start - start[0], tracks.rows[start[0] : start[-1]], none, none)
        return _Block(some, tracks.edges[tried], tracks.edge_of[tried] - low)


def _place_block(
    views: Views, options: TriangulationOptions, block: _Block
) -> tuple[Floats, Rows, Rows]:
    tracks, owner_track = block.tracks, block.edge_of
    guesses = _two_view_points(views, block.edges)
    votes = _count_votes(views, tracks, owner_track, guesses, options.max_reprojection_error)
    order = np.lexsort((-votes, owner_track))
    best = order[np.unique(owner_track[order], return_index=True)[1]]
    points = guesses[best]  # every track has a match, so best runs over all tracks
    owner, member = spread(tracks.start, np.arange(len(tracks)))
    return fit_points(views, points, tracks.rows[member], owner, options)


def fit_points(
    views: Views, points: Floats, rows: Rows, owner: Rows, options: TriangulationOptions
) -> tuple[Floats, Rows, Rows]:
    """Points moved to where the rows that see them agree best; rows are in order of owner.

    Also the rows that still see a point, and which: none of a point that fewer than two images
    see, or that rays of too small an angle fix.
    """
    limit = options.max_reprojection_error
    for _ in range(2):
        inside = _agreeing(views, rows, owner, points, limit)
        points = _refine(views, points, rows[inside], owner[inside])
    inside = _agreeing(views, rows, owner, points, limit)
    rows, owner = rows[inside], owner[inside]
    wide = _widest_angle(views, points, rows, owner) >= math.radians(options.min_angle_deg)
    good = wide & np.isfinite(points).all(axis=1) & (np.bincount(owner, minlength=len(wide)) >= 2)
    return points, rows[good[owner]], owner[good[owner]]


def _some_per_track(edge_of: Rows, rng: np.random.Generator) -> Rows:
    """At most _MAX_HYPOTHESES matches of each track, drawn at random."""
    order = np.lexsort((rng.random(len(edge_of)), edge_of))
    ordered = edge_of[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return order[rank < _MAX_HYPOTHESES]


def _two_view_points(views: Views, edges: Rows) -> Floats:
    """The point nearest to both rays of each match (midpoint); NaN where they are parallel."""
    centers = views.centers()
    a, b = edges[:, 0], edges[:, 1]
    u, v = views.directions(a), views.directions(b)
    base = centers[views.image_of[b]] - centers[views.image_of[a]]
    cosine = (u * v).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        sine2 = 1 - cosine * cosine
        along_u = ((base * u).sum(axis=1) - cosine * (base * v).sum(axis=1)) / sine2
        along_v = (cosine * (base * u).sum(axis=1) - (base * v).sum(axis=1)) / sine2
    start = centers[views.image_of[a]]
    middle = start + 0.5 * (along_u[:, None] * u + base + along_v[:, None] * v)
    return np.asarray(np.where(np.isfinite(middle), middle, np.nan))


def _count_votes(
    views: Views, tracks: Tracks, owner_track: Rows, guesses: Floats, limit: float
) -> Floats:
    """Σ (1 − e²/limit²) over the features of the track that agree with each guess."""
    total = np.cumsum(np.diff(tracks.start)[owner_track])
    cuts = np.searchsorted(total, np.arange(_CHUNK, int(total[-1]), _CHUNK))
    bounds = np.unique([0, *cuts.tolist(), len(guesses)]).tolist()
    votes = np.zeros(len(guesses))
    for low, high in pairwise(bounds):
        owner, member = spread(tracks.start, owner_track[low:high])
        error = views.errors(tracks.rows[member], guesses[low:high][owner]) / limit
        votes[low:high] = np.bincount(owner, np.maximum(1 - error**2, 0), high - low)
    return votes


def _agreeing(views: Views, rows: Rows, owner: Rows, points: Floats, limit: float) -> Rows:
    """Indices of the observations within the limit, one per image of each track, in order."""
    error = views.errors(rows, points[owner])
    near = np.flatnonzero(error <= limit)
    return np.sort(near[one_per_image(owner[near], views.image_of[rows[near]], error[near])])


def _refine(views: Views, points: Floats, rows: Rows, owner: Rows) -> Floats:
    """Least squares of the reprojection errors by damped Gauss-Newton; worse steps are undone."""
    count = len(points)

    def cost(at: Floats) -> Floats:
        errors = views.errors(rows, at[owner])
        return np.asarray(np.bincount(owner, errors * errors, count), dtype=np.float64)

    image = views.image_of[rows]
    rotation, focal = views.rotations[image], views.focals[image]
    current = cost(points)
    for _ in range(_REFINEMENTS):
        offset, in_camera = views._offset(rows, points[owner])
        x, y, z = in_camera.T
        slope_x = (rotation[:, 0] - (x / z)[:, None] * rotation[:, 2]) * (focal[:, 0] / z)[:, None]
        slope_y = (rotation[:, 1] - (y / z)[:, None] * rotation[:, 2]) * (focal[:, 1] / z)[:, None]
        normal, pull = np.zeros((count, 3, 3)), np.zeros((count, 3))
        for i in range(3):
            down = slope_x[:, i] * offset[:, 0] + slope_y[:, i] * offset[:, 1]
            pull[:, i] = np.bincount(owner, down, count)
            for j in range(3):
                product = slope_x[:, i] * slope_x[:, j] + slope_y[:, i] * slope_y[:, j]
                normal[:, i, j] = np.bincount(owner, product, count)
        size = np.trace(normal, axis1=1, axis2=2)
        normal[:, range(3), range(3)] += (1e-9 * size + 1e-30)[:, None]
        moved = points - np.linalg.solve(normal, pull[:, :, None])[:, :, 0]
        new = cost(moved)
        better = new < current
        points = np.where(better[:, None], moved, points)
        current = np.where(better, new, current)
    return points


def _widest_angle(views: Views, points: Floats, rows: Rows, owner: Rows) -> Floats:
    """The largest angle between two rays of each track, in radians; rows are in order of owner."""
    count = len(points)
    toward = unit_vectors(points[owner] - views.centers()[views.image_of[rows]])
    start = np.searchsorted(owner, np.arange(count + 1)).astype(np.int64)
    widest = np.zeros(count)
    for low in range(0, len(rows), _CHUNK // 16):
        some = np.arange(low, min(low + _CHUNK // 16, len(rows)))
        this, other = spread(start, owner[some])
        # The chord, not the cosine: for small angles a cosine has no digits left.
        chord = np.linalg.norm(toward[some][this] - toward[other], axis=1)
        np.maximum.at(widest, owner[some][this], 2 * np.arcsin(np.minimum(chord / 2, 1)))
    return widest
