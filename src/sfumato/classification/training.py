"""From releases as they arrive to a trained classifier, and how often it is right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.codes import Codes, MapShape, group_releases
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import CodeRelease

if TYPE_CHECKING:
    from sfumato.classification.encoder import Encoder
    from sfumato.classification.learner import Learner


def train(
    learner: Learner,
    releases: Iterable[CodeRelease],
    labels: Any = None,
    *,
    map_shape: MapShape | None = None,
    encoder: Encoder | None = None,
) -> Learner:
    """Let a learner learn from releases, each of which may have its own ε; returns the learner.

    labels     one for each release; None takes those that the releases carry. Not protected.
    map_shape  of the encoder, where the learner shares answers between neighbouring cells
    encoder    knows that shape too; needed where it joined several cells to one code

    A learner that was trained before learns on.

    >>> import sfumato as sf
    >>> from sfumato.classification import DebiasedNaiveBayes
    >>> mechanism = sf.classification.RandomizedResponse(epsilon=4.0, num_values=2)
    >>> rng = sf.SeededRandom(0)  # for an example; a device draws from sf.SecureRandom()
    >>> releases = [
    ...     mechanism.release(np.array(codes), rng=rng, label=label)
    ...     for label, codes in enumerate([[0, 0, 0, 1], [1, 1, 1, 0]])
    ...     for _ in range(20)
    ... ]
    >>> learner = train(DebiasedNaiveBayes(), releases)
    >>> learner.predict([[0, 0, 0, 1], [1, 1, 1, 0]])
    array([0, 1])
    """
    sent = list(releases)
    if not sent:
        raise InvalidInput("at least one release is needed to learn from, got none.")
    names = _labels_of(sent) if labels is None else np.asarray(labels)
    if names.shape != (len(sent),):
        raise InvalidInput(
            f"each of {len(sent)} releases needs one label, got shape {names.shape}."
        )
    classes = None if hasattr(learner, "classes_") else np.unique(names)
    shape = map_shape if encoder is None else encoder.map_shape_
    for codes, rows in group_releases(sent, map_shape=shape):
        learner.partial_fit(_cells(codes, encoder), names[rows], classes)
        classes = None
    return learner


def classify(
    learner: Learner, releases: Iterable[CodeRelease], *, encoder: Encoder | None = None
) -> NDArray[Any]:
    """The class of each release, in their order; noise is taken into account.

    encoder  needed where it joined several cells to one code

    >>> import sfumato as sf
    >>> from sfumato.classification import DebiasedCentroid
    >>> learner = DebiasedCentroid().fit([[0, 0], [0, 1], [1, 1], [1, 0]], list("aabb"))
    >>> mechanism = sf.classification.RandomizedResponse(epsilon=20.0, num_values=2)
    >>> classify(learner, [mechanism.release(np.array([1, 1]), rng=sf.SeededRandom(0))])
    array(['b'], dtype='<U1')
    """
    groups = group_releases(releases)
    classes = np.empty(sum(len(rows) for _, rows in groups), dtype=learner.classes_.dtype)
    for codes, rows in groups:
        classes[rows] = learner.predict(_cells(codes, encoder))
    return classes


def _cells(codes: Codes, encoder: Encoder | None) -> Codes:
    return codes if encoder is None else encoder.separate(codes)


def evaluate(learner: Learner, X: Any, labels: Any) -> float:  # noqa: N803
    """The share of pictures that are classified right; X are codes, `Codes`, or releases.

    >>> from sfumato.classification import DebiasedCentroid
    >>> learner = DebiasedCentroid().fit([[0, 0], [0, 1], [1, 1], [1, 0]], list("aabb"))
    >>> evaluate(learner, [[0, 0], [0, 1], [1, 0]], list("aaa"))
    0.6666666666666666
    """
    listed = list(X) if isinstance(X, Iterable) and not hasattr(X, "__array__") else []
    if listed and all(isinstance(release, CodeRelease) for release in listed):
        return float((classify(learner, listed) == np.asarray(labels)).mean())
    return float(learner.score(X, labels))


def _labels_of(releases: list[CodeRelease]) -> NDArray[np.int64]:
    labels = [release.label for release in releases if release.label is not None]
    if len(labels) < len(releases):
        raise InvalidInput(
            f"{len(releases) - len(labels)} of {len(releases)} releases carry no label; give "
            "labels (--labels FILE)."
        )
    return np.array(labels, dtype=np.int64)
