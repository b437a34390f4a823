"""What a dictionary is built from: a folder of pictures, a features file, or an array."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite, check_shape
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.frozen import check_extractor_name
from sfumato.core.progress import Progress

_FEATURE_SUFFIXES = (".h5", ".hdf5")


@dataclass(frozen=True)
class Source:
    """Descriptors of one extractor, opened and checked, not yet read.

    name        where they come from, in words fit for a manifest: never a path
    array       (N, D) descriptors when they were given as such; else `pictures` yields them
    unreadable  (name, reason) of pictures left out, filled while they are read
    """

    name: str
    extractor: str
    metric: str
    row_bytes: int
    dimension: int
    path: Path | None = None
    names: tuple[str, ...] = ()
    max_keypoints: int | None = None
    strict: bool = False
    array: NDArray[Any] | None = None
    image_ids: NDArray[np.int32] | None = None
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    def pictures(self, progress: Progress) -> Iterator[NDArray[Any]]:
        """The descriptors of each readable picture, in order of name; refused if there is none."""
        yield from self.described(progress)
        self.check_readable()

    def check_readable(self) -> None:
        if self.names and len(self.unreadable) == len(self.names):
            raise InvalidInput(
                f"none of the {len(self.names)} pictures in {self.path} can be read."
            )

    def described(self, progress: Progress) -> Iterator[NDArray[Any]]:
        """The descriptors of each readable picture, also where there is none."""
        if self.path is None:
            return
        if self.path.is_dir():
            from sfumato.features import iter_folder_features

            for _, features in iter_folder_features(
                self.path,
                extractor=self.extractor,
                max_keypoints=self.max_keypoints,
                strict=self.strict,
                unreadable=self.unreadable,
                progress=progress,
                names=self.names,
            ):
                yield features.descriptors
            return
        from sfumato.features import read_features

        for done, name in enumerate(self.names):
            features = read_features(self.path, name, extractor=self.extractor)
            row_bytes = features.descriptors.shape[1] * features.descriptors.dtype.itemsize
            if row_bytes != self.row_bytes:
                raise Mismatch(
                    f"descriptors of picture {done + 1} of {self.path} have another dimension or "
                    "type than those of the first; a dictionary is made of one kind."
                )
            strongest = np.argsort(-features.scores, kind="stable")[: self.max_keypoints]
            yield features.descriptors[np.sort(strongest)]
            progress("reading", done + 1, len(self.names))

    def identity(self) -> str:
        """A digest that changes when the source does: names and sizes, or the values."""
        digest = hashlib.sha256(f"{self.extractor}|{self.max_keypoints}|".encode())
        if self.array is not None:
            digest.update(f"{self.array.dtype}{self.array.shape}".encode())
            digest.update(np.ascontiguousarray(self.array).data)
            if self.image_ids is not None:
                digest.update(self.image_ids.data)
        elif self.path is not None:
            is_folder = self.path.is_dir()
            for name in self.names:
                size = (self.path / name).stat().st_size if is_folder else 0
                digest.update(f"{name}|{size}|".encode("utf-8", "surrogateescape"))
            if not is_folder:
                digest.update(str(self.path.stat().st_size).encode())
        return digest.hexdigest()


def open_source(
    source: Any, extractor: str | None, *, max_keypoints: int | None, image_ids: Any, strict: bool
) -> Source:
    """Check a source before any long work begins."""
    if not isinstance(source, str | Path):
        if max_keypoints is not None:
            raise InvalidInput("max_keypoints needs pictures; an array of descriptors has none.")
        return _open_array(source, extractor or "sift", image_ids)
    if image_ids is not None:
        raise InvalidInput("image_ids go with an array of descriptors; pictures have their own.")
    path = Path(source)
    if path.suffix.lower() in _FEATURE_SUFFIXES and not path.is_dir():
        return _open_file(path, extractor, max_keypoints, strict)
    from sfumato.features import list_images
    from sfumato.features.extractors import check_request

    if extractor is not None and (":" in extractor or extractor.lower().endswith(".onnx")):
        raise InvalidInput(
            "words of your own extractor are made of its features; extract them first, with "
            f"`sfumato extract {path} -o features.h5 --extractor {extractor}`."
        )
    spec = check_request(extractor or "sift", max_keypoints=max_keypoints)
    return Source(
        name=_printable(path.resolve().name or "pictures"),
        extractor=spec.name,
        metric="hamming" if spec.binary else "l2",
        row_bytes=spec.dimension * np.dtype(spec.dtype).itemsize,
        dimension=spec.dimension * (8 if spec.binary else 1),
        path=path,
        names=list_images(path),
        max_keypoints=max_keypoints,
        strict=strict,
    )


def _open_file(
    path: Path, extractor: str | None, max_keypoints: int | None, strict: bool
) -> Source:
    """A features file of any extractor; what its first picture has, the others must have too."""
    from sfumato.core.checks import check_count
    from sfumato.features import EXTRACTORS, list_feature_names
    from sfumato.features.h5 import extractor_of_file, read_strongest

    if max_keypoints is not None:
        check_count("max_keypoints", max_keypoints, low=1)
    made_by = extractor_of_file(path, extractor)
    names = list_feature_names(path)
    if not names:
        raise InvalidInput(f"{path} holds no pictures; extract some first.")
    first = read_strongest(path, names[0], extractor=made_by).descriptors
    spec = EXTRACTORS.get(made_by)
    binary = spec is not None and spec.binary
    return Source(
        name=_printable(path.stem),
        extractor=made_by,
        metric="hamming" if binary else "l2",
        row_bytes=first.shape[1] * first.dtype.itemsize,
        dimension=first.shape[1] * (8 if binary else 1),
        path=path,
        names=names,
        max_keypoints=max_keypoints,
        strict=strict,
    )


def _printable(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name)[:200]


def _open_array(values: Any, extractor: str, image_ids: Any) -> Source:
    from sfumato.features import EXTRACTORS
    from sfumato.features.extractors import check_kind

    array = np.asarray(values)
    check_shape("descriptors", array, (None, None))
    if array.dtype != np.uint8 and array.dtype.kind != "f":
        raise InvalidInput(
            f"descriptors must be uint8 or floating point, got {array.dtype}; convert them first."
        )
    array = array if array.dtype == np.uint8 else np.asarray(array, dtype=np.float32)
    check_finite("descriptors", array)
    spec = EXTRACTORS.get(check_extractor_name(extractor))
    check_kind(extractor, array)
    ids = None
    if image_ids is not None:
        ids = np.asarray(image_ids)
        check_shape("image_ids", ids, (len(array),))
        if ids.dtype.kind not in "iu":
            raise InvalidInput(f"image_ids must be whole numbers, got {ids.dtype}.")
        # Numbered anew: ids may be anything, counting needs them small.
        ids = np.unique(ids, return_inverse=True)[1].astype(np.int32)
    binary = spec is not None and spec.binary
    return Source(
        name="given descriptors",
        extractor=extractor,
        metric="hamming" if binary else "l2",
        row_bytes=array.shape[1] * array.dtype.itemsize,
        dimension=array.shape[1] * (8 if binary else 1),
        array=array,
        image_ids=ids,
    )
