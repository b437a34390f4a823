"""Features in HDF5 files, in hloc's layout: one group per picture.

  keypoints    (N, 2) float32   the centre of a pixel is a whole number, as in hloc
  descriptors  (D, N)           uint8 or float32, as the extractor made them
  scores       (N,)   float32
  image_size   (2,)   int32     width, height
  scales       (N,)   float32   diameter in pixels        } ours; hloc reads past them
  angles       (N,)   float32   degrees, −1 for none      }

A group of ours carries a checksum, the file the extractor's name. Names of pictures may
contain "/", which nests groups.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import DamagedFile, InvalidInput, Mismatch
from sfumato.core.frozen import check_extractor_name
from sfumato.core.types import Features
from sfumato.features.extractors import check_kind
from sfumato.features.h5_inside import (
    Refused,
    find_group,
    list_datasets,
    read_arrays,
    read_number,
    read_text,
)

#: HDF5 1.10 and later checksum their own structure; older layouts loop or crash when damaged.
LAYOUT = ("v110", "v110")
EXTRACTOR = "sfumato_extractor"
CHECKSUM = "sfumato_crc32"
_ORDER = ("keypoints", "descriptors", "scores", "image_size", "scales", "angles")
_ORIENTATIONS = "oris"  # hloc's own name
_MAGIC = b"\x89HDF\r\n\x1a\n"


def is_features_file(path: str | Path) -> bool:
    """Whether a file begins or is named as features files are."""
    file = Path(path)
    if not file.is_file():
        return False
    if file.suffix.lower() in (".h5", ".hdf5"):
        return True
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def extractor_of_file(path: str | Path, given: str | None = None) -> str:
    """Who made the features of a file: what it says, or the name that is given.

    Files of hloc do not say it. A given name that contradicts the file is refused.
    """
    with open_features(path) as file:
        written = stored_extractor(file)
    if written is None and given is None:
        raise InvalidInput(
            f"{path} does not say which extractor made it, as files of hloc do not; name it with "
            "--extractor, any name that queries and map share."
        )
    if written is not None and given not in (None, written):
        raise Mismatch(f"{path} holds {written} features, {given} was asked for.")
    return check_extractor_name(written or given)


def read_strongest(path: str | Path, name: str, *, extractor: str | None = None) -> Features:
    """One picture's features of the kind its name promises, strongest first."""
    features = read_features(path, name, extractor=extractor)
    check_kind(features.extractor, features.descriptors)
    return features.take(np.argsort(-features.scores, kind="stable"))


def list_feature_names(path: str | Path) -> tuple[str, ...]:
    """Names of all pictures in a features file, sorted."""
    with open_features(path) as file:
        paths = [path.rpartition("/") for path in list_datasets(file)]
    return tuple(sorted(picture for picture, _, name in paths if picture and name == "keypoints"))


def read_features(path: str | Path, name: str, *, extractor: str | None = None) -> Features:
    """Read one picture's features, rows in the order of the file.

    Files made by hloc do not say which extractor made them: name it. What they leave out is
    filled in: scores and scales with 0, angles with −1.
    """
    check_picture_name(name)
    with open_features(path) as file:
        group = find_group(file, name)
        arrays = {} if group is None else read_arrays(group, (*_ORDER, _ORIENTATIONS))
        if group is None or "keypoints" not in arrays:
            raise InvalidInput(f"{path} holds no picture named {name!r}; list_feature_names does.")
        written = stored_extractor(file)
        checksum = read_number(group, CHECKSUM)
    if written is None and extractor is None:
        raise InvalidInput(
            f"{path} does not say which extractor made it, as files of hloc do not; give its name, "
            "extractor='…' or --extractor."
        )
    if written is not None and extractor not in (None, written):
        raise Mismatch(f"{path} holds {written} features, {extractor} was asked for.")
    if checksum is not None and (
        not set(_ORDER) <= set(arrays) or checksum != arrays_checksum(arrays)
    ):
        raise _damaged(path)
    if checksum is None:
        arrays = _complete(path, arrays)
    return Features(
        keypoints=arrays["keypoints"],
        descriptors=arrays["descriptors"].T,
        scores=arrays["scores"],
        scales=arrays["scales"],
        angles=arrays["angles"],
        image_size=_image_size(path, arrays["image_size"]),
        extractor=written or extractor or "",
    )


def _image_size(path: str | Path, sides: NDArray[Any]) -> tuple[int, int]:
    if sides.shape != (2,) or not np.isfinite(sides).all():
        raise InvalidInput(f"{path} must hold an image_size of two whole numbers.")
    return int(sides[0]), int(sides[1])


def _complete(path: str | Path, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Arrays as hloc writes them, as ours: float32, nothing left out."""
    needed = ("keypoints", "descriptors", "image_size")
    absent = [key for key in needed if key not in arrays]
    if absent:
        raise InvalidInput(
            f"{path} must hold {', '.join(needed)} for each picture, {', '.join(absent)} is "
            "missing; it is not a file of local features."
        )
    points, size = arrays["keypoints"], arrays["image_size"]
    if points.ndim != 2 or points.shape[1] != 2 or size.shape != (2,):
        raise InvalidInput(f"{path} must hold keypoints of shape (N, 2) and image_size of two.")
    none = np.zeros(len(points), dtype=np.float32)
    if points.dtype == np.float16:
        # Half precision rounds to whole pixels beyond 1024, and so over the border.
        points = np.clip(points.astype(np.float32), 0, size.astype(np.float32) - 1)
    # hloc's own SIFT gives σ as scales and degrees as oris; our scales are diameters.
    angles = np.mod(arrays[_ORIENTATIONS], 360) if _ORIENTATIONS in arrays else none - 1
    return {
        "keypoints": points,
        "descriptors": arrays["descriptors"],
        "scores": arrays.get("scores", none),
        "scales": 2 * arrays.get("scales", none).astype(np.float32),
        "angles": angles,
        "image_size": size,
    }


def write_group(file: h5py.File, name: str, features: Features) -> None:
    """Write one picture's features as a new group."""
    arrays: dict[str, NDArray[Any]] = {
        "keypoints": features.keypoints,
        "descriptors": np.ascontiguousarray(features.descriptors.T),
        "scores": features.scores,
        "image_size": np.array(features.image_size, dtype=np.int32),
        "scales": features.scales,
        "angles": features.angles,
    }
    group = file.create_group(name)
    for key in _ORDER:
        group.create_dataset(key, data=arrays[key])
    group.attrs[CHECKSUM] = arrays_checksum(arrays)


def arrays_checksum(arrays: dict[str, NDArray[Any]]) -> int:
    """CRC32 over shapes, types and values: HDF5 itself does not notice a flipped bit."""
    checksum = 0
    for key in _ORDER:
        array = arrays[key]
        checksum = zlib.crc32(f"{key}{array.dtype.str}{array.shape}".encode(), checksum)
        checksum = zlib.crc32(np.ascontiguousarray(array).data, checksum)
    return checksum


def stored_extractor(file: h5py.File) -> str | None:
    """The extractor a file says it was made by, None if it does not say."""
    return read_text(file, EXTRACTOR)


def set_text(file: h5py.File, key: str, value: str) -> None:
    """Keep a text as an attribute, in place: HDF5's heap for strings has no checksum."""
    file.attrs[key] = np.bytes_(value.encode())


def check_picture_name(name: str) -> str:
    """Return a name that means the same as a path and as a nest of HDF5 groups."""
    parts = name.split("/") if isinstance(name, str) else []
    if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise InvalidInput(
            "a picture's name must be a relative path with single slashes, such as "
            f"'db/1.jpg', got {name!r}."
        )
    if name.splitlines() != [name]:  # lists of names and poses have one on each line
        raise InvalidInput(f"a picture's name must be one line, got {name!r}; rename it.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InvalidInput("a picture's name must be valid UTF-8; rename the file.") from None
    return name


@contextmanager
def open_features(path: str | Path) -> Iterator[h5py.File]:
    """Open a features file for reading; what HDF5 cannot read is a damaged file."""
    if not Path(path).is_file():
        raise InvalidInput(f"there is no features file at {path}.")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except BlockingIOError:
        raise InvalidInput(f"{path} is being written by another program; wait for it.") from None
    except PermissionError:
        raise InvalidInput(f"{path} may not be opened; check its permissions.") from None
    except Refused as error:
        raise InvalidInput(f"{path} is refused: {error}") from None
    except InvalidInput:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError):
        raise _damaged(path) from None


def _damaged(path: str | Path) -> DamagedFile:
    return DamagedFile(f"{path} is damaged or not a features file (HDF5); make it again.")
