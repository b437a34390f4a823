"""What classifiers know, as plain arrays, and back with everything checked.

Learners that count need a table. Neighbours need the answers themselves: a file of theirs holds
every release it learnt from, no more than a server had, and no less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.counts import MAX_EPSILONS, CodeCounts
from sfumato.core.checks import check_epsilon
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput

Arrays = dict[str, NDArray[Any]]


def count_arrays(learner: Any) -> Arrays:
    """Of a learner that counts."""
    tables = learner.counts_.tables
    return {
        "map_shape": np.array(learner.map_shape_ or (), dtype=np.int64),
        "epsilons": np.array(list(tables), dtype=np.float64),
        "counts": np.stack(list(tables.values())),
    }


def restore_counts(learner: Any, arrays: Arrays) -> None:
    """Make the learner what it was."""
    counts = np.asarray(arrays["counts"])
    epsilons = [check_epsilon(float(e), allow_infinite=True) for e in arrays["epsilons"]]
    if counts.dtype != np.int64 or counts.ndim != 4 or counts.size == 0 or counts.min() < 0:
        raise InvalidInput("its counts are no counts")
    if not len(counts) == len(set(epsilons)) <= MAX_EPSILONS:
        raise InvalidInput("its counts do not fit its ε")
    classes = _classes(arrays, counts.shape[1])
    shape = tuple(int(length) for length in arrays["map_shape"])
    made = CodeCounts(*counts.shape[1:])
    made.tables = dict(zip(epsilons, counts.copy(), strict=True))
    learner.restore(made, classes, shape or None)


def neighbour_arrays(learner: Any) -> Arrays:
    """Of neighbours; codes are packed to the bits they need."""
    codes = learner.codes_
    bits = (codes.num_values - 1).bit_length()
    planes = [np.packbits((codes.values >> bit) & 1, axis=1) for bit in range(bits)]
    return {
        "values": np.stack(planes),
        "positions": np.zeros((0, 0), np.uint32) if codes.positions is None else codes.positions,
        "sizes": np.array([codes.num_values, codes.num_positions, codes.num_sent], dtype=np.int64),
        "map_shape": np.array(codes.map_shape or (), dtype=np.int64),
        "epsilon": np.array(codes.epsilon, dtype=np.float64),
        "answers_from": np.array(codes.encoder),
        "reproducible": np.array(codes.reproducible),
        "labels": learner.labels_,
    }


def restore_neighbours(learner: Any, arrays: Arrays) -> None:
    """Make the neighbours what they were."""
    num_values, num_positions, num_sent = (int(size) for size in arrays["sizes"])
    planes, positions = arrays["values"], arrays["positions"]
    if planes.dtype != np.uint8 or planes.ndim != 3 or not 1 <= len(planes) <= 32:
        raise InvalidInput("its codes are no codes")
    values = np.zeros((planes.shape[1], num_sent), dtype=np.uint32)
    for bit, plane in enumerate(planes):
        values |= np.unpackbits(plane, axis=1, count=num_sent).astype(np.uint32) << np.uint32(bit)
    shape = tuple(int(length) for length in arrays["map_shape"])
    codes = Codes(
        values=values,
        num_values=num_values,
        num_positions=num_positions,
        positions=positions if positions.size else None,
        map_shape=shape or None,  # type: ignore[arg-type]
        epsilon=float(arrays["epsilon"]),
        encoder=str(arrays["answers_from"]),
        reproducible=bool(arrays["reproducible"]),
    )
    labels = np.asarray(arrays["labels"])
    classes = _classes(arrays, None)
    if labels.dtype.kind not in "iu" or labels.shape != (len(codes),):
        raise InvalidInput("its labels do not fit its codes")
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= len(classes):
        raise InvalidInput("its labels do not fit its classes")
    learner.restore(codes, labels, classes)


def _classes(arrays: Arrays, count: int | None) -> NDArray[Any]:
    classes = np.asarray(arrays["classes"])
    if classes.ndim != 1 or len(np.unique(classes)) != len(classes):
        raise InvalidInput("its classes are not classes")
    if count is not None and len(classes) != count:
        raise InvalidInput("its classes do not fit its counts")
    return np.sort(classes)
