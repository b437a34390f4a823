"""Encoders and classifiers as files: plain arrays, never pickled objects."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.model_arrays import (
    count_arrays,
    neighbour_arrays,
    restore_counts,
    restore_neighbours,
)
from sfumato.core.arrays import read_arrays, write_arrays
from sfumato.core.codes import MapShape
from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.files import parse_json

if TYPE_CHECKING:
    from sfumato.classification.counting import CountingClassifier
    from sfumato.classification.knn import PerturbedKNN

    Learner = CountingClassifier | PerturbedKNN

#: Where each kind is defined; scikit-learn is not loaded before one is needed.
LEARNERS = {
    "naive-bayes": "sfumato.classification.naive_bayes:DebiasedNaiveBayes",
    "centroid": "sfumato.classification.centroid:DebiasedCentroid",
    "knn": "sfumato.classification.knn:PerturbedKNN",
}
ENCODERS = {
    "dcaconv": "sfumato.classification.dcaconv:DCAConv",
    "pixels": "sfumato.classification.pixels:PixelCodes",
    "hog-words": "sfumato.classification.hog:HogWords",
    "orientations": "sfumato.classification.orientations:OrientationCodes",
    "orientation-bits": "sfumato.classification.orientation_bits:OrientationBits",
}


class Encoder(Protocol):
    """Pictures → codes, fitted."""

    name: str
    map_shape_: MapShape
    num_values_: int

    def transform(self, X: Any) -> NDArray[Any]: ...  # noqa: N803

    def to_arrays(self) -> dict[str, NDArray[Any]]: ...

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self: ...


def encoder_class(name: str) -> Any:
    """The class of encoders of this name."""
    return _named("encoder", ENCODERS, name)


def learner_class(name: str) -> Any:
    """The class of learners of this name."""
    return _named("learner", LEARNERS, name)


def learner_name(learner: Learner) -> str:
    """The name a learner has in files and on the command line."""
    home = f"{type(learner).__module__}:{type(learner).__qualname__}"
    for name, place in LEARNERS.items():
        if place == home:
            return name
    raise InvalidInput(f"no file format is defined for {type(learner).__name__}.")


def save_encoder(path: Path, encoder: Encoder) -> None:
    """Store what `transform` needs. It holds what was learnt from the pictures it was fitted on."""
    arrays = {f"encoder/{key}": value for key, value in encoder.to_arrays().items()}
    write_arrays(path, {"kind": np.array("encoder"), "name": np.array(encoder.name), **arrays})


def load_encoder(path: Path) -> Encoder:
    """An encoder as it was stored."""
    arrays = _arrays_of(path, "encoder")
    made: Encoder = encoder_class(_text(arrays, "name", path)).from_arrays(
        {
            key.removeprefix("encoder/"): value
            for key, value in arrays.items()
            if key.startswith("encoder/")
        }
    )
    return made


def save_model(path: Path, learner: Learner, *, encoder: str, picture_epsilon: float) -> None:
    """Store what a learner knows, and its settings: enough to predict, and to learn on."""
    classes = learner.classes_
    if classes.dtype.kind not in "iuU":
        raise InvalidInput(f"class labels must be whole numbers or text, got {classes.dtype}.")
    name = learner_name(learner)
    write_arrays(
        path,
        {
            "kind": np.array("classifier"),
            "learner": np.array(name),
            "settings": np.array(json.dumps(learner.get_params(), sort_keys=True)),
            "encoder": np.array(encoder),
            "picture_epsilon": np.array(picture_epsilon, dtype=np.float64),
            "classes": classes,
            **(neighbour_arrays(learner) if name == "knn" else count_arrays(learner)),
        },
    )


def load_model(path: Path) -> tuple[Learner, str, float]:
    """A learner ready to predict or to learn on, the encoder's name, and ε of the worst picture."""
    arrays = _arrays_of(path, "classifier")
    try:
        name = _text(arrays, "learner", path)
        learner = learner_class(name)(**_settings(_text(arrays, "settings", path)))
        restore = restore_neighbours if name == "knn" else restore_counts
        restore(learner, arrays)
        return learner, _text(arrays, "encoder", path), float(arrays["picture_epsilon"])
    except (KeyError, TypeError, ValueError, OverflowError, SfumatoError) as error:
        raise InvalidInput(
            f"{path} is not a stored classifier: {str(error).rstrip('.')}; train it anew."
        ) from None


def learnt_epsilons(learner: Learner) -> list[float]:
    """Every ε per code a classifier learnt from."""
    codes = getattr(learner, "codes_", None)
    return sorted(learner.counts_.tables) if codes is None else [codes.epsilon]


def _named(what: str, homes: dict[str, str], name: str) -> Any:
    if name not in homes:
        raise InvalidInput(f"{what} must be one of {', '.join(homes)}, got {name!r}.")
    module, _, attribute = homes[name].partition(":")
    return getattr(import_module(module), attribute)


def _settings(text: str) -> dict[str, Any]:
    settings = parse_json(text)
    if not isinstance(settings, dict):
        raise InvalidInput("its settings are no settings")
    if settings.get("map_shape") is not None:
        settings["map_shape"] = tuple(settings["map_shape"])
    return settings


def _arrays_of(path: Path, kind: str) -> dict[str, NDArray[Any]]:
    arrays = read_arrays(path)
    if "kind" not in arrays or str(arrays["kind"]) != kind:
        raise InvalidInput(f"{path} is not a stored {kind}; give one.")
    return arrays


def _text(arrays: dict[str, NDArray[Any]], key: str, path: Path) -> str:
    value = arrays.get(key)
    if value is None or value.dtype.kind != "U" or value.ndim:
        raise InvalidInput(f"{path} lacks its {key}")
    return str(value)
