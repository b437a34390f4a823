"""How each kind of release is written and read: one class a kind, both directions side by side.

A codec turns a release into its `Body`: the fields of the header that depend on the kind, and the
payload. `core/wire.py` adds what all kinds share: the rest of the header, camera, positions and
checksum. `docs/wire-format.md` describes the bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.core.bits import bit_width, pack_bits, packed_length, unpack_bits
from sfumato.core.cube import corner_length
from sfumato.core.releases import (
    CandidateRelease,
    CodeRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    VectorRelease,
    WordRelease,
)

REPRODUCIBLE, FLOAT32, FLOAT16, LABELLED = 1, 2, 4, 8

_ITEM_TYPES = {0: "<u1", FLOAT32: "<f4", FLOAT16: "<f2"}


@dataclass(frozen=True)
class Body:
    """What the header says of one kind's payload, and the payload behind the positions."""

    rows: int
    size_a: int
    size_b: int
    flags: int = 0
    epsilon: float = 0.0
    fingerprint: bytes = bytes(32)
    payload: bytes | memoryview = b""

    @property
    def item_type(self) -> np.dtype[Any]:
        """The type of the numbers in the payload, from the flags."""
        return np.dtype(_ITEM_TYPES[self.flags & (FLOAT32 | FLOAT16)])

    def numbers(self) -> NDArray[Any]:
        return np.frombuffer(self.payload, dtype=self.item_type)


class Codec(Protocol):
    """One kind of release. `common` holds what every keypoint release has."""

    number: int
    flags: int  # those that it may have besides REPRODUCIBLE

    def length(self, body: Body) -> int:
        """How long the payload must be, from the header alone."""
        ...

    def write(self, release: Any) -> Body: ...

    def read(self, body: Body, common: dict[str, Any]) -> Release: ...


class PlainCodec:
    number = 1
    flags = FLOAT32

    def length(self, body: Body) -> int:
        return body.rows * body.size_a * body.item_type.itemsize

    def write(self, release: PlainRelease) -> Body:
        values = release.descriptors
        flags = 0 if values.dtype == np.uint8 else FLOAT32
        return Body(len(values), values.shape[1], 0, flags, payload=_little_endian(values))

    def read(self, body: Body, common: dict[str, Any]) -> PlainRelease:
        return PlainRelease(descriptors=body.numbers().reshape(body.rows, body.size_a), **common)


class WordCodec:
    number = 2
    flags = 0

    def length(self, body: Body) -> int:
        return packed_length(body.rows * body.size_b, body.size_a)

    def write(self, release: WordRelease) -> Body:
        return Body(
            rows=len(release),
            size_a=release.num_words,
            size_b=release.subset_size,
            epsilon=release.epsilon,
            fingerprint=bytes.fromhex(release.dictionary),
            payload=pack_bits(release.words, bit_width(release.num_words)),
        )

    def read(self, body: Body, common: dict[str, Any]) -> WordRelease:
        words = unpack_bits(body.payload, body.rows * body.size_b, bit_width(body.size_a))
        return WordRelease(
            words=words.reshape(body.rows, body.size_b),
            num_words=body.size_a,
            dictionary=body.fingerprint.hex(),
            epsilon=body.epsilon,
            **common,
        )


class CandidateCodec:
    number = 3
    flags = 0

    def length(self, body: Body) -> int:
        return body.rows * body.size_a * body.size_b

    def write(self, release: CandidateRelease) -> Body:
        rows, subset_size, dimension = release.candidates.shape
        payload = release.candidates.tobytes()
        return Body(rows, dimension, subset_size, epsilon=release.epsilon, payload=payload)

    def read(self, body: Body, common: dict[str, Any]) -> CandidateRelease:
        candidates = body.numbers().reshape(body.rows, body.size_b, body.size_a)
        return CandidateRelease(candidates=candidates, epsilon=body.epsilon, **common)


class SubspaceCodec:
    number = 4
    flags = FLOAT32 | FLOAT16

    def length(self, body: Body) -> int:
        return body.rows * (body.size_b + 1) * body.size_a * body.item_type.itemsize

    def write(self, release: SubspaceRelease) -> Body:
        rows, dimension, ambient = release.bases.shape
        flags = FLOAT16 if release.bases.dtype == np.float16 else FLOAT32
        payload = _little_endian(release.offsets) + _little_endian(release.bases)
        return Body(rows, ambient, dimension, flags, payload=payload)

    def read(self, body: Body, common: dict[str, Any]) -> SubspaceRelease:
        offsets, bases = np.split(body.numbers(), [body.rows * body.size_a])
        return SubspaceRelease(
            offsets=offsets.reshape(body.rows, body.size_a),
            bases=bases.reshape(body.rows, body.size_b, body.size_a),
            **common,
        )


class CodeCodec:
    """Rows are codes. Their positions are left out where a picture sends all of them."""

    number = 5
    flags = LABELLED

    def length(self, body: Body) -> int:
        label = 4 if body.flags & LABELLED else 0
        return label + self._positions_length(body) + packed_length(body.rows, body.size_b)

    def _positions_length(self, body: Body) -> int:
        return 0 if body.rows == body.size_a else packed_length(body.rows, body.size_a)

    def write(self, release: CodeRelease) -> Body:
        payload = b"" if release.label is None else struct.pack("<I", release.label)
        if len(release) != release.num_positions:
            payload += pack_bits(release.positions, bit_width(release.num_positions))
        return Body(
            rows=len(release),
            size_a=release.num_positions,
            size_b=release.num_values,
            flags=0 if release.label is None else LABELLED,
            epsilon=release.epsilon,
            payload=payload + pack_bits(release.codes, bit_width(release.num_values)),
        )

    def read(self, body: Body, common: dict[str, Any]) -> CodeRelease:
        rows, payload, label = body.rows, body.payload, None
        if body.flags & LABELLED:
            (label,) = struct.unpack_from("<I", payload)
            payload = payload[4:]
        middle = self._positions_length(body)
        positions = np.arange(rows, dtype=np.uint32)
        if middle:
            positions = unpack_bits(payload[:middle], rows, bit_width(body.size_a))
        return CodeRelease(
            positions=positions,
            codes=unpack_bits(payload[middle:], rows, bit_width(body.size_b)),
            num_positions=body.size_a,
            num_values=body.size_b,
            epsilon=body.epsilon,
            label=label,
            **common,
        )


class VectorCodec:
    """Size a is n, size b is k; a row has L bits, which follow from n."""

    number = 6
    flags = 0

    def length(self, body: Body) -> int:
        return packed_length(body.rows * corner_length(body.size_a), 2)

    def write(self, release: VectorRelease) -> Body:
        return Body(
            rows=len(release),
            size_a=release.dimension,
            size_b=release.cap_bits,
            epsilon=release.epsilon,
            fingerprint=bytes.fromhex(release.space),
            payload=pack_bits(release.signs, 1),
        )

    def read(self, body: Body, common: dict[str, Any]) -> VectorRelease:
        length = corner_length(body.size_a)
        signs = unpack_bits(body.payload, body.rows * length, 1)
        return VectorRelease(
            signs=signs.reshape(body.rows, length).astype(np.uint8),
            dimension=body.size_a,
            cap_bits=body.size_b,
            epsilon=body.epsilon,
            space=body.fingerprint.hex(),
            **common,
        )


def _little_endian(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


#: By `Release.kind`.
CODECS: dict[str, Codec] = {
    "plain": PlainCodec(),
    "words": WordCodec(),
    "candidates": CandidateCodec(),
    "subspaces": SubspaceCodec(),
    "codes": CodeCodec(),
    "vectors": VectorCodec(),
}
