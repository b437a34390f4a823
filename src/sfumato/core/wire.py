"""One fixed binary framing for every kind of release. No pickle, no compression.

    offset size
       0    4   magic "SFUM"
       4    1   version
       5    1   kind: 1 plain, 2 words, 3 candidates, 4 subspaces, 5 codes,
                6 vectors
       6    1   flags: 1 reproducible, 2 float32 payload, 4 float16 payload, 8 labelled
       7    1   camera model (0: none), followed after the header by its parameters
       8    4   N, rows
      12    8   picture width, height (0, 0 for codes)
      20    8   two sizes: plain D, 0 · words |K|, ω · candidates D, ω · subspaces n, m ·
                codes: positions, values · vectors n, k
      28    8   ε as a double; 0 where no guarantee exists
      36   24   extractor, ASCII, padded with zeros
      60   32   fingerprint of the dictionary, or zeros
      92    8   length of the whole message
     100    …   camera parameters (doubles), payload
   end−4    4   CRC32 of all before it

Word indices and codes are packed to ⌈log2⌉ bits; positions are 16-bit multiples of 1/8
pixel; `core/codecs.py` holds the payload of each kind. Everything is little-endian.
A release has exactly one encoding: after decoding, the bytes are made again and compared, so
padding, order and spare bits cannot carry a message.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from sfumato.core.codecs import CODECS, FLOAT16, FLOAT32, REPRODUCIBLE, Body, Codec
from sfumato.core.errors import InvalidInput, MalformedRelease
from sfumato.core.frozen import check_image_size
from sfumato.core.positions import snap, unsnap
from sfumato.core.releases import CodeRelease, KeypointRelease, Release
from sfumato.core.types import CAMERA_MODELS, Camera

MAGIC = b"SFUM"
VERSION = 1
HEADER = struct.Struct("<4sBBBBIIIIId24s32sQ")
_CRC = struct.Struct("<I")
_KIND_OF_NUMBER = {codec.number: kind for kind, codec in CODECS.items()}


class CameraModel(IntEnum):
    """The numbers of COLMAP's models in the wire format; 0 stands for no camera."""

    SIMPLE_PINHOLE = 1
    PINHOLE = 2
    SIMPLE_RADIAL = 3
    RADIAL = 4
    OPENCV = 5
    OPENCV_FISHEYE = 6
    FULL_OPENCV = 7


@dataclass(frozen=True)
class Header:
    """The fixed part of a message, its fields named and in their order."""

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

    @property
    def codec(self) -> Codec:
        return CODECS[_KIND_OF_NUMBER[self.kind]]

    @property
    def num_camera_params(self) -> int:
        return CAMERA_MODELS[CameraModel(self.camera).name] if self.camera else 0

    @property
    def positions_length(self) -> int:
        return 0 if self.codec is CODECS["codes"] else 4 * self.rows

    def body(self, payload: memoryview | bytes = b"") -> Body:
        return Body(
            self.rows,
            self.size_a,
            self.size_b,
            self.flags,
            self.epsilon,
            self.fingerprint,
            payload,
        )

    def message_length(self) -> int:
        """How long the message must be, from the other fields alone."""
        payload = self.positions_length + self.codec.length(self.body())
        return HEADER.size + 8 * self.num_camera_params + payload + _CRC.size


def largest_size(kind: str, rows: int, size_a: int, size_b: int) -> int:
    """Bytes that a release of this kind and these sizes has at most, before it is drawn."""
    codec = CODECS[kind]
    longest_camera = max(CameraModel, key=lambda model: CAMERA_MODELS[model.name])
    header = Header(
        kind=codec.number,
        flags=codec.flags & ~FLOAT16,  # numbers of four bytes, a label
        camera=longest_camera,
        rows=rows,
        width=0,
        height=0,
        size_a=size_a,
        size_b=size_b,
        epsilon=0.0,
        extractor=b"",
        fingerprint=b"",
        length=0,
    )
    return header.message_length()


def encode(release: Release) -> bytes:
    """Encode a release of any kind."""
    codec = CODECS.get(release.kind)
    if codec is None:
        raise InvalidInput(f"no wire format is defined for {type(release).__name__}.")
    body = codec.write(release)
    camera, width, height, name, front = 0, 0, 0, "", b""
    if isinstance(release, KeypointRelease):
        name, (width, height) = release.extractor, release.image_size
        if release.camera is not None:
            camera = CameraModel[release.camera.model]
            front = struct.pack(f"<{len(release.camera.params)}d", *release.camera.params)
        front += snap(release.keypoints, release.image_size).astype("<u2").tobytes()
    elif isinstance(release, CodeRelease):
        name = release.encoder
    header = Header(
        kind=codec.number,
        flags=body.flags | (REPRODUCIBLE if release.reproducible else 0),
        camera=camera,
        rows=body.rows,
        width=width,
        height=height,
        size_a=body.size_a,
        size_b=body.size_b,
        epsilon=body.epsilon,
        extractor=name.encode(),
        fingerprint=body.fingerprint,
        length=HEADER.size + len(front) + len(body.payload) + _CRC.size,
    )
    message = HEADER.pack(MAGIC, VERSION, *astuple(header)) + front + body.payload
    return message + _CRC.pack(zlib.crc32(message))


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
    if header.kind not in _KIND_OF_NUMBER:
        raise MalformedRelease(
            f"unknown kind of release {header.kind}, this sfumato reads 1 to "
            f"{max(_KIND_OF_NUMBER)}; update it to read newer ones."
        )
    if header.camera and header.camera not in list(CameraModel):
        raise MalformedRelease(f"unknown camera model {header.camera}.")
    known_flags = REPRODUCIBLE | header.codec.flags
    if header.flags & ~known_flags or (header.flags & FLOAT32 and header.flags & FLOAT16):
        raise MalformedRelease(f"unknown flags {header.flags:#x}.")
    try:
        expected = header.message_length()
    except InvalidInput as error:  # a size that no release of this kind has
        raise MalformedRelease(f"not a valid release: {error}") from None
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
        release = _read(header, view[HEADER.size : -_CRC.size])
    except (InvalidInput, UnicodeDecodeError) as error:
        raise MalformedRelease(f"not a valid release: {error}") from None
    if encode(release) != view:
        raise MalformedRelease(
            "this is not the canonical encoding of a release: rows must be ordered and unused "
            "bits zero."
        )
    return release


def _read(header: Header, data: memoryview) -> Release:
    name = header.extractor.rstrip(b"\0").decode("ascii")
    common: dict[str, Any] = {"reproducible": bool(header.flags & REPRODUCIBLE)}
    params = struct.unpack_from(f"<{header.num_camera_params}d", data)
    data = data[8 * len(params) :]
    if header.codec is CODECS["codes"]:
        return header.codec.read(header.body(data), {**common, "encoder": name})
    image_size = check_image_size((header.width, header.height))
    steps = np.frombuffer(data[: header.positions_length], dtype="<u2").reshape(-1, 2)
    camera = Camera(CameraModel(header.camera).name, *image_size, params) if header.camera else None
    common |= {
        "keypoints": unsnap(steps, image_size),
        "image_size": image_size,
        "extractor": name,
        "camera": camera,
    }
    return header.codec.read(header.body(data[header.positions_length :]), common)
