"""Labels and classes, as encoders and learners take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from sfumato.core.errors import InvalidInput


def check_labels(labels: Any, count: int) -> NDArray[Any]:
    """Return (count,) class labels; a missing or foreign kind is refused."""
    if labels is None:
        raise InvalidInput("requires y to be passed, but the target y is None.")
    values = column_or_1d(labels, warn=True)
    if len(values) != count:
        raise InvalidInput(
            f"every picture needs one label: got {count} pictures and {len(values)} labels "
            "(inconsistent numbers of samples)."
        )
    if not count:
        raise InvalidInput("found 0 sample(s); at least one labelled picture is required.")
    try:
        assert_all_finite(values, input_name="y")
        check_classification_targets(values)
    except ValueError as error:
        raise InvalidInput(f"labels must name classes: {error}") from None
    return np.asarray(values)


def check_classes(classes: NDArray[Any]) -> NDArray[Any]:
    """Refuse fewer than two classes."""
    if len(classes) < 2:
        raise InvalidInput(
            f"a classifier needs at least 2 classes, got {len(classes)} class; there is nothing "
            "to tell apart."
        )
    return classes


def class_indices(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The index of every label among the sorted classes; an unknown label is refused."""
    indices = np.searchsorted(classes, labels)
    known = classes[np.minimum(indices, len(classes) - 1)] == labels
    if not known.all():
        raise InvalidInput(
            f"{int((~known).sum())} of {len(labels)} labels are none of the {len(classes)} classes "
            "named at the first call; name all classes there."
        )
    return indices


def class_members(y: Any, count: int) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Classes, the class of each row as an index, and rows per class; one class is refused."""
    labels = check_labels(y, count)
    classes, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return check_classes(classes), index.astype(np.int64), counts.astype(np.int64)
