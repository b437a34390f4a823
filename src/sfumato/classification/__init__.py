"""Learning from pictures that were randomized before they were shared.

An encoder turns a picture into m whole numbers below d. The device answers each by
randomized response, ε per code, m·ε per picture, and the learners here see only the
answers and the labels; labels are not protected. A picture may also send k codes at
random places: k·ε for the whole picture.

    encoders    DCAConv, PixelCodes, HogWords, OrientationCodes …   pictures → codes
    learners    DebiasedNaiveBayes, DebiasedCentroid, PerturbedKNN
    estimates   frequencies and means with their variances

Learners follow scikit-learn: X is an (N, m) array of codes, or `Codes`, which know their
own d, ε and positions.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.classification.bnn import BinaryNetwork
    from sfumato.classification.centroid import DebiasedCentroid
    from sfumato.classification.dca import DCA
    from sfumato.classification.dcaconv import DCAConv
    from sfumato.classification.estimates import (
        Estimate,
        count_answers,
        estimate_counts,
        estimate_frequencies,
        estimate_mean,
    )
    from sfumato.classification.hog import HogWords
    from sfumato.classification.knn import PerturbedKNN, neighbours_for
    from sfumato.classification.naive_bayes import DebiasedNaiveBayes
    from sfumato.classification.orientation_bits import OrientationBits
    from sfumato.classification.orientations import OrientationCodes
    from sfumato.classification.pixels import PixelCodes
    from sfumato.core.codes import Codes

__all__ = [
    "DCA",
    "BinaryNetwork",
    "Codes",
    "DCAConv",
    "DebiasedCentroid",
    "DebiasedNaiveBayes",
    "Estimate",
    "HogWords",
    "OrientationBits",
    "OrientationCodes",
    "PerturbedKNN",
    "PixelCodes",
    "count_answers",
    "estimate_counts",
    "estimate_frequencies",
    "estimate_mean",
    "neighbours_for",
]

_HOMES = {
    "sfumato.classification.bnn": ("BinaryNetwork",),
    "sfumato.classification.centroid": ("DebiasedCentroid",),
    "sfumato.classification.dca": ("DCA",),
    "sfumato.classification.dcaconv": ("DCAConv",),
    "sfumato.classification.estimates": (
        "Estimate",
        "count_answers",
        "estimate_counts",
        "estimate_frequencies",
        "estimate_mean",
    ),
    "sfumato.classification.hog": ("HogWords",),
    "sfumato.classification.knn": ("PerturbedKNN", "neighbours_for"),
    "sfumato.classification.naive_bayes": ("DebiasedNaiveBayes",),
    "sfumato.classification.orientation_bits": ("OrientationBits",),
    "sfumato.classification.orientations": ("OrientationCodes",),
    "sfumato.classification.pixels": ("PixelCodes",),
    "sfumato.core.codes": ("Codes",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
