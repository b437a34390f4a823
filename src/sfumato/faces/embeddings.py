"""Identity embeddings: what a network makes of a face, one vector per picture.

The mechanisms of `device/` take embeddings as they take descriptors: `as_features` makes each face
one keypoint of a 1×1 picture, so that a release says nothing about where in which picture it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import read_arrays
from sfumato.core.checks import check_shape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.frozen import Frozen, check_extractor_name, frozen_array
from sfumato.core.geometry import unit_vectors
from sfumato.core.types import Features
from sfumato.core.vector_space import vectors_as_features

Doubles = NDArray[np.float64]

MAX_DIMENSION = 4096


class FaceEmbedder(Protocol):
    """A picture of one face → its embedding; refused in one sentence where there is none."""

    @property
    def name(self) -> str: ...

    def embed(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]: ...


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(Frozen):
    """Faces by name.

    vectors   (N, n) float32, none of them zero; of any length, as the network gives them
    names     one for each row, all different
    embedder  whose vectors these are; those of two networks have no distance
    """

    vectors: NDArray[np.float32]
    names: tuple[str, ...]
    embedder: str

    def __post_init__(self) -> None:
        self._set("embedder", check_extractor_name(self.embedder))
        self._set("vectors", check_vectors(self.vectors))
        self._set("names", tuple(str(name) for name in self.names))
        if len(self.names) != len(self.vectors):
            raise InvalidInput(
                f"each embedding needs a name, got {len(self.vectors)} embeddings and "
                f"{len(self.names)} names."
            )
        if len(set(self.names)) != len(self.names):
            raise InvalidInput("the names of embeddings must differ from each other, two agree.")

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        return f"Embeddings({len(self)} faces, {self.vectors.shape[1]}-D {self.embedder})"


def check_vectors(values: Any, dimension: int | None = None) -> NDArray[np.float32]:
    """Return (N, n) embeddings, finite and none of length zero."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise InvalidInput(f"embeddings must be numbers, got {array.dtype}.")
    kept = frozen_array("embeddings", array, np.float32)
    check_shape("embeddings", kept, (None, None))
    if not 2 <= kept.shape[1] <= MAX_DIMENSION:
        raise InvalidInput(
            f"an embedding must have 2 to {MAX_DIMENSION} numbers, got {kept.shape[1]}."
        )
    if dimension is not None and kept.shape[1] != dimension:
        raise Mismatch(
            f"an embedding must have {dimension} numbers like those it is compared with, got "
            f"{kept.shape[1]}; embed all faces with one network."
        )
    empty = int((~kept.any(axis=1)).sum())
    if empty:
        raise InvalidInput(
            f"an embedding must not be zero, {empty} of {len(kept)} are and have no direction; "
            "leave those faces out."
        )
    return kept


def load_embeddings(path: str | Path, *, embedder: str = "given") -> Embeddings:
    """Read .npz with the arrays `names` and `embeddings`, or .npy with rows named 0, 1, 2 …

    Nothing in the file is executed: arrays of Python objects are refused.
    """
    file = Path(path)
    if not file.exists():
        raise InvalidInput(f"there is no file of embeddings at {file}.")
    arrays = read_arrays(file)
    if set(arrays) == {"array"}:
        vectors = check_vectors(arrays["array"])
        return Embeddings(vectors, tuple(str(row) for row in range(len(vectors))), embedder)
    if not {"names", "embeddings"} <= set(arrays) or arrays["names"].ndim != 1:
        raise InvalidInput(
            f"{file} must hold the arrays 'names' and 'embeddings', one row for each face."
        )
    return Embeddings(arrays["embeddings"], tuple(arrays["names"].tolist()), embedder)


def centre(vectors: NDArray[Any], public: NDArray[Any]) -> Doubles:
    """Unit-length embeddings seen from the mean of public faces, brought to length one again.

    Embeddings of a network share a direction that says "a face"; without it, distances say who.
    The mean is public and fixed, so the map costs no privacy and keeps every guarantee.
    """
    if not len(public):
        raise InvalidInput("a mean needs at least one public face, got none.")
    values = unit_vectors(vectors) - unit_vectors(public).mean(axis=0)
    lengths = np.linalg.norm(values, axis=1)
    if (lengths < 1e-9).any():
        raise InvalidInput("an embedding is the mean of the public faces and has no direction.")
    return np.asarray(values / lengths[:, None])


def centring_helps(public: NDArray[Any], identities: Sequence[str]) -> bool:
    """Whether centred embeddings tell public people better apart than plain ones.

    Compared by how far apart cosines of one person and of two people are, in standard deviations;
    a centred set is judged on the mean of its other half. True where nobody has two pictures.
    """
    who = np.unique(np.asarray(identities, dtype=np.str_), return_inverse=True)[1]
    if len(identities) != len(public) or len(np.unique(who)) < 4 or len(who) == len(np.unique(who)):
        return True
    half = who % 2 == 0
    centred = np.empty(public.shape)
    centred[half] = centre(public[half], public[~half])
    centred[~half] = centre(public[~half], public[half])
    return _separation(centred, who) >= _separation(unit_vectors(public), who)


def _separation(units: Doubles, who: NDArray[Any]) -> float:
    """(mean of one person − mean of two) / √(mean of both variances), of cosines."""
    i, j = np.triu_indices(min(len(units), 2000), 1)
    cosines = np.einsum("pn,pn->p", units[i], units[j])
    alike = who[i] == who[j]
    if not alike.any() or alike.all():
        return 0.0
    spread = (cosines[alike].var() + cosines[~alike].var()) / 2
    return float((cosines[alike].mean() - cosines[~alike].mean()) / np.sqrt(max(spread, 1e-12)))


def as_features(vectors: NDArray[Any], embedder: str) -> Features:
    """Embeddings as the mechanisms take them: each one keypoint of a picture of one pixel."""
    return vectors_as_features(check_vectors(vectors), embedder)
