"""Files of pictures, codes, labels and releases, as several commands read them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.files import load_encoder
from sfumato.cli.files import read_bytes, starts_with
from sfumato.core.arrays import read_arrays
from sfumato.core.errors import InvalidInput, Mismatch, SfumatoError
from sfumato.core.releases import CodeRelease
from sfumato.core.streams import split_releases
from sfumato.datasets.idx import read_idx

if TYPE_CHECKING:
    from sfumato.classification.encoder import Encoder

_IDX = (b"\0\0", b"\x1f\x8b")


def read_table(path: Path, *names: str) -> NDArray[Any]:
    """An array of an idx, .npy or .npz file; in an .npz, the first of these names."""
    if starts_with(path, *_IDX):
        return read_idx(path)
    arrays = read_arrays(path)
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    for name in names:
        if name in arrays:
            return arrays[name]
    raise InvalidInput(
        f"{path} holds {len(arrays)} arrays, none named {' or '.join(names)}; name one so."
    )


def read_labels(path: Path, count: int) -> NDArray[np.int64]:
    """One whole number below 2^31 for each picture."""
    labels = read_table(path, "labels", "label", "y")
    if labels.shape != (count,) or labels.dtype.kind not in "iu":
        raise InvalidInput(
            f"{path} must hold one whole number for each of {count} pictures, got {labels.dtype} "
            f"of shape {labels.shape}."
        )
    if count and not (labels.min() >= 0 and labels.max() < 1 << 31):
        raise InvalidInput("labels must lie between 0 and 2^31 − 1.")
    return labels.astype(np.int64)


def read_codes(
    path: Path, encoder: Path | None, num_values: int | None
) -> tuple[NDArray[Any], int, str]:
    """(N, m) codes, d and the encoder's name: encoded pictures, or codes as they are."""
    if encoder is not None:
        made = load_encoder(encoder)
        if num_values is not None and num_values != made.num_values_:
            raise Mismatch(
                f"--values is {num_values}, but the encoder makes codes in [{made.num_values_}]; "
                "leave --values out."
            )
        return encode(made, path), made.num_values_, made.name
    codes = read_table(path, "codes", "array")
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise InvalidInput(
            f"{path} must hold codes, pictures × positions as whole numbers, got {codes.dtype} of "
            f"shape {codes.shape}; give --encoder FILE to encode pictures."
        )
    if num_values is None:
        raise InvalidInput("--values d is needed with codes: how many values a code can have.")
    return codes, num_values, "codes"


def encode(encoder: Encoder, path: Path) -> NDArray[Any]:
    """The codes of a file of pictures."""
    pictures = read_table(path, "pictures", "images", "array")
    with one_sentence():
        return encoder.transform(pictures)


@contextmanager
def one_sentence() -> Iterator[None]:
    """scikit-learn's own refusals, which may be long, as one sentence of ours."""
    try:
        yield
    except SfumatoError:
        raise
    except (ValueError, TypeError) as error:
        raise InvalidInput(" ".join(str(error).split())) from None


def read_code_releases(path: Path) -> Iterator[CodeRelease]:
    """All releases of a file, each of codes."""
    for release in split_releases(read_bytes(path)):
        if not isinstance(release, CodeRelease):
            raise InvalidInput(f"{path} holds a release of {release.kind}; codes are needed.")
        yield release
