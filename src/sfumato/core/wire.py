"""One fixed binary framing for every kind of release. No pickle, no compression.

    offset size
       0    4   magic "SFUM"
       4    1   version
       5    1   kind: 1 plain, 2 words, 3 candidates, 4 subspaces, 5 codes
       6    1   flags: 1 reproducible, 2 float32 payload, 4 float16 payload, 8 labelled
       7    1   camera model (0: none), followed after the header by its parameters
       8    4   N, rows
      12    8   picture width, height (0, 0 for codes)
      20    8   two sizes: plain D, 0 · words |K|, ω · candidates D, ω · subspaces n, m ·
                codes: positions, values
      28    8   ε as a double; 0 where no guarantee exists
      36   24   extractor, ASCII, padded with zeros
      60   32   fingerprint of the dictionary, or zeros
      92    8   length of the whole message
     100    …   camera parameters (doubles), payload
   end−4    4   CRC32 of all before it

Word indices and codes are packed to ⌈log2⌉ bits; positions are 16-bit multiples of 1/8
pixel. The places of codes are left out where a picture sends all of them. Everything is
little-endian. A release has exactly one encoding: after decoding, the bytes are made again and
compared, so padding, order and spare bits cannot carry a message.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, MalformedRelease
from sfumato.core.releases import (
    CandidateRelease,
    CodeRelease,
    KeypointRelease,
    PlainRelease,
    Release,
    SubspaceRelease,
    WordRelease,
    position_shift,
    snap,
)
from sfumato.core.types import CAMERA_MODELS, Camera

MAGIC = b"SFUM"
VERSION = 1
HEADER = struct.Struct("<4sBBBBIIIIId24s32sQ")
_CRC = struct.Struct("<I")

KINDS = {"plain": 1, "words": 2, "candidates": 3, "subspaces": 4, "codes": 5}
_REPRODUCIBLE, _FLOAT32, _FLOAT16, _LABELLED = 1, 2, 4, 8
_CAMERA_NAMES = (None, *CAMERA_MODELS)
_CHUNK = 1 << 16  # values packed at a time; a multiple of 8, so chunks end on whole bytes


@dataclass(frozen=True)
class Header:
    """The fixed part of a message, its fields named."""

    kind: int
    flags: int
    camera: int
    rows: int
    width: int
    height: int
    size_a: int
    size_b: int
    epsilon: float
    extractor: bytes
    fingerprint: bytes
    length: int

    def pack(self) -> bytes:
        return HEADER.pack(
            MAGIC,
            VERSION,
            self.kind,
            self.flags,
            self.camera,
            self.rows,
            self.width,
            self.height,
            self.size_a,
            self.size_b,
            self.epsilon,
            self.extractor,
            self.fingerprint,
            self.length,
        )

    @property
    def num_camera_params(self) -> int:
        name = _CAMERA_NAMES[self.camera]
        return CAMERA_MODELS[name] if name else 0

    @property
    def item_size(self) -> int:
        return {0: 1, _FLOAT32: 4, _FLOAT16: 2}[self.flags & (_FLOAT32 | _FLOAT16)]

    def payload_length(self) -> int:
        """How long the payload must be, from the header alone."""
        n, a, b = self.rows, self.size_a, self.size_b
        if self.kind == KINDS["codes"]:
            label = 4 if self.flags & _LABELLED else 0
            places = 0 if n == a else _packed_length(n, bit_width(a))
            return label + places + _packed_length(n, bit_width(b))
        positions = 4 * n
        if self.kind == KINDS["plain"]:
            return positions + n * a * self.item_size
        if self.kind == KINDS["words"]:
            return positions + _packed_length(n * b, bit_width(a))
        if self.kind == KINDS["candidates"]:
            return positions + n * a * b
        return positions + n * (b + 1) * a * self.item_size


def largest_size(kind: str, rows: int, size_a: int, size_b: int) -> int:
    """Bytes that a release of this kind and these sizes has at most, before it is drawn."""
    # The largest payload of a kind: numbers of four bytes, a label, the longest camera.
    flags = _LABELLED if kind == "codes" else _FLOAT32
    header = Header(KINDS[kind], flags, 0, rows, 0, 0, size_a, size_b, 0.0, b"", b"", 0)
    camera = 8 * max(CAMERA_MODELS.values())
    return HEADER.size + camera + header.payload_length() + _CRC.size


def bit_width(num_values: int) -> int:
    """Bits that hold every index below num_values."""
    return max(num_values - 1, 1).bit_length()


def _packed_length(count: int, width: int) -> int:
    return (count * width + 7) // 8


def pack_bits(values: NDArray[Any], width: int) -> bytes:
    """Pack unsigned integers of `width` bits one behind the other, high bit first."""
    flat = np.ascontiguousarray(values, dtype=np.uint32).ravel()
    shifts = np.arange(width - 1, -1, -1, dtype=np.uint32)
    parts = [
        np.packbits((flat[i : i + _CHUNK, None] >> shifts & 1).astype(np.uint8)).tobytes()
        for i in range(0, len(flat), _CHUNK)
    ]
    return b"".join(parts)


def unpack_bits(data: memoryview, count: int, width: int) -> NDArray[np.uint32]:
    """Undo `pack_bits`."""
    packed = np.frombuffer(data, dtype=np.uint8)
    out = np.empty(count, dtype=np.uint32)
    for i in range(0, count, _CHUNK):
        size = min(_CHUNK, count - i)
        start = i * width // 8
        stream = np.unpackbits(packed[start : start + _packed_length(size, width)])
        bits = stream[: size * width].reshape(size, width)
        chunk = np.zeros(size, dtype=np.uint32)
        for column in range(width):
            chunk <<= np.uint32(1)
            chunk |= bits[:, column]
        out[i : i + size] = chunk
    return out


def encode(release: Release) -> bytes:
    """Encode a release of any kind."""
    flags = _REPRODUCIBLE if release.reproducible else 0
    camera, width, height, params = 0, 0, 0, b""
    epsilon, fingerprint = 0.0, bytes(32)
    if isinstance(release, KeypointRelease):
        extractor = release.extractor
        width, height = release.image_size
        payload = snap(release.keypoints, release.image_size).astype("<u2").tobytes()
        if release.camera is not None:
            camera = _CAMERA_NAMES.index(release.camera.model)
            params = struct.pack(f"<{len(release.camera.params)}d", *release.camera.params)
    if isinstance(release, PlainRelease):
        flags |= 0 if release.descriptors.dtype == np.uint8 else _FLOAT32
        sizes = (release.descriptors.shape[1], 0)
        payload += _little_endian(release.descriptors)
    elif isinstance(release, WordRelease):
        epsilon, fingerprint = release.epsilon, bytes.fromhex(release.dictionary)
        sizes = (release.num_words, release.subset_size)
        payload += pack_bits(release.words, bit_width(release.num_words))
    elif isinstance(release, CandidateRelease):
        epsilon = release.epsilon
        sizes = (release.candidates.shape[2], release.subset_size)
        payload += release.candidates.tobytes()
    elif isinstance(release, SubspaceRelease):
        flags |= _FLOAT16 if release.bases.dtype == np.float16 else _FLOAT32
        sizes = (release.offsets.shape[1], release.dimension)
        payload += _little_endian(release.offsets) + _little_endian(release.bases)
    elif isinstance(release, CodeRelease):
        epsilon, extractor = release.epsilon, release.encoder
        sizes = (release.num_positions, release.num_values)
        payload = b""
        if release.label is not None:
            flags |= _LABELLED
            payload = struct.pack("<I", release.label)
        if len(release) != release.num_positions:
            payload += pack_bits(release.positions, bit_width(release.num_positions))
        payload += pack_bits(release.codes, bit_width(release.num_values))
    else:
        raise InvalidInput(f"no wire format is defined for {type(release).__name__}.")
    header = Header(
        kind=KINDS[release.kind],
        flags=flags,
        camera=camera,
        rows=len(release),
        width=width,
        height=height,
        size_a=sizes[0],
        size_b=sizes[1],
        epsilon=epsilon,
        extractor=extractor.encode(),
        fingerprint=fingerprint,
        length=HEADER.size + len(params) + len(payload) + _CRC.size,
    )
    message = header.pack() + params + payload
    return message + _CRC.pack(zlib.crc32(message))


def _little_endian(array: NDArray[Any]) -> bytes:
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def read_header(data: bytes | memoryview) -> Header:
    """Read and check the fixed header; needs only the first HEADER.size bytes."""
    if len(data) < HEADER.size:
        raise MalformedRelease(
            f"a release has at least {HEADER.size + _CRC.size} bytes, got {len(data)}."
        )
    magic, version, *fields = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise MalformedRelease("these bytes are not an sfumato release (wrong magic).")
    if version != VERSION:
        raise MalformedRelease(
            f"this release has wire version {version}, this sfumato reads {VERSION}; "
            "update the older side."
        )
    header = Header(*fields)
    if header.kind not in KINDS.values():
        raise MalformedRelease(f"unknown kind of release {header.kind}.")
    if header.camera >= len(_CAMERA_NAMES):
        raise MalformedRelease(f"unknown camera model {header.camera}.")
    if header.flags & ~0xF or (header.flags & _FLOAT32 and header.flags & _FLOAT16):
        raise MalformedRelease(f"unknown flags {header.flags:#x}.")
    expected = HEADER.size + 8 * header.num_camera_params + header.payload_length() + _CRC.size
    if header.length != expected:
        raise MalformedRelease(
            f"the header announces {header.length} bytes, its own fields make {expected}."
        )
    return header


def decode(data: bytes | bytearray | memoryview) -> Release:
    """Decode exactly one release, or raise MalformedRelease; length is checked first."""
    view = memoryview(data).cast("B")
    header = read_header(view)
    if header.length != len(view):
        raise MalformedRelease(f"the header announces {header.length} bytes, got {len(view)}.")
    (checksum,) = _CRC.unpack(view[-_CRC.size :])
    if checksum != zlib.crc32(view[: -_CRC.size]):
        raise MalformedRelease("the checksum does not match; the bytes were damaged on the way.")
    try:
        release = _build(header, view[HEADER.size : -_CRC.size])
    except (InvalidInput, UnicodeDecodeError) as error:
        raise MalformedRelease(f"not a valid release: {error}") from None
    if encode(release) != view:
        raise MalformedRelease(
            "this is not the canonical encoding of a release: rows must be ordered and unused "
            "bits zero."
        )
    return release


def _build(header: Header, body: memoryview) -> Release:
    n, a, b = header.rows, header.size_a, header.size_b
    reproducible = bool(header.flags & _REPRODUCIBLE)
    name = header.extractor.rstrip(b"\0").decode("ascii")
    if header.kind == KINDS["codes"]:
        label = None
        if header.flags & _LABELLED:
            (label,) = struct.unpack_from("<I", body)
            body = body[4:]
        middle = 0 if n == a else _packed_length(n, bit_width(a))
        return CodeRelease(
            positions=unpack_bits(body[:middle], n, bit_width(a))
            if middle
            else np.arange(n, dtype=np.uint32),
            codes=unpack_bits(body[middle:], n, bit_width(b)),
            num_positions=a,
            num_values=b,
            epsilon=header.epsilon,
            encoder=name,
            label=label,
            reproducible=reproducible,
        )
    params = struct.unpack_from(f"<{header.num_camera_params}d", body)
    body = body[8 * len(params) :]
    model = _CAMERA_NAMES[header.camera]
    image_size = (header.width, header.height)
    if not (1 <= header.width <= 65_536 and 1 <= header.height <= 65_536):
        raise InvalidInput(f"a picture of {header.width}×{header.height} is not possible")
    step = np.float32(1 << position_shift(image_size))
    common: dict[str, Any] = {
        "keypoints": np.frombuffer(body[: 4 * n], dtype="<u2").reshape(n, 2) / step,
        "image_size": image_size,
        "extractor": name,
        "camera": Camera(model, header.width, header.height, params) if model else None,
        "reproducible": reproducible,
    }
    body = body[4 * n :]
    if header.kind == KINDS["words"]:
        return WordRelease(
            words=unpack_bits(body, n * b, bit_width(a)).reshape(n, b),
            num_words=a,
            dictionary=header.fingerprint.hex(),
            epsilon=header.epsilon,
            **common,
        )
    dtype = np.dtype({1: "<u1", 2: "<f2", 4: "<f4"}[header.item_size])
    values = np.frombuffer(body, dtype=dtype)
    if header.kind == KINDS["plain"]:
        return PlainRelease(descriptors=values.reshape(n, a), **common)
    if header.kind == KINDS["candidates"]:
        return CandidateRelease(
            candidates=values.reshape(n, b, a), epsilon=header.epsilon, **common
        )
    return SubspaceRelease(
        offsets=values[: n * a].reshape(n, a), bases=values[n * a :].reshape(n, b, a), **common
    )
