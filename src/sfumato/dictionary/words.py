"""What words must be, and the fingerprint that names them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_finite
from sfumato.core.errors import InvalidInput, Mismatch


def check_words(words: Any) -> NDArray[Any]:
    """Return words as a read-only, contiguous (|K|, D) array of uint8 or float32."""
    array = np.asarray(words)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InvalidInput(f"words must have shape (number of words, D), got {array.shape}.")
    if array.dtype != np.uint8 and array.dtype.kind != "f":
        raise InvalidInput(
            f"words must be uint8 or floating point, got {array.dtype}; convert them first."
        )
    if len(array) < 2:
        raise InvalidInput(
            f"a dictionary must have at least 2 words, got {len(array)}; with fewer, every "
            "descriptor becomes the same word."
        )
    dtype = np.uint8 if array.dtype == np.uint8 else np.float32
    kept = np.array(array, dtype=dtype, order="C")
    check_finite("words", kept)
    if kept.dtype == np.float32:
        kept = np.add(kept, np.float32(0))  # −0 becomes 0: equal words have equal bytes
    kept.flags.writeable = False
    return kept


def check_stored_words(words: NDArray[Any]) -> NDArray[Any]:
    """Return words of a file, as `check_words` made them, without copying them into memory."""
    if words.ndim != 2 or min(words.shape) < 1 or len(words) < 2 or not words.flags.c_contiguous:
        raise InvalidInput(f"words must have shape (number of words, D), got {words.shape}.")
    if words.dtype not in (np.uint8, np.float32):
        raise InvalidInput(f"words must be uint8 or float32, got {words.dtype}.")
    check_finite("words", words)
    return words


def check_metric(metric: str | None, extractor: str, words: NDArray[Any]) -> str:
    """Return the metric of these words: what the extractor says, or what was asked for."""
    if metric is None:
        from sfumato.features import EXTRACTORS  # late: importing a dictionary stays light

        spec = EXTRACTORS.get(extractor)
        metric = "hamming" if spec is not None and spec.binary else "l2"
    if metric not in ("l2", "hamming"):
        raise InvalidInput(f"metric must be 'l2' or 'hamming', got {metric!r}.")
    if metric == "hamming" and words.dtype != np.uint8:
        raise InvalidInput(
            f"words compared by Hamming distance must be packed bits (uint8), got {words.dtype}; "
            "pack them with np.packbits."
        )
    return metric


def check_provenance(text: Any, name: str = "provenance") -> str:
    """Return where words come from: one short line that is fit to travel with them."""
    if not isinstance(text, str) or not 1 <= len(text) <= 200 or not text.isprintable():
        raise InvalidInput(
            f"{name} must be one line of 1 to 200 printable characters; say where the pictures "
            "come from and who may use them."
        )
    return text


def fingerprint_of(words: NDArray[Any], extractor: str) -> str:
    """SHA-256 over dtype, shape, extractor and little-endian word bytes, in hex."""
    little = words.dtype.newbyteorder("<")
    head = f"{little.str}|{words.shape[0]}x{words.shape[1]}|{extractor}|"
    digest = hashlib.sha256(head.encode())
    digest.update(np.ascontiguousarray(words, dtype=little).data)
    return digest.hexdigest()


def check_descriptors(descriptors: Any, words: NDArray[Any], extractor: str) -> NDArray[Any]:
    """Return descriptors as an (N, D) array these words can be compared with."""
    array = np.asarray(descriptors)
    if array.ndim != 2 or array.shape[1] != words.shape[1]:
        raise Mismatch(
            f"descriptors must have shape (any, {words.shape[1]}) for this dictionary of "
            f"{extractor}, got {array.shape}; use the extractor {extractor}."
        )
    wanted = words.dtype
    if array.dtype.kind != wanted.kind or (wanted == np.uint8 and array.dtype != np.uint8):
        raise Mismatch(
            f"descriptors must be {wanted} as the words of this dictionary are, got "
            f"{array.dtype}; use the extractor {extractor}, its values have that scale."
        )
    array = np.ascontiguousarray(array, dtype=wanted)
    check_finite("descriptors", array)
    return array
