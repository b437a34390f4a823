"""Matches between pairs, joined into tracks: features that may have seen one point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class Tracks:
    """Groups of feature rows joined by matches, and the matches of each group.

    start    (T + 1,) features of track t are rows[start[t] … start[t+1]]
    rows     (O,)     feature rows, ordered by track
    edges    (E, 2)   matches, as feature rows
    edge_of  (E,)     the track of each match
    """

    start: NDArray[np.int64]
    rows: NDArray[np.int64]
    edges: NDArray[np.int64]
    edge_of: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1


def join_tracks(edges: NDArray[np.int64]) -> Tracks:
    """The connected components of (E, 2) matches between feature rows.

    A track may hold two features of one image: a wrong match has joined two points. Nothing
    is dropped here; triangulation takes the consistent parts.
    """
    rows, compact = np.unique(edges, return_inverse=True)
    compact = compact.reshape(edges.shape)
    graph = coo_matrix(
        (np.ones(len(edges), dtype=np.bool_), (compact[:, 0], compact[:, 1])),
        shape=(len(rows), len(rows)),
    )
    count, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    start = np.searchsorted(label[order], np.arange(count + 1))
    return Tracks(
        start=start.astype(np.int64),
        rows=rows[order],
        edges=edges,
        edge_of=label[compact[:, 0]].astype(np.int64),
    )


def without_conflicts(edges: NDArray[np.int64], image_of: NDArray[Any]) -> NDArray[np.int64]:
    """The (E, 2) matches that join no two features of one image, the first given believed first.

    A few wrong matches chain thousands of points into one component, of which triangulation
    takes only the best parts. A feature is seen once by an image, so that a match which would
    bring two features of an image together is wrong, or one before it was: it is dropped.
    """
    features, compact = np.unique(edges, return_inverse=True)
    compact = np.asarray(compact).reshape(edges.shape)
    parent = list(range(len(features)))
    images = [1 << int(image) for image in image_of[features]]  # of each component, as bits

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    kept = np.zeros(len(edges), dtype=np.bool_)
    pairs = zip(compact[:, 0].tolist(), compact[:, 1].tolist(), strict=True)
    for number, (a, b) in enumerate(pairs):
        first, second = root(a), root(b)
        if first == second:
            kept[number] = True
        elif not images[first] & images[second]:
            kept[number] = True
            parent[second] = first
            images[first] |= images[second]
    return edges[kept]


def spread(
    start: NDArray[np.int64], groups: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every member of each named group: (index into groups, index of the member), flattened."""
    lengths = start[groups + 1] - start[groups]
    owner = np.repeat(np.arange(len(groups)), lengths)
    first = np.repeat(start[groups] - (np.cumsum(lengths) - lengths), lengths)
    return owner, first + np.arange(len(owner))


def one_per_image(
    group: NDArray[np.int64], image: NDArray[Any], error: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Of several features of one image in a group, the index of the one with least error."""
    order = np.lexsort((error, image, group))
    g, i = group[order], image[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (g[1:] != g[:-1]) | (i[1:] != i[:-1])
    return order[first]
