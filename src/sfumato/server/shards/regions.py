"""Which images of a map belong together: regions whose images see the same points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_count
from sfumato.core.progress import Progress, silent
from sfumato.server.mapping.map import Map

#: Images that a stored shard knows to see the same points as one of its own, itself among them.
MOST_COVISIBLE = 8

Rows = NDArray[np.int64]


def covisible_images(world: Map, *, progress: Progress = silent) -> Rows:
    """(I, 8): of every image itself and those that saw most of its points, −1 for no more."""
    found = np.full((world.num_images, MOST_COVISIBLE), -1, dtype=np.int64)
    for image in range(world.num_images):
        if image % 256 == 0:
            progress("comparing images", image, world.num_images)
        together = world.covisible(image, MOST_COVISIBLE)
        found[image, : len(together)] = together
    return found


def group_images(covisible: Rows, sizes: NDArray[Any], num_groups: int) -> NDArray[np.int32]:
    """(I,) the group of each image: of about equal size, their images see each other's points.

    sizes  observations of each image

    The graph of images is cut in two, and each half again: images are put in the order in which a
    walk from one end of the graph reaches them, and the walk is cut where the sizes are right.
    """
    count = len(covisible)
    check_count(
        "shards", num_groups, low=1, high=max(count, 1), why="each needs an image of the map"
    )
    group = np.zeros(count, dtype=np.int32)
    graph = _graph(covisible)
    parts = [(np.arange(count), 0, num_groups)]
    while parts:
        images, first, number = parts.pop()
        if number == 1:
            group[images] = first
            continue
        order = images[_walk(graph[images][:, images])]
        left = number // 2
        # Half an image's size less, so that an image goes where the larger half of it lies.
        reached = np.cumsum(sizes[order]) - np.asarray(sizes[order]) / 2
        cut = int(np.searchsorted(reached, reached[-1] * left / number, side="right"))
        cut = min(max(cut, left), len(order) - (number - left))
        parts.append((np.sort(order[:cut]), first, left))
        parts.append((np.sort(order[cut:]), first + left, number - left))
    return group


def _graph(covisible: Rows) -> Any:
    from scipy.sparse import csr_array

    image, place = np.nonzero(covisible >= 0)
    other = covisible[image, place]
    shape = (len(covisible), len(covisible))
    one_way = csr_array((np.ones(len(image), dtype=np.int8), (image, other)), shape=shape)
    return one_way + one_way.T


def _walk(graph: Any) -> Rows:
    """An order of all nodes: breadth first from one end of each connected part."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    _, part = connected_components(graph, directed=False)
    _, firsts = np.unique(part, return_index=True)
    order = []
    for start in np.sort(firsts):
        there = breadth_first_order(graph, start, directed=False, return_predecessors=False)
        order.append(
            breadth_first_order(graph, there[-1], directed=False, return_predecessors=False)
        )
    return np.concatenate(order).astype(np.int64)
