"""Encoders and classifiers as files: plain arrays, never pickled objects."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import read_arrays, write_arrays
from sfumato.core.checks import check_choice
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.extras import need

if TYPE_CHECKING:
    from sfumato.classification.encoder import Encoder
    from sfumato.classification.learner import Learner

#: Where each kind is defined; scikit-learn is not loaded before one is needed.
LEARNERS = {
    "naive-bayes": "naive_bayes:DebiasedNaiveBayes",
    "centroid": "centroid:DebiasedCentroid",
    "knn": "knn:PerturbedKNN",
}
JOINED = "joined"  # several cells of another encoder in one code
ENCODERS = {
    "dcaconv": "dcaconv:DCAConv",
    "pixels": "pixels:PixelCodes",
    "hog-words": "hog:HogWords",
    "orientations": "orientations:OrientationCodes",
    "orientation-bits": "orientations:OrientationBits",
    JOINED: "joined:JoinedCodes",
}


def need_learning(what: str) -> None:
    """Refuse where the packages that encoders and learners stand on are not installed."""
    need("classify", what, "numba", "scipy", "sklearn", "threadpoolctl")


def encoder_class(name: str) -> Any:
    """The class of encoders of this name."""
    return _named("encoder", ENCODERS, name)


def learner_class(name: str) -> Any:
    """The class of learners of this name."""
    return _named("learner", LEARNERS, name)


def save_encoder(path: str | Path, encoder: Encoder) -> None:
    """Store a fitted encoder, with what it learned from pictures.

    >>> from tempfile import TemporaryDirectory
    >>> from sfumato.classification import PixelCodes
    >>> with TemporaryDirectory() as folder:
    ...     save_encoder(Path(folder) / "encoder.npz", PixelCodes(3).fit([[0, 5], [10, 7]]))
    ...     load_encoder(Path(folder) / "encoder.npz").transform([[4, 9]])
    array([[1, 2]], dtype=uint8)
    """
    _check_known(encoder, ENCODERS)
    arrays = {f"encoder/{key}": value for key, value in encoder.to_arrays().items()}
    head = {"kind": np.array("encoder"), "name": np.array(encoder.name)}
    write_arrays(Path(path), head | arrays)


def load_encoder(path: str | Path) -> Encoder:
    """An encoder as `save_encoder` stored it, ready to transform."""
    arrays = _read(path, "encoder")
    own = {
        key.removeprefix("encoder/"): value
        for key, value in arrays.items()
        if key.startswith("encoder/")
    }
    made: Encoder = encoder_class(_text(arrays, "name", path)).from_arrays(own)
    return made


def save_model(path: str | Path, learner: Learner, *, encoder: str, picture_epsilon: float) -> None:
    """Store a fitted learner and its settings: enough to predict, and to learn on.

    encoder          the name of the encoder its codes came from
    picture_epsilon  ε of the picture that gave away most

    >>> from tempfile import TemporaryDirectory
    >>> from sfumato.classification import DebiasedCentroid
    >>> learner = DebiasedCentroid().fit([[0, 0], [0, 1], [3, 2], [3, 3]], [5, 5, 6, 6])
    >>> with TemporaryDirectory() as folder:
    ...     model = Path(folder) / "model.npz"
    ...     save_model(model, learner, encoder="pixels", picture_epsilon=2.0)
    ...     again, encoder, picture_epsilon = load_model(model)
    >>> again.predict([[3, 3]]), encoder, picture_epsilon
    (array([6]), 'pixels', 2.0)
    """
    _check_known(learner, LEARNERS)
    head = {
        "kind": np.array("classifier"),
        "learner": np.array(learner.name),
        "encoder": np.array(encoder),
        "picture_epsilon": np.array(picture_epsilon, dtype=np.float64),
    }
    write_arrays(Path(path), head | learner.to_arrays())


def load_model(path: str | Path) -> tuple[Learner, str, float]:
    """A learner ready to predict or to learn on, its encoder's name, and ε of the worst picture."""
    need_learning("a stored classifier")
    arrays = _read(path, "classifier")
    try:
        _text(arrays, "settings", path)
        learner = learner_class(_text(arrays, "learner", path)).from_arrays(arrays)
        return learner, _text(arrays, "encoder", path), float(arrays["picture_epsilon"])
    except (KeyError, TypeError, ValueError, OverflowError, SfumatoError) as error:
        raise InvalidInput(
            f"{path} is not a stored classifier: {str(error).rstrip('.')}; train it anew."
        ) from None


def _named(what: str, homes: dict[str, str], name: str) -> Any:
    check_choice(what, name, homes)
    need_learning(f"the {what} {name}")
    module, _, attribute = homes[name].partition(":")
    return getattr(import_module(f"sfumato.classification.{module}"), attribute)


def _check_known(made: Encoder | Learner, homes: dict[str, str]) -> None:
    """Only our own classes are stored: a file names a class, and ours are all it may name."""
    if made.name not in homes or _named("", homes, made.name) is not type(made):
        raise InvalidInput(f"no file format is defined for {type(made).__name__}.")


def _read(path: str | Path, kind: str) -> dict[str, NDArray[Any]]:
    arrays = read_arrays(Path(path))
    if "kind" not in arrays or str(arrays["kind"]) != kind:
        raise InvalidInput(f"{path} is not a stored {kind}; give one.")
    return arrays


def _text(arrays: dict[str, NDArray[Any]], key: str, path: str | Path) -> str:
    value = arrays.get(key)
    if value is None or value.dtype.kind != "U" or value.ndim:
        raise InvalidInput(f"{path} lacks its {key}")
    return str(value)
