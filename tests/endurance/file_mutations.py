"""Mutations of files: any bytes, lengths, splices, and those that know the format."""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

from endurance.file_seeds import sign_folder
from hostile_files import (
    H5_OUTSIDE,
    NETWORKS_OUTSIDE,
    NPY_HOSTILE,
    npy,
    npy_header,
    plain_network,
    write_hloc,
)
from onnx_models import _varint
from sfumato.core.onnx_inside import _Walk

#: Names below the working directory that hostile files refer to, relative or absolute.
CANARIES = ("key", "secret.h5", "map")

#: How many of a hundred files are of each kind.
SHARES = {
    "h5": 22, "onnx": 16, "npy": 8, "npz": 8, "idx": 5, "image": 14, "map": 9, "dictionary": 6,
    "colmap-bin": 6, "colmap-txt": 4, "cameras": 2,
}  # fmt: skip


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


def make_file(seeds: dict[str, list[Path]], canary: Path, into: Path, number: int) -> str:
    """Write the mutation with this number as `into`; its kind. The same for every run."""
    rng = random.Random(number)
    (kind,) = rng.choices(list(SHARES), list(SHARES.values()))
    known = _KNOWING.get(kind)
    if known is not None and rng.random() < 0.4:
        known(seeds[kind], canary, into, rng)
        return kind
    seed, other = rng.choice(seeds[kind]), rng.choice(seeds[kind])
    if seed.is_file():
        into.write_bytes(mutate_bytes(seed.read_bytes(), rng, other.read_bytes()))
        return kind
    shutil.copytree(seed, into)
    file = rng.choice(sorted(into.iterdir()))
    second = rng.choice(sorted(other.iterdir())).read_bytes()
    file.write_bytes(mutate_bytes(file.read_bytes(), rng, second))
    if rng.random() < 0.8:
        sign_folder(into)  # so that the change gets past the checksums
    return kind


def _outside(canary: Path, rng: random.Random, name: str) -> Path:
    """The canary, by its whole path or as seen from the working directory."""
    return canary / name if rng.random() < 0.5 else Path(name)


def _h5(_: list[Path], canary: Path, into: Path, rng: random.Random) -> None:
    change = H5_OUTSIDE[rng.choice(list(H5_OUTSIDE))]
    target = _outside(canary, rng, "secret.h5")

    def spoil(group: h5py.Group) -> None:
        change(group, target)

    def announce(group: h5py.Group) -> None:
        del group["descriptors"]
        shape = (1 << rng.randrange(4, 31), 1 << rng.randrange(1, 12))
        chunks = rng.choice([None, True, (4, 2), (16, 2)])
        packing = rng.choice([None, "gzip", "lzf"]) if chunks else None
        group.create_dataset("descriptors", shape, "f4", chunks=chunks, compression=packing)

    write_hloc(into, announce if rng.random() < 0.3 else spoil)
    if rng.random() < 0.5:
        into.write_bytes(bytes(bits(bytearray(into.read_bytes()), rng, b"")))


def _onnx(seeds: list[Path], canary: Path, into: Path, rng: random.Random) -> None:
    if rng.random() < 0.5:
        data = rng.choice(seeds).read_bytes()
        into.write_bytes(mutate_message(data, rng, plain_network()))
        return
    make = NETWORKS_OUTSIDE[rng.choice(list(NETWORKS_OUTSIDE))]
    data = make(str(_outside(canary, rng, "key")))
    if rng.random() < 0.5:
        data = mutate_message(data, rng, plain_network())
    into.write_bytes(data)


def _hostile_npy(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return rng.choice(list(NPY_HOSTILE.values()))
    sides = ", ".join(str(rng.choice([0, 1, 3, -1, 1 << 20, 1 << 31, 1 << 62])) for _ in range(3))
    descr = rng.choice(["'<f8'", "'|u1'", "'>i2'", "'<U9'", "'|S5'", "'<c16'", "'|V8'", "'O'"])
    return npy(npy_header(f"({sides})", descr, rng.choice(["True", "False"])), rng.randbytes(72))


def _npy(_: list[Path], __: Path, into: Path, rng: random.Random) -> None:
    into.write_bytes(_hostile_npy(rng))


def _image(seeds: list[Path], _: Path, into: Path, rng: random.Random) -> None:
    data = rng.choice([path for path in seeds if path.suffix.lower() == ".png"]).read_bytes()
    into.write_bytes(mend_png(mutate_bytes(data, rng, data)))


def _npz(seeds: list[Path], __: Path, into: Path, rng: random.Random) -> None:
    with zipfile.ZipFile(seeds[0]) as sound:
        members = {name: sound.read(name) for name in sound.namelist()}
    if rng.random() < 0.5:
        with zipfile.ZipFile(into, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, mutate_bytes(data, rng, data))
        return
    packing = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    with zipfile.ZipFile(into, "w", packing) as archive:
        for name in ("names", "../embeddings", "embeddings")[: rng.randrange(1, 4)]:
            archive.writestr(f"{name}.npy", _hostile_npy(rng))
    if rng.random() < 0.5:
        into.write_bytes(mutate_bytes(into.read_bytes(), rng, b"PK\5\6" + bytes(18)))


def _folder(seeds: list[Path], canary: Path, into: Path, rng: random.Random) -> None:
    """A stored folder with a link, a hostile array or manifest; its checksums agree."""
    shutil.copytree(rng.choice(seeds), into)
    file = rng.choice(sorted(path for path in into.iterdir() if path.suffix == ".npy"))
    choice = rng.randrange(4)
    change: dict[str, Any] = {}
    if choice == 0:
        file.write_bytes(_hostile_npy(rng))
    elif choice == 1:
        victim = rng.choice(sorted(into.iterdir()))
        victim.unlink()
        if rng.random() < 0.2:
            os.mkfifo(victim)
        else:
            victim.symlink_to(canary / "map" / victim.name)
    else:
        values: list[Any] = [None, 3, -1, 1e400, "x", [], {}, [[]], {"../key": "0"}, "../key", True]
        keys = [
            "files",
            "levels",
            "image_names",
            "cameras",
            "extractor",
            "facts",
            "metric",
            "format",
        ]
        change = {rng.choice(keys): rng.choice(values)}
        if choice == 3:
            change["levels"] = [rng.choice(values)]
    if (into / "manifest.json").is_file() and not (into / "manifest.json").is_symlink():
        sign_folder(into, change)


_KNOWING: dict[str, Callable[[list[Path], Path, Path, random.Random], None]] = {
    "h5": _h5, "onnx": _onnx, "npy": _npy, "npz": _npz, "map": _folder, "dictionary": _folder,
    "image": _image,
}  # fmt: skip
