"""Changes of bytes: bits, lengths, pieces, places, words; and of protobuf messages and PNGs."""

from __future__ import annotations

import random
import re
import struct
import zlib

from onnx_models import _varint
from sfumato.core.onnx_inside import _Walk


def bits(data: bytearray, rng: random.Random, _: bytes) -> bytearray:
    for _number in range(rng.choice([1, 1, 1, 2, 4, 16, 64])):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def truncated(data: bytearray, rng: random.Random, _: bytes) -> bytearray:
    return data[: rng.randrange(len(data) + 1)]


def lengths(data: bytearray, rng: random.Random, _: bytes) -> bytearray:
    """A whole number somewhere, in either order of bytes, made extreme or a little different."""
    form = rng.choice(["<H", "<I", "<Q", ">H", ">I", "B"])
    size = struct.calcsize(form)
    if len(data) < size:
        return data
    place = rng.randrange(len(data) - size + 1)
    if rng.random() < 0.5:
        place = min(place % 256, len(data) - size)  # headers are at the front
    (old,) = struct.unpack_from(form, data, place)
    top = (1 << 8 * size) - 1
    new = rng.choice([0, 1, top, top // 2, top // 2 + 1, old + 1, old - 1, old * 2, old << 8])
    struct.pack_into(form, data, place, max(0, min(new, top)))
    return data


def splice(data: bytearray, rng: random.Random, other: bytes) -> bytearray:
    """A piece of another file, or of this one, put in or over what is there."""
    source = bytes(data) if rng.random() < 0.5 else other
    begin = rng.randrange(len(source) + 1)
    piece = source[begin : begin + rng.choice([1, 4, 8, 32, 256, 4096])]
    place = rng.randrange(len(data) + 1)
    end = place + (len(piece) if rng.random() < 0.6 else 0)
    return data[:place] + piece + data[end:]


def offsets(data: bytearray, rng: random.Random, _: bytes) -> bytearray:
    """A place in the file where another place stood: parts that hold themselves, or each other."""
    size, form = rng.choice([(8, "<Q"), (8, "<Q"), (4, "<I")])
    inside = [
        place
        for place in range(0, len(data) - size + 1, 4)
        if 8 <= struct.unpack_from(form, data, place)[0] < len(data)
    ]
    if inside:
        source, target = rng.choice(inside), rng.choice(inside)
        data[target : target + size] = data[source : source + size]
    return data


def digits(data: bytearray, rng: random.Random, _: bytes) -> bytearray:
    """A number in text made longer, negative, or not a number at all."""
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return data
    place = rng.choice(places)
    words = [b"9", b"0", b"7", b"-1", b"1e400", b"9" * 30, b"", b"nan", b"[]", b" ", b"[" * 2000]
    return data[:place] + rng.choice(words) + data[place + 1 :]


def words(data: bytearray, rng: random.Random, _: bytes) -> bytearray:
    """One word of a text in place of another one."""
    known = re.findall(rb"[^\s,:]+", bytes(data))
    if not known:
        return data
    old, new = rng.choice(known), rng.choice(known)
    return bytearray(bytes(data).replace(old, new, rng.choice([1, 1, -1])))


GENERAL = (
    bits,
    bits,
    bits,
    truncated,
    lengths,
    lengths,
    lengths,
    splice,
    splice,
    offsets,
    offsets,
    digits,
)
TEXT = (bits, truncated, splice, digits, digits, digits, words, words)


def mutate_bytes(data: bytes, rng: random.Random, other: bytes) -> bytes:
    changed = bytearray(data)
    mutations = TEXT if data.isascii() else GENERAL
    for mutation in rng.choices(mutations, k=rng.choice([1, 1, 1, 2, 3])):
        changed = mutation(changed, rng, other)
    return bytes(changed)


def mutate_message(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """A protobuf message with one field changed, at any depth, and all lengths right again."""
    fields = _fields(data)
    if not fields:
        return mutate_bytes(data, rng, other)
    place = rng.randrange(len(fields))
    tag, content = fields[place]
    if tag & 7 == 2:
        deeper = rng.random() < 0.8 and _fields(content)
        change = mutate_message if deeper else mutate_bytes
        fields[place] = tag, change(content, rng, other)
    elif rng.random() < 0.5:
        fields[place] = tag, _varint(rng.choice([0, 1, 2, 7, 9, 127, 1 << 31, 1 << 62]))
    else:
        fields.insert(rng.randrange(len(fields)), fields.pop(place))
    if rng.random() < 0.2:
        fields.append(rng.choice(fields))
    sized = ((t, _varint(len(c)) + c if t & 7 == 2 else c) for t, c in fields)
    return b"".join(_varint(t) + c for t, c in sized)


def _fields(data: bytes) -> list[tuple[int, bytes]]:
    """Tag and content of each field; none if the bytes are no message."""
    try:
        walk = _Walk(data)
        found = []
        for number, form, low, high in walk.fields(0, len(data)):
            content = _varint(low) if form == 0 else data[low:high]
            found.append((number << 3 | form, content))
    except (ValueError, IndexError):
        return []
    return found


def mend_png(data: bytes) -> bytes:
    """The same PNG with checksums that agree."""
    out, at = data[:8], 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        body = data[at + 4 : at + 8 + length]
        out += data[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + length
    return out + data[at:]
