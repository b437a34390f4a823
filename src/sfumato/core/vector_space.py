"""A public map for vectors: seen from a public mean, along public directions, of length one.

Embeddings of one network share a direction ("a face"), and most of what tells people apart lies in
few dimensions. An ε goes further where it is spent on those alone. The map is made from public
vectors, is fixed, and is applied before any noise: it costs no privacy and keeps every guarantee.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import read_arrays, write_arrays
from sfumato.core.checks import check_count, check_same_extractor, check_shape
from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.frozen import Frozen, check_extractor_name, frozen_array
from sfumato.core.geometry import unit_vectors
from sfumato.core.types import Features

_LEAST = 1e-9  # shorter than this, a vector has no direction


@dataclass(frozen=True, eq=False, repr=False)
class VectorSpace(Frozen):
    """v ↦ P·(v/‖v‖ − mean), brought to length one.

    mean        (D,) float64, of public vectors of length one
    projection  (n, D) float64, orthonormal rows
    extractor   whose vectors these are

    >>> public = np.random.default_rng(0).normal(size=(100, 16))
    >>> sf.VectorSpace.fit(public, 8, extractor="mine")
    VectorSpace(mine, 16 → 8 numbers)
    """

    mean: NDArray[np.float64]
    projection: NDArray[np.float64]
    extractor: str

    def __post_init__(self) -> None:
        self._set("extractor", check_extractor_name(self.extractor))
        self._set("mean", frozen_array("mean", self.mean, np.float64))
        self._set("projection", frozen_array("projection", self.projection, np.float64))
        check_shape("mean", self.mean, (None,))
        check_shape("projection", self.projection, (None, len(self.mean)))
        count = check_count("dimension", len(self.projection), low=2, high=len(self.mean))
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(self.projection @ self.projection.T - np.eye(count)).max()
        if not (error < 1e-6 and np.abs(self.mean).max() <= 1):
            raise InvalidInput(
                "a space needs a mean of vectors of length one and orthonormal directions; fit it "
                "anew on public vectors."
            )

    @staticmethod
    def fit(
        public: NDArray[Any],
        dimension: int | None = None,
        *,
        extractor: str,
        further: NDArray[Any] | None = None,
    ) -> VectorSpace:
        """The mean of public vectors, and the directions in which they differ most.

        dimension  n; None keeps all dimensions and takes away the mean alone
        further    public vectors of another kind, seen from their own mean: they help to choose
                   directions where `public` are few
        """
        groups = [_seen_from_mean(public)] + ([] if further is None else [_seen_from_mean(further)])
        mean, size = groups[0][0], len(groups[0][0])
        if len({len(group[0]) for group in groups}) > 1:
            raise Mismatch("public vectors and further ones must be of one length.")
        if dimension is None or dimension == size:
            return VectorSpace(mean, np.eye(size), extractor)
        count = sum(len(group[1]) for group in groups)
        high = min(size, count)
        why = f"there are {count} public vectors of {size} numbers"
        check_count("dimension", dimension, low=2, high=high, why=why)
        moments = sum(values.T @ values / len(values) for _, values in groups)
        directions = np.linalg.eigh(moments)[1][:, ::-1][:, :dimension].T
        largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], 1)
        return VectorSpace(mean, directions * np.sign(largest), extractor)

    @property
    def dimension(self) -> int:
        return len(self.projection)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the map: two releases are comparable where it agrees."""
        digest = hashlib.sha256(f"sfumato space {self.projection.shape} {self.extractor}".encode())
        for array in (self.mean, self.projection):
            digest.update(array.astype("<f8").tobytes())
        return digest.hexdigest()

    def apply(self, vectors: NDArray[Any], extractor: str) -> NDArray[np.float64]:
        """(N, D) → (N, n) of length one."""
        check_same_extractor("the space", self.extractor, "the vector", extractor)
        values = np.asarray(vectors, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.mean):
            raise Mismatch(
                f"this space takes vectors of {len(self.mean)} numbers, got shape {values.shape}."
            )
        if not np.isfinite(values).all() or not values.any(axis=1).all():
            raise InvalidInput("vectors must be finite and none of them zero; leave others out.")
        seen = (unit_vectors(values) - self.mean) @ self.projection.T
        lengths = np.linalg.norm(seen, axis=1, keepdims=True)
        if (lengths < _LEAST).any():
            raise InvalidInput("a vector is the mean of the public ones and has no direction.")
        return np.asarray(seen / lengths)

    def save(self, path: str | Path) -> None:
        """Write one .npz; the file is public."""
        name = np.array(self.extractor)
        write_arrays(Path(path), {"mean": self.mean, "projection": self.projection,
                                  "extractor": name})  # fmt: skip

    @staticmethod
    def load(path: str | Path) -> VectorSpace:
        """Read what `save` wrote; nothing in it is executed."""
        arrays = read_arrays(path)
        if set(arrays) != {"mean", "projection", "extractor"} or arrays["extractor"].ndim:
            raise DamagedFile(f"{path} is not a space of vectors; make one with VectorSpace.save.")
        return VectorSpace(arrays["mean"], arrays["projection"], str(arrays["extractor"]))

    def __repr__(self) -> str:
        return f"VectorSpace({self.extractor}, {len(self.mean)} → {self.dimension} numbers)"


def _seen_from_mean(vectors: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values = frozen_array("public vectors", vectors, np.float64)
    check_shape("public vectors", values, (None, None))
    if len(values) < 2 or not values.any(axis=1).all():
        raise InvalidInput(
            f"a space needs at least two public vectors, none of them zero, got {len(values)}."
        )
    units = unit_vectors(values)
    mean = units.mean(axis=0)
    return mean, unit_vectors(units - mean)


def vectors_as_features(vectors: NDArray[Any], extractor: str) -> Features:
    """Vectors as the mechanisms take them: each one keypoint of a picture of one pixel.

    So a release says nothing about where in which picture a vector was found.
    """
    count = len(vectors)
    return Features(
        keypoints=np.zeros((count, 2), dtype=np.float32),
        descriptors=np.asarray(vectors),
        scores=np.ones(count, dtype=np.float32),
        scales=np.ones(count, dtype=np.float32),
        angles=np.full(count, -1, dtype=np.float32),
        image_size=(1, 1),
        extractor=extractor,
    )
