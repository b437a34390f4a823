"""Ours: why do true matches of some extractors share a word less often? And does a projection help?

Two keypoints that show the same point share a word if the way from one descriptor to the other
crosses no border between words. So the way is compared with what lies around it:

    way            |x − x′|, of two keypoints within 2 pixels of one another by the homography
    error          |x − word(x)|, what quantising costs
    border         (d₂² − d₁²) / 2|w₁ − w₂|, from x to the border between its two nearest words
    other          from x to the nearest descriptor of the other picture that is not its match

Projections are learned from public pictures that were warped: y = Wᵀx with W from the covariance S
of descriptors (whitening: WᵀSW = 1), or from that of differences of matches (discriminant: the
directions in which S is large where differences are small, scaled so that these are 1).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sfumato.core.types import Features
from sfumato.datasets.hpatches import transfer
from sfumato.dictionary import Dictionary

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

NEAR = 2.0  # pixels
PROJECTIONS = ("none", "whitening", "discriminant")
#: Words of the dictionaries that are made here, before and after a projection; fewer of few rows.
FEW_WORDS = 1024
_ITERATIONS = 8
_RIDGE = 1e-3  # of the mean variance: directions that never vary are not blown up


def true_pairs(first: Features, second: Features, homography: NDArray[Any]) -> tuple[Rows, Rows]:
    """Keypoints of two pictures that show the same point, whatever their descriptors say."""
    expected = transfer(homography, first.keypoints)
    if not len(first) or not len(second):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    distance = np.linalg.norm(expected[:, None] - second.keypoints[None], axis=2)
    distance[~np.isfinite(distance)] = np.inf
    there, here = distance.argmin(axis=1), distance.argmin(axis=0)
    rows = np.arange(len(first))
    found = (here[there] == rows) & (distance[rows, there] <= NEAR)
    return np.flatnonzero(found), there[found].astype(np.int64)


def floats(features: Features) -> Floats:
    """Descriptors of about unit length: SIFT's whole numbers have 512."""
    scale = 512.0 if features.descriptors.dtype == np.uint8 else 1.0
    return np.asarray(features.descriptors, dtype=np.float32) / np.float32(scale)


def squares(first: Floats, second: Floats) -> Floats:
    """(N, M) squared distances."""
    product = first @ second.T
    lengths = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1)
    return np.asarray(np.maximum(lengths - 2 * product, 0), dtype=np.float32)


def pair_record(
    first: Features, second: Features, homography: NDArray[Any], dictionary: Dictionary
) -> dict[str, Any]:
    """How the true pairs of two pictures fare: raw, by words of every level, and the four ways."""
    here, there = true_pairs(first, second, homography)
    one, other = floats(first), floats(second)
    record: dict[str, Any] = {"pairs": len(here), "raw": 0, "same": {}}
    if not len(here):
        return record
    apart = squares(one, other)
    mutual = apart.argmin(axis=0)[apart.argmin(axis=1)] == np.arange(len(one))
    record["raw"] = int((mutual[here] & (apart.argmin(axis=1)[here] == there)).sum())
    for count in sorted({*dictionary.levels, dictionary.num_words}):
        level = dictionary.at(count)
        same = level.nearest(first.descriptors)[here] == level.nearest(second.descriptors)[there]
        record["same"][str(count)] = int(same.sum())
    scale = 512.0 if first.descriptors.dtype == np.uint8 else 1.0
    words = np.asarray(dictionary.words, dtype=np.float32) / np.float32(scale)
    two = np.asarray(dictionary.nearest_several(first.descriptors[here], 2), dtype=np.int64)
    errors = np.linalg.norm(one[here][:, None] - words[two], axis=2)
    between = np.linalg.norm(words[two[:, 0]] - words[two[:, 1]], axis=1)
    masked = apart[here].copy()
    way = np.sqrt(masked[np.arange(len(here)), there])
    masked[np.arange(len(here)), there] = np.inf
    ways = {
        "way": way,
        "error": errors[:, 0],
        "border": (errors[:, 1] ** 2 - errors[:, 0] ** 2) / (2 * np.maximum(between, 1e-9)),
        "other": np.sqrt(masked.min(axis=1)),
    }
    return record | {name: [float(f"{v:.4g}") for v in values] for name, values in ways.items()}


def intrinsic_dimension(rows: Floats, sample: int = 4000) -> float:
    """Dimensions of a small neighbourhood: N / Σ ln(r₂/r₁) of the two nearest, TwoNN's estimate."""
    rows = rows[:: max(len(rows) // sample, 1)]
    apart = squares(rows, rows)
    np.fill_diagonal(apart, np.inf)
    near = np.sqrt(np.partition(apart, 1, axis=1)[:, :2])
    ratio = near[:, 1] / np.maximum(near[:, 0], 1e-9)
    fits = (near[:, 0] > 1e-6) & (ratio > 1)
    return float(fits.sum() / np.log(ratio[fits]).sum())


def words_in_use(dictionary: Dictionary, descriptors: NDArray[Any]) -> float:
    """e^entropy of the words of descriptors that it was not built from, as a share of |K|."""
    counts = np.bincount(dictionary.nearest(descriptors), minlength=dictionary.num_words)
    share = counts[counts > 0] / counts.sum()
    return float(np.exp(-(share * np.log(share)).sum()) / dictionary.num_words)


def warped(picture: NDArray[np.uint8], seed: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The picture as from elsewhere, in other light; and the homography to there."""
    random = np.random.default_rng(seed)
    height, width = picture.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    moved = corners + random.uniform(-0.12, 0.12, (4, 2)) * [width, height]
    matrix = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    seen = cv2.warpPerspective(picture, matrix, (width, height)).astype(np.float32) / 255
    lit = seen ** random.uniform(0.7, 1.4) * random.uniform(0.8, 1.2)
    lit += random.normal(0, 0.01, lit.shape)
    return (np.clip(lit, 0, 1) * 255).astype(np.uint8), np.asarray(matrix, dtype=np.float64)


def projection(kind: str, rows: Floats, pairs: tuple[Floats, Floats]) -> Floats:
    """W (D, D′), learned from public descriptors and their matches."""
    dimension = rows.shape[1]
    if kind == "none":
        return np.eye(dimension, dtype=np.float32)
    total = np.cov(rows.T.astype(np.float64))
    total += _RIDGE * np.trace(total) / dimension * np.eye(dimension)
    if kind == "whitening":
        values, vectors = np.linalg.eigh(total)
        return np.asarray(vectors / np.sqrt(values), dtype=np.float32)
    apart = (pairs[0] - pairs[1]).astype(np.float64)
    within = apart.T @ apart / len(apart)
    within += _RIDGE * np.trace(within) / dimension * np.eye(dimension)
    values, vectors = np.linalg.eigh(within)
    flat = vectors / np.sqrt(values)
    _, turn = np.linalg.eigh(flat.T @ total @ flat)
    return np.asarray((flat @ turn)[:, ::-1], dtype=np.float32)


def clustered(rows: Floats, count: int = FEW_WORDS, seed: int = 0) -> Floats:
    """k-means, all with all: for dictionaries that are compared with each other."""
    random = np.random.default_rng(seed)
    words = rows[random.choice(len(rows), count, replace=False)].copy()
    for _ in range(_ITERATIONS):
        mine = nearest(rows, words)
        sums = np.zeros_like(words, dtype=np.float64)
        np.add.at(sums, mine, rows)
        counts = np.bincount(mine, minlength=count)
        words = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], words)
        words = words.astype(np.float32)
    return words


def nearest(rows: Floats, words: Floats) -> Rows:
    parts = np.array_split(rows, max(len(rows) // 4096, 1))
    return np.concatenate([squares(part, words).argmin(axis=1) for part in parts])


def projected_rates(
    public: Floats,
    learned_from: tuple[Floats, Floats],
    asked: Iterable[tuple[Floats, Floats]],
) -> list[dict[str, Any]]:
    """Same-word rates of true pairs before and after each projection, of all and half the columns.

    asked  (N, D) of one picture and (N, D) of their true matches in another
    """
    pairs = list(asked)
    count = min(FEW_WORDS, max(len(public) // 8, 2))
    found = []
    for kind in PROJECTIONS:
        whole = projection(kind, public, learned_from)
        widths = {whole.shape[1]} if kind == "none" else {whole.shape[1], whole.shape[1] // 2}
        for width in sorted(widths, reverse=True):
            # Whitening lists the smallest variances first; those are what is left out.
            kept = whole[:, -width:] if kind == "whitening" else whole[:, :width]
            words = clustered(public @ kept, count)
            same = [nearest(a @ kept, words) == nearest(b @ kept, words) for a, b in pairs]
            found.append(
                {
                    "projection": kind,
                    "columns": width,
                    "num_words": count,
                    "pairs": sum(map(len, same)),
                    "same": int(sum(map(np.sum, same))),
                }
            )
    return found
