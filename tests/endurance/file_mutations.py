"""Mutated files by number: any bytes changed, or what the format offers to a hostile maker."""

from __future__ import annotations

import os
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

from endurance.file_changes import bits, mend_png, mutate_bytes, mutate_message
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

#: Names below the working directory that hostile files refer to, relative or absolute.
CANARIES = ("key", "secret.h5", "map")

#: How many of a hundred files are of each kind.
SHARES = {
    "h5": 22, "onnx": 16, "npy": 8, "npz": 8, "idx": 5, "image": 14, "map": 9, "dictionary": 6,
    "colmap-bin": 6, "colmap-txt": 4, "cameras": 2,
}  # fmt: skip


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
